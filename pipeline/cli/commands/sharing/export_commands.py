"""The commands ``export`` (a report as one file) and ``references`` (the sources of reports for a reference manager)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import bring_vault_up_to_date, require_workspace, session_named
from pipeline.cli.param_types import SessionName
from pipeline.ops.console_output import Console, put
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

# Written here as well, so that `--help` imports nothing heavy; a test compares them with the formats there are.
_FORMATS = {".html": "html", ".md": "markdown", ".pdf": "pdf", ".docx": "docx", ".epub": "epub"}
_REFERENCES = {".json": "csl-json", ".bib": "bibtex", ".ris": "ris"}
_FOLDER = "exports"
_STDOUT = "-"


@click.command()
@click.argument("session", type=SessionName())
@click.option("--format", "form", type=click.Choice([*_FORMATS.values()]), help="[default: that of PATH's suffix, else html]")
@click.option("--out", metavar="PATH", help="A file, a folder, or - for stdout.  [default: exports/ in the workspace]")
@click.pass_obj
def export(console: Console, session: str, form: str | None, out: str | None) -> None:
    """Write the report of SESSION to one file that needs nothing beside it: every citation is a footnote with its quote.

    html and markdown need no other program; pdf needs Chromium or Chrome, docx and epub need pandoc.
    """
    from pipeline.vault.export.report_file import TEXTS, report_file
    from pipeline.wiring import export_adapters, workspace_adapters

    require_workspace(console.folder)
    name = session_named(console.folder, workspace_adapters.store_of(console.folder), session)
    form = form or _form_of(out, _FORMATS, "html")
    if out == _STDOUT and form not in TEXTS:
        raise click.UsageError(f"{form} is no text; give --out a file")
    bring_vault_up_to_date(console)
    note = export_adapters.report_document(console.folder, name)
    data = report_file(note.document, form, note.date)
    if out == _STDOUT and not console.as_json:
        put(data.decode().rstrip("\n"))
        return
    place = _place(console.folder, out, note.stem, form, _FORMATS)
    export_adapters.write_export(console.folder, place, data)
    value = {"session": name, "format": form, "path": str(place), "bytes": len(data), "quotes": len(note.document.notes)}
    console.data([str(place)], value)


@click.command()
@click.argument("session", required=False, type=SessionName())
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
    from pipeline.vault.export.references import references as written
    from pipeline.wiring import export_adapters, workspace_adapters

    if session and everything:
        raise click.UsageError("give SESSION or --all, not both")
    require_workspace(console.folder)
    name = session_named(console.folder, workspace_adapters.store_of(console.folder), session) if session else ""
    form = form or _form_of(out, _REFERENCES, "csl-json")
    bring_vault_up_to_date(console)
    sources = export_adapters.cited_sources_of(console.folder, name)
    text = written(sources, form)
    if not sources:
        console.say("no report cites a source" if not name else f"{name} has no report that cites a source", fg="yellow")
    if out and out != _STDOUT:
        export_adapters.write_export(console.folder, Path(out), text.encode())
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
