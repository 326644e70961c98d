"""The command ``export``: a report, or the sources of reports, as a file for other programs."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import click
import frontmatter

from pipeline.cli.command_parts import bring_vault_up_to_date, require_workspace, session_named
from pipeline.errors import CommandRefused, SystemRefused, UsageError
from pipeline.ops.console_output import Console
from pipeline.system import files
from pipeline.text.normalise import digest_of
from pipeline.vault.export import cited_sources, page, portable
from pipeline.vault.export import references as csl_items
from pipeline.vault.kept import source_paths
from pipeline.wiring.store_adapters import store_of
from pipeline.wiring.workspace_adapters import report_of

_SUFFIXES = {".html": "html", ".md": "markdown", ".json": "csl-json"}
_STDOUT = "-"
_EXPORTS = "exports.json"


@click.command()
@click.argument("session", required=False)
@click.option("--format", "form", type=click.Choice([*_SUFFIXES.values()]), help="[default: that of PATH's suffix, else html]")
@click.option("--out", metavar="PATH", help="A file, a folder, or - for stdout.  [default: exports/; csl-json: stdout]")
@click.option("--all", is_flag=True, hidden=True, expose_value=False)  # of the older name `references`
@click.pass_obj
def export(console: Console, session: str | None, form: str | None, out: str | None) -> None:
    """Write the report of SESSION to one file that needs nothing beside it: every citation is a footnote with its quote.

    Print the page for a PDF; pandoc makes other formats of the Markdown. csl-json are the sources that the report cites, or all
    reports without SESSION, with the quotes, for Zotero and pandoc. A source's key, such as handbook2024append-9c1f, never
    changes; it is an alias of the source's note in the vault.
    """
    folder, local = console.folder, console.folder / "events" / "local"
    require_workspace(folder)
    form = form or _SUFFIXES.get(Path(out).suffix.lower() if out else "", "html")
    if form != "csl-json" and not session:
        raise click.UsageError("name a SESSION; only csl-json is of all reports")
    name = session_named(folder, store_of(folder), session) if session else ""
    bring_vault_up_to_date(console)
    sources = cited_sources(local, name)
    value: dict[str, Any] = {"session": name, "format": form}
    items: list[Any] = []
    if form == "csl-json":
        items = csl_items(sources)
        if not items:
            console.say(f"{name or 'no report'} {'has no report that ' if name else ''}cites a source", fg="yellow")
        text, stem, out = json.dumps(items, ensure_ascii=False, indent=2) + "\n", "references", out or _STDOUT
        value["sources"] = len(items)
    else:
        path = report_of(folder)(name)
        if not path:
            raise CommandRefused(f"{name} has no report in the vault", hint=f"research show {name} says how far it got")
        note = frontmatter.loads(files.read_text(folder / path))
        notes = source_paths(local, [one.url for one in sources])
        document = portable(str(note.get("title", name)), note.content, sources, notes)
        text, stem = document.markdown if form == "markdown" else page(document), PurePosixPath(path).stem
        value["quotes"] = len(document.notes)
    if out == _STDOUT:
        console.data([text.rstrip("\n")], items if form == "csl-json" else {**value, "text": text})
        return
    place = Path(out) if out else folder / "exports"
    if place.is_dir() or not out:
        place /= stem + next(suffix for suffix, known in _SUFFIXES.items() if known == form)
    write_export(folder, place, text.encode())
    console.data([str(place)], {**value, "path": str(place), "bytes": len(text.encode())})


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
    is_ours = not os.path.lexists(place)
    with suppress(OSError):  # no regular file
        is_ours = is_ours or digest_of(files.read_bytes(place, follow=False)) in {made.get(str(place), ""), digest}
    if not is_ours:
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
