"""The commands that write files for other programs: ``export`` a report, ``references`` the sources of reports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click
import frontmatter

from pipeline.cli.command_parts import bring_vault_up_to_date, require_workspace, session_named
from pipeline.errors import CommandRefused, SystemRefused, UsageError
from pipeline.ops.console_output import Console, put
from pipeline.system import files
from pipeline.text.normalise import counted, digest_of
from pipeline.vault.export.formats import SUFFIXES, TEXTS, report_file
from pipeline.vault.export.portable import Portable, portable
from pipeline.vault.export.references import FORMATS, CitedSource, cited_sources
from pipeline.vault.export.references import references as written
from pipeline.wiring.store_adapters import store_of
from pipeline.wiring.workspace_adapters import report_of, source_notes

_FORMATS = {suffix: form for form, suffix in SUFFIXES.items()}
_REFERENCES = {f".{suffix}": form for form, suffix in FORMATS.items()}
_FOLDER = "exports"
_STDOUT = "-"
_EXPORTS = "exports.json"


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice([*_FORMATS.values()]), help="[default: that of PATH's suffix, else html]")
@click.option("--out", metavar="PATH", help="A file, a folder, or - for stdout.  [default: exports/ in the workspace]")
@click.pass_obj
def export(console: Console, session: str, form: str | None, out: str | None) -> None:
    """Write the report of SESSION to one file that needs nothing beside it: every citation is a footnote with its quote.

    html and markdown need no other program; pdf needs Chromium or Chrome, docx and epub need pandoc.
    """
    require_workspace(console.folder)
    name = session_named(console.folder, store_of(console.folder), session)
    form = form or _form_of(out, _FORMATS, "html")
    if out == _STDOUT and form not in TEXTS:
        raise click.UsageError(f"{form} is no text; give --out a file")
    bring_vault_up_to_date(console)
    note = report_document(console.folder, name)
    data = report_file(note.document, form, note.date)
    if out == _STDOUT and not console.as_json:
        put(data.decode().rstrip("\n"))
        return
    place = _place(console.folder, out, note.stem, form, _FORMATS)
    write_export(console.folder, place, data)
    value = {"session": name, "format": form, "path": str(place), "bytes": len(data), "quotes": len(note.document.notes)}
    console.data([str(place)], value)


@click.command()
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="The sources of all reports; the default without SESSION.")
@click.option(
    "--format", "form", type=click.Choice([*_REFERENCES.values()]), help="[default: that of PATH's suffix, else csl-json]"
)
@click.option("--out", metavar="PATH", help="A file.  [default: stdout]")
@click.pass_obj
def references(console: Console, session: str | None, everything: bool, form: str | None, out: str | None) -> None:
    """Print the sources that the report of SESSION cites, with the quotes, for Zotero, pandoc or LaTeX.

    A source's key, such as handbook2024append-9c1f, never changes; it is an alias of the source's note in the vault.
    """
    if session and everything:
        raise click.UsageError("give SESSION or --all, not both")
    require_workspace(console.folder)
    name = session_named(console.folder, store_of(console.folder), session) if session else ""
    form = form or _form_of(out, _REFERENCES, "csl-json")
    bring_vault_up_to_date(console)
    sources = cited_sources_of(console.folder, name)
    text = written(sources, form)
    if not sources:
        console.say("no report cites a source" if not name else f"{name} has no report that cites a source", fg="yellow")
    if out and out != _STDOUT:
        write_export(console.folder, Path(out), text.encode())
        console.data([f"{out}: {counted(len(sources), 'source')}"], {"path": out, "format": form, "sources": len(sources)})
    elif console.as_json:
        console.data([], json.loads(text) if form == "csl-json" else {"format": form, "text": text})
    else:
        put(text.rstrip("\n"))


def _form_of(out: str | None, forms: Mapping[str, str], otherwise: str) -> str:
    return forms.get(Path(out).suffix.lower(), otherwise) if out else otherwise


def _place(folder: Path, out: str | None, stem: str, form: str, forms: Mapping[str, str]) -> Path:
    """Where the file goes: PATH, or under the report's name in the folder PATH, or in the workspace's own folder for exports."""
    if out and out != _STDOUT and not Path(out).is_dir():
        return Path(out)
    suffix = next(suffix for suffix, known in forms.items() if known == form)
    return (Path(out) if out and out != _STDOUT else folder / _FOLDER) / f"{stem}{suffix}"


@dataclass(frozen=True, slots=True)
class ExportedReport:
    """A report's document, its day, and its file name without suffix."""

    document: Portable
    date: str
    stem: str


def cited_sources_of(folder: Path, session: str = "") -> tuple[CitedSource, ...]:
    """Return the sources that a session's report cites, without a session those of all reports."""
    return cited_sources(folder / "events" / "local", session)


def report_document(folder: Path, session: str) -> ExportedReport:
    """Return the report of a session as a document.

    Raises:
        CommandRefused: it has no report, or the report's note is not in the vault.
    """
    path = report_of(folder)(session)
    if not path:
        raise CommandRefused(f"{session} has no report in the vault", hint=f"research show {session} says how far it got")
    note = frontmatter.loads(files.read_text(folder / path))
    sources = cited_sources_of(folder, session)
    paths = source_notes(folder, [source.url for source in sources])
    document = portable(
        str(note.get("title", session)),
        note.content,
        sources,
        lambda url: paths.get(url, "").removeprefix("vault/").removesuffix(".md"),
    )
    return ExportedReport(document, str(note.get("created", ""))[:10], PurePosixPath(path).stem)


def write_export(folder: Path, place: Path, data: bytes) -> None:
    """Write a file for the person who asked for it. It replaces only what it wrote there before and nobody has changed since.

    The digests of these files are kept in ``events/local``; without them nothing is replaced.

    Raises:
        UsageError: another file, a link or a folder is there.
        SystemRefused: the disk refuses.
    """
    place, local, digest = Path(os.path.abspath(place)), folder / "events" / "local", digest_of(data)  # noqa: PTH100 - keeps links
    made: dict[str, str] = {}
    with suppress(OSError, ValueError):
        made = dict(json.loads(files.read_text(local / _EXPORTS)))
    if os.path.lexists(place) and not _holds(place, {made.get(str(place), ""), digest}):
        raise UsageError(
            f"{place} is there already, and this command has not made it, or it was changed since: it was left as it is",
            hint="give --out another place, or move it away",
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        files.write(place, data)
        made[str(place)] = digest
        files.replace(local / _EXPORTS, json.dumps(made, indent=1).encode(), local / "tmp")
    except OSError as error:
        raise SystemRefused(f"{place} cannot be written: {error.strerror}", hint="give --out another place") from error


def _holds(place: Path, digests: set[str]) -> bool:
    """Whether a regular file, no link, has one of these digests."""
    try:
        return digest_of(files.read_bytes(place, follow=False)) in digests
    except OSError:
        return False
