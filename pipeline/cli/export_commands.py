"""The commands that write files for other programs: ``export`` a report, ``references`` the sources of reports."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

import click
import frontmatter

from pipeline.cli.command_parts import bring_vault_up_to_date, require_workspace, session_named
from pipeline.errors import CommandRefused, SystemRefused, UsageError
from pipeline.ops.console_output import Console, put
from pipeline.system import files
from pipeline.text.normalise import counted, digest_of
from pipeline.vault.export import cited_sources, page, portable
from pipeline.vault.export import references as csl_items
from pipeline.vault.kept import source_paths
from pipeline.wiring.store_adapters import store_of
from pipeline.wiring.workspace_adapters import report_of

_SUFFIXES = {"html": ".html", "markdown": ".md"}
_FOLDER = "exports"
_STDOUT = "-"
_EXPORTS = "exports.json"


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice([*_SUFFIXES]), help="[default: that of PATH's suffix, else html]")
@click.option("--out", metavar="PATH", help="A file, a folder, or - for stdout.  [default: exports/ in the workspace]")
@click.pass_obj
def export(console: Console, session: str, form: str | None, out: str | None) -> None:
    """Write the report of SESSION to one file that needs nothing beside it: every citation is a footnote with its quote.

    Print the page for a PDF; pandoc makes other formats of the Markdown.
    """
    folder = console.folder
    require_workspace(folder)
    name = session_named(folder, store_of(folder), session)
    form = form or ("markdown" if out and Path(out).suffix.lower() == _SUFFIXES["markdown"] else "html")
    bring_vault_up_to_date(console)
    path = report_of(folder)(name)
    if not path:
        raise CommandRefused(f"{name} has no report in the vault", hint=f"research show {name} says how far it got")
    note = frontmatter.loads(files.read_text(folder / path))
    sources = cited_sources(folder / "events" / "local", name)
    notes = source_paths(folder / "events" / "local", [one.url for one in sources])
    document = portable(str(note.get("title", name)), note.content, sources, notes)
    text = document.markdown if form == "markdown" else page(document)
    if out == _STDOUT and not console.as_json:
        put(text.rstrip("\n"))
        return
    own = f"{PurePosixPath(path).stem}{_SUFFIXES[form]}"  # the report's name, in a folder
    place = folder / _FOLDER / own if out in (None, _STDOUT) else Path(out) / own if Path(out).is_dir() else Path(out)
    data = text.encode()
    write_export(folder, place, data)
    value = {"session": name, "format": form, "path": str(place), "bytes": len(data), "quotes": len(document.notes)}
    console.data([str(place)], value)


@click.command()
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="The sources of all reports; the default without SESSION.")
@click.option("--out", metavar="PATH", help="A file.  [default: stdout]")
@click.pass_obj
def references(console: Console, session: str | None, everything: bool, out: str | None) -> None:
    """Print the sources that the report of SESSION cites, with the quotes, as CSL-JSON for Zotero and pandoc.

    A source's key, such as handbook2024append-9c1f, never changes; it is an alias of the source's note in the vault.
    """
    if session and everything:
        raise click.UsageError("give SESSION or --all, not both")
    require_workspace(console.folder)
    name = session_named(console.folder, store_of(console.folder), session) if session else ""
    bring_vault_up_to_date(console)
    items = csl_items(cited_sources(console.folder / "events" / "local", name))
    text = json.dumps(items, ensure_ascii=False, indent=2)
    if not items:
        console.say("no report cites a source" if not name else f"{name} has no report that cites a source", fg="yellow")
    if out and out != _STDOUT:
        write_export(console.folder, Path(out), f"{text}\n".encode())
        console.data([f"{out}: {counted(len(items), 'source')}"], {"path": out, "sources": len(items)})
    elif console.as_json:
        console.data([], items)
    else:
        put(text)


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
