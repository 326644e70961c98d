"""The events of an import: a stream ``import-…`` for each session of another program. Nothing in them is checked.

``ordinal`` is the place of an item in the original, from 0. Of several events with one ordinal the last one counts: the original
was changed between two imports. ``when`` is a time that the original states, RFC 3339 in UTC, or "".
"""

from __future__ import annotations

from typing import Literal

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.values import Value


class ImportFinding(Value):
    """What is wrong with a part of an original. ``records`` of it were left out because of that; 0: it was imported."""

    where: str
    what: str
    records: int = 0


class ImportCounts(Value):
    """How many records the original has, and where they went: ``records == items + merged + left_out``.

    ``merged`` records only add to an item, such as an update of a task.
    """

    records: int = 0
    items: int = 0
    merged: int = 0
    left_out: int = 0


class ImportedFact(Value):
    """A claim of another program. ``sources`` are what it named; none of them was read here. ``confidence`` is its own."""

    text: str
    title: str = ""
    confidence: float | None = None
    sources: tuple[str, ...] = ()


class ResearchImported(EventBase):
    """An import begins, or found the original changed. The items with ordinals below ``ordinals`` are the original as it is now.

    ``digest`` is the stored object with the original's bytes: one file, or a tar archive of ``files`` files (``form``).
    ``status`` is the word of the other program. ``queue`` are the questions that are still to be researched. ``origin`` is the
    name of the file or folder that it came from; ``created`` and ``updated`` are times that the original states, or "".
    """

    type: Literal["research.imported"] = "research.imported"
    kind: str
    original_id: str
    origin: str
    digest: str
    ordinals: int
    counts: ImportCounts
    form: Literal["file", "tar"] = "file"
    files: int = 1
    question: str = ""
    title: str = ""
    status: str = ""
    finished: bool = True
    created: str = ""
    updated: str = ""
    tags: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    findings: tuple[ImportFinding, ...] = ()


class ImportedItem(EventBase):
    """A part of an original. ``author`` is who wrote it there, such as a worker; ``ref`` is its id there."""

    ordinal: int
    when: str = ""
    author: str = ""
    ref: str = ""


class FactsImported(ImportedItem):
    """Claims of another program. None is a fact: there is no quote and no page."""

    type: Literal["facts.imported"] = "facts.imported"
    facts: tuple[ImportedFact, ...]


class ReportImported(ImportedItem):
    """A report of another program, as Markdown. ``sources`` are the addresses that it names."""

    type: Literal["report.imported"] = "report.imported"
    text: str
    title: str = ""
    sources: tuple[str, ...] = ()


class MessageImported(ImportedItem):
    """Anything else that was said or done: a question, a thought, a call of a tool, a task, a decision.

    ``role`` says which. ``name`` is that of a tool or an action, ``result`` what came of it; ``success`` is None if the original
    does not say. ``links`` name what it is connected with. ``seconds`` is how long it took.
    """

    type: Literal["message.imported"] = "message.imported"
    role: str
    text: str = ""
    name: str = ""
    result: str = ""
    status: str = ""
    error: str = ""
    success: bool | None = None
    seconds: float | None = None
    sources: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


Item = FactsImported | ReportImported | MessageImported


def records_in(item: Item) -> int:
    """Return how many records of the original an item stands for: each claim is one."""
    return len(item.facts) if isinstance(item, FactsImported) else 1
