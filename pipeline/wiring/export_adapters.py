"""What an export is made from: a report's note in the vault, and the sources that reports cite. The vault must be up to date."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline.errors import CommandRefused, SystemRefused, UsageError
from pipeline.system import files
from pipeline.text.normalise import digest_of
from pipeline.vault.export.portable import Portable, portable
from pipeline.vault.export.references import CitedSource, cited_sources
from pipeline.wiring.workspace_adapters import report_of, source_notes

_EXPORTS = "exports.json"


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
