"""What is done to what is kept: research pruned, forgotten or consolidated; notes moved, hidden or rated by people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from pipeline.domain import research_values as v
from pipeline.domain.events.session_events import Answered, EventBase, PageRead
from pipeline.text.cleaning import normalised
from pipeline.text.questions import content_stems
from pipeline.text.quotes import holds_quote
from pipeline.text.words import jaccard

_NEARLY = 0.7  # least Jaccard similarity of two passages if one is the other after a change of its document


class ResearchPruned(EventBase):
    """It takes the place of a session's events of work, in what is kept of a pruned session.

    ``facts`` are those that the report, its disagreements and its comparison with an earlier report refer to, in order;
    ``pages`` are their pages. ``claims`` as in the state. ``run_ends`` holds the time of each run's last event, by run.
    ``spent`` is the whole session's; ``counts`` as in ``counts_of``, with the steps.
    """

    type: Literal["research.pruned"] = "research.pruned"
    counts: dict[str, int]
    spent: v.Spent
    facts: tuple[v.Fact, ...] = ()
    pages: tuple[PageRead, ...] = ()
    contradictions: tuple[v.Contradiction, ...] | None = None
    gaps: tuple[v.Gap, ...] | None = None
    claims: dict[str, bool] = Field(default_factory=dict)
    run_ends: dict[str, str] = Field(default_factory=dict)
    models: tuple[str, ...] = ()


class SessionPruned(EventBase):
    """A tombstone: the log of ``session`` up to version ``up_to`` is pruned; ``head`` is the SHA-256 of its last event's JSON.

    ``report`` is the stored object with what is kept of it, ``quotes`` the number of its quotes that were found in their pages,
    ``objects`` the pages and exchanges that nothing else uses and that go with it, ``bytes`` the size of its files.
    """

    type: Literal["session.pruned"] = "session.pruned"
    session: str
    up_to: int
    head: str
    report: str
    quotes: int = 0
    objects: tuple[str, ...] = ()
    bytes: int = 0


class ObjectsPruned(EventBase):
    """A tombstone of pages, exchanges or originals of imports."""

    type: Literal["objects.pruned"] = "objects.pruned"
    kind: Literal["pages", "exchanges", "originals"]
    objects: tuple[str, ...]
    bytes: int = 0


class SessionForgotten(EventBase):
    """A tombstone of what its user had forgotten, a session or an import: ``session`` and ``query`` are the SHA-256 of two ids.

    A talk about it has one too, with its own id. Neither words of a question nor any found text is in it. ``objects`` as in
    ``SessionPruned``.
    """

    type: Literal["session.forgotten"] = "session.forgotten"
    session: str
    query: str = ""
    objects: tuple[str, ...] = ()
    bytes: int = 0


class PruneEnded(EventBase):
    """All that this stream's tombstones name is gone from the disk. Without this event, the next prune removes it."""

    type: Literal["prune.ended"] = "prune.ended"


class RecordForgotten(EventBase):
    """It takes the place of a record about a forgotten session in the stream of a night, a consolidation or a talk."""

    type: Literal["record.forgotten"] = "record.forgotten"


class Due(v.Value):
    """A session to consolidate, and its version at that time."""

    session: str
    up_to: int


class MemoryStarted(EventBase):
    """A consolidation begins. ``due`` are the ended sessions that changed since they were consolidated last."""

    type: Literal["memory.started"] = "memory.started"
    due: tuple[Due, ...]


class SessionConsolidated(Answered):
    """What a ``session`` leaves behind at its version ``up_to``; ``head`` is the SHA-256 of its last event's JSON.

    ``superseded`` are statements of earlier sessions. The cost is that of a model's sentences; without one there is none.
    """

    type: Literal["session.consolidated"] = "session.consolidated"
    session: str
    up_to: int
    head: str
    query: str
    query_id: str
    tags: tuple[str, ...]
    episode: v.Episode
    statements: tuple[v.Statement, ...] = ()
    superseded: tuple[v.Superseded, ...] = ()
    procedures: tuple[v.Procedure, ...] = ()


