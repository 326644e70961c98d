"""What an export is made from: a report's note in the vault, and the sources that reports cite. The vault must be up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline.errors import CommandRefused
from pipeline.system.files import read_text
from pipeline.vault.citations.cited_sources import CitedSource, cited_sources
from pipeline.vault.export.portable import Portable, portable
from pipeline.wiring.workspace_adapters import report_of, source_notes


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
    import frontmatter

    path = report_of(folder)(session)
    if not path:
        raise CommandRefused(f"{session} has no report in the vault", hint=f"research show {session} says how far it got")
    note = frontmatter.loads(read_text(folder / path))
    sources = cited_sources_of(folder, session)
    paths = source_notes(folder, [source.url for source in sources])
    document = portable(
        str(note.get("title", session)),
        note.content,
        sources,
        lambda url: paths.get(url, "").removeprefix("vault/").removesuffix(".md"),
    )
    return ExportedReport(document, str(note.get("created", ""))[:10], PurePosixPath(path).stem)
