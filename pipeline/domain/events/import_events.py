"""The events of imports: a stream ``import-…`` for each session of another program. Nothing in them is checked.

Earlier versions recorded each part of a session as an event of its own (``facts.imported``, ``report.imported`` and
``message.imported``); ``import_of`` returns both in one shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.values import Value
from pipeline.text.normalise import one_line

NOT_CHECKED = "Not checked: it was imported, and no quote in it was compared with a page. No report cites it."


class ImportedClaim(Value):
    """A claim of another program, who made it there, and the addresses that it named; none of them was read here."""

    text: str
    title: str = ""
    by: str = ""
    sources: tuple[str, ...] = ()


class ImportedMessage(Value):
    """Anything that was said or done: a question, a thought, a call of a tool, a task. ``at`` is the original's time, or ""."""

    role: str
    text: str = ""
    at: str = ""
    by: str = ""


class ResearchImported(EventBase):
    """A session of another program as it was when it was imported; a changed original is recorded again, and the last counts.

    ``digest`` names the stored original. ``queue`` are the questions that are still open. ``records`` counts what the original
    holds, ``left_out`` what could not be read; ``faults`` say why, a line for each kind. Times are the original's, UTC, or "".
    ``ordinals`` is -1 but in a log of an earlier version: the number of parts in events of their own.
    """

    type: Literal["research.imported"] = "research.imported"
    kind: str
    original_id: str
    origin: str
    digest: str
    question: str = ""
    title: str = ""
    status: str = ""
    created: str = ""
    updated: str = ""
    tags: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    claims: tuple[ImportedClaim, ...] = ()
    messages: tuple[ImportedMessage, ...] = ()
    report: str = ""
    records: int = 0
    left_out: int = 0
    faults: tuple[str, ...] = ()
    ordinals: int = -1

    @property
    def heading(self) -> str:
        """The question, else the original's title, else its id; one line."""
        return one_line(self.question or self.title or self.original_id, 300)


class FactsImported(EventBase):
    """Claims, as earlier versions recorded them."""

    type: Literal["facts.imported"] = "facts.imported"
    ordinal: int
    author: str = ""
    facts: tuple[ImportedClaim, ...]


class ReportImported(EventBase):
    """A report, as earlier versions recorded it."""

    type: Literal["report.imported"] = "report.imported"
    ordinal: int
    text: str


class MessageImported(EventBase):
    """A message, as earlier versions recorded it."""

    type: Literal["message.imported"] = "message.imported"
    ordinal: int
    role: str
    when: str = ""
    author: str = ""
    text: str = ""
    name: str = ""
    result: str = ""
    error: str = ""

    @property
    def words(self) -> str:
        """All that it says, a line each."""
        return "\n".join(filter(None, (self.name, self.text, self.result, self.error)))


@dataclass(frozen=True, slots=True)
class Import:
    """What a stream holds: the first ``research.imported``, and the last with all that belongs to it."""

    id: str
    first: ResearchImported
    last: ResearchImported


def import_of(stream: str, events: Iterable[EventBase]) -> Import | None:
    """Return what the events of an import hold, None if there is nothing but the start of a run."""
    said: list[ResearchImported] = []
    parts: dict[int, FactsImported | ReportImported | MessageImported] = {}
    for event in events:
        if isinstance(event, ResearchImported):
            said.append(event)
        elif isinstance(event, FactsImported | ReportImported | MessageImported):
            parts[event.ordinal] = event
    if not said:
        return None
    last = said[-1]
    kept = [parts[number] for number in sorted(parts) if number < last.ordinals]
    if kept:
        claims = [c.model_copy(update={"by": p.author}) for p in kept if isinstance(p, FactsImported) for c in p.facts]
        messages = [
            ImportedMessage(role=p.role, text=p.words, at=p.when, by=p.author) for p in kept if isinstance(p, MessageImported)
        ]
        reports = [part.text for part in kept if isinstance(part, ReportImported)]
        found = {"claims": tuple(claims), "messages": tuple(messages), "report": "".join(reports[-1:])}
        last = last.model_copy(update=found | {"records": len(claims) + len(messages) + len(reports)})
    return Import(stream, said[0], last)