class MemoryEnded(EventBase):
    """A consolidation ended. ``failed`` are the sessions that could not be read, with the reason."""

    type: Literal["memory.ended"] = "memory.ended"
    sessions: int
    statements: int
    failed: dict[str, str] = Field(default_factory=dict)


class NoteMoved(EventBase):
    """A person moved or renamed a note, or put a hidden one back. ``path`` is where it is now, in the vault, with its suffix."""

    type: Literal["note.moved"] = "note.moved"
    note: str
    path: str


class NoteHidden(EventBase):
    """A person deleted a note: it is not generated, and links to it become plain text."""

    type: Literal["note.hidden"] = "note.hidden"
    note: str


class NoteShown(EventBase):
    """A person asked for a hidden note again: it is generated where it was."""

    type: Literal["note.shown"] = "note.shown"
    note: str


class NoteRated(EventBase):
    """A person called a passage ``useful`` or ``wrong`` for a question, or took that back (""). ``fact`` is the passage's id.

    Without a ``fact`` the whole source at ``url`` is meant, for every question if there is no ``query_id``; without both the
    report as a whole, of which each quote behind the answer is rated beside it.
    """

    type: Literal["note.rated"] = "note.rated"
    note: str
    rating: Literal["useful", "wrong", ""]
    query_id: str = ""
    fact: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Rated:
    """What counts for one question: the ids of useful and of wrong passages, and the addresses of useful and of wrong sources.

    A wrong passage is not used again, and its source comes last; a useful one comes first. ``cleared`` are the ids of passages of
    which a rating was taken back, ``passages`` are the useful and wrong ones whose words are known.
    """

    useful: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    useful_urls: frozenset[str] = frozenset()
    wrong_urls: frozenset[str] = frozenset()
    cleared: frozenset[str] = frozenset()
    passages: tuple[v.Fact, ...] = ()

    def same(self, fact: v.Fact) -> str:
        """Return the id of the rated passage that a fact is, or of which it has the words; else its own.

        It has the same words, at any address; or of one source, it contains that, or is a part of a wrong one, or its document
        changed, and both are nearly alike and of one section.
        """
        if fact.id in self.useful | self.wrong | self.cleared:
            return fact.id

        def is_same(one: v.Fact) -> bool:
            if one.url != fact.url and one.digest != fact.digest:
                return normalised(one.quote) == normalised(fact.quote)
            if holds_quote(fact.quote, one.quote) or (one.id in self.wrong and holds_quote(one.quote, fact.quote)):
                return True
            is_place = one.digest != fact.digest and one.path == fact.path
            return is_place and jaccard(content_stems(one.quote), content_stems(fact.quote)) >= _NEARLY

        found = [one.id for one in self.passages if is_same(one)]
        return next((name for name in found if name in self.wrong), found[0] if found else fact.id)


@dataclass(slots=True)
class Ratings:
    """The latest rating by the question's id and that of a passage, the address of a source, or the id of a report."""

    latest: dict[tuple[str, str], NoteRated] = field(default_factory=dict)

    def apply(self, event: EventBase) -> None:
        """Take in one event, later than all before it."""
        if isinstance(event, NoteRated):
            self.latest[event.query_id, event.fact or event.url or event.note] = event

    def of(self, query_id: str, fact: str) -> str | None:
        """Return the rating of a passage for a question; "" if it was taken back, None if there never was one."""
        found = self.latest.get((query_id, fact))
        return found.rating if found else None

    def latest_on(self, query_id: str, fact: str, url: str) -> NoteRated | None:
        """Return the rating of a passage for a question, or else of its source; None if there is none, or it was taken back."""
        names = ((query_id, fact), (query_id, url), ("", url))
        return next((found for name in names if (found := self.latest.get(name)) and found.rating), None)

    def about(self, query_id: str) -> Rated:
        """Return what counts for a question, without the words of what is rated."""
        mine = [event for event in self.latest.values() if event.query_id == query_id or not event.query_id]

        def named(rating: str, kind: Literal["fact", "url"]) -> frozenset[str]:
            return frozenset(getattr(event, kind) for event in mine if event.rating == rating) - {""}

        facts = named("useful", "fact"), named("wrong", "fact")
        return Rated(*facts, named("useful", "url"), named("wrong", "url"), cleared=named("", "fact"))
