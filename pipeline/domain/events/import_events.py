"""What was imported from other programs: one event an original, in parts if it is large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.domain import research_values as v
from pipeline.domain.events.session_events import EventBase
from pipeline.text.cleaning import one_line

NOT_CHECKED = "Not checked: it was imported, and no quote in it was compared with a page. No report cites it."


class ImportedClaim(v.Value):
    """A claim of another program, who made it there, and the addresses that it named; none of them was read here."""

    text: str
    title: str = ""
    by: str = ""
    sources: tuple[str, ...] = ()


class ImportedMessage(v.Value):
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


class PartImported(EventBase):
    """A part of an import, as earlier versions recorded it: claims in ``facts``, a report's ``text``, or a message."""

    type: Literal["facts.imported", "report.imported", "message.imported"]
    ordinal: int
    author: str = ""
    facts: tuple[ImportedClaim, ...] = ()
    role: str = ""
    when: str = ""
    text: str = ""
    name: str = ""
    result: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """What a stream holds: the first ``research.imported``, and the last with all that belongs to it."""

    id: str
    first: ResearchImported
    last: ResearchImported


def import_of(stream: str, events: Iterable[EventBase]) -> Import | None:
    """Return what the events of an import hold, None if there is nothing but the start of a run."""
    said: list[ResearchImported] = []
    parts: dict[int, PartImported] = {}
    for event in events:
        if isinstance(event, ResearchImported):
            said.append(event)
        elif isinstance(event, PartImported):
            parts[event.ordinal] = event
    if not said:
        return None
    last = said[-1]
    if kept := [parts[number] for number in sorted(parts) if number < last.ordinals]:
        claims = [claim.model_copy(update={"by": part.author}) for part in kept for claim in part.facts]
        messages = [
            ImportedMessage(role=one.role, text="\n".join(filter(None, words)), at=one.when, by=one.author)
            for one in kept
            if one.type == "message.imported" and (words := (one.name, one.text, one.result, one.error))
        ]
        reports = [part.text for part in kept if part.type == "report.imported"]
        found = {"claims": tuple(claims), "messages": tuple(messages), "report": "".join(reports[-1:])}
        last = last.model_copy(update=found | {"records": len(claims) + len(messages) + len(reports)})
    return Import(stream, said[0], last)
