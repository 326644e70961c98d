"""What a reader of a foreign format returns: a session as drafts, before anything is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.domain.imports.import_events import ImportCounts, ImportFinding, Item, records_in
from pipeline.text.normalise import one_line


@dataclass
class Tally:
    """Counts the records of an original and notes what is wrong with them. Every record is kept, merged or left out."""

    records: int = 0
    merged: int = 0
    items: list[Item] = field(default_factory=list)
    findings: list[ImportFinding] = field(default_factory=list)

    def keep(self, item: Item) -> None:
        """Add an item; its ordinal is set here."""
        self.items.append(item.model_copy(update={"ordinal": len(self.items)}))

    def note(self, where: str, what: str) -> None:
        """Note what is wrong with something that is imported all the same."""
        self.findings.append(ImportFinding(where=one_line(where, 300), what=one_line(what, 500)))

    def leave_out(self, where: str, what: str, records: int = 1) -> None:
        """Note why some records are not imported."""
        self.findings.append(ImportFinding(where=one_line(where, 300), what=one_line(what, 500), records=records))

    @property
    def counts(self) -> ImportCounts:
        """Return the counts so far."""
        kept, lost = sum(map(records_in, self.items)), sum(one.records for one in self.findings)
        return ImportCounts(records=self.records, items=kept, merged=self.merged, left_out=lost)


@dataclass(frozen=True, slots=True)
class ParsedImport:
    """A session of another program. ``original`` are its bytes: of one file, or a tar archive (``form``) of ``files`` files.

    The other fields are those of ``ResearchImported``.
    """

    kind: str
    original_id: str
    origin: str
    original: bytes
    tally: Tally
    form: str = "file"
    files: int = 1
    question: str = ""
    title: str = ""
    status: str = ""
    finished: bool = True
    created: str = ""
    updated: str = ""
    queue: tuple[str, ...] = ()
