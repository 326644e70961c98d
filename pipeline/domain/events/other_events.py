"""The events of all streams that are no sessions: nights, consolidations, talks, prunes, the vault, imports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from pipeline.domain import values as v
from pipeline.domain.events.session_events import Answered, EventBase, PageRead
from pipeline.text.normalise import one_line
from pipeline.text.ranking import TermStatistics


class BatchStarted(EventBase):
    """A batch begins. ``due`` holds the query ids in order of work, ``archived`` the ids that were removed from the file.

    ``granted_usd`` is what its run may spend beside the night's cap (``--max-cost``). ``timezone`` is that of the night, ""
    for the machine's. ``unread`` says which questions in the vault and folders of documents could not be read, and why.
    """

    type: Literal["batch.started"] = "batch.started"
    due: tuple[str, ...]
    archived: tuple[str, ...] = ()
    granted_usd: float = 0.0
    timezone: str = ""
    unread: tuple[str, ...] = ()


class QuerySkipped(EventBase):
    """A query that this batch did not start, and why: ``cause`` in one word, ``reason`` in full.

    Causes: ``left`` (failed, not found, cancelled or waiting for approval since an earlier night), ``damaged`` (its log),
    ``unreadable`` (the system does not let us read its log), ``newer`` (a newer program wrote it), ``limit`` (on the number of
    queries), ``cap`` (money, tokens, calls or time), ``failures`` (too many), ``refused`` (by a provider), ``stopped``.
    """

    type: Literal["query.skipped"] = "query.skipped"
    query_id: str
    query: str
    reason: str
    cause: str = ""


class PassagesEmbedded(EventBase):
    """The vectors of some of the documents' passages were asked for: their number, how many are left, tokens, and the cost.

    ``failed`` is why the server gave no more, or "": the documents are then searched by words alone.
    """

    type: Literal["passages.embedded"] = "passages.embedded"
    model: str
    passages: int
    left: int = 0
    tokens: int = 0
    cost: v.Cost = v.Cost()
    failed: str = ""


class QueryEnded(EventBase):
    """The result of a query in this batch. ``cost`` and ``duration_s`` are the sums of its ``session`` so far.

    ``outcome`` is one of ``values.Outcome``; "" without one, and in older logs. ``status`` is ``complete``, ``not-found`` (the
    sources hold no answer), ``failed``, ``waiting`` (the plan needs approval) or ``interrupted``, with the ``cause`` ``refused``,
    ``cap`` or ``stopped``. The cause of a failure is ``damaged``, ``unreadable`` or ``newer`` if the session's own log brought it
    about.
    """

    type: Literal["query.ended"] = "query.ended"
    query_id: str
    query: str
    session: str
    status: str
    outcome: v.Outcome | Literal[""] = ""
    reason: str = ""
    cost: v.Cost = v.Cost()
    duration_s: float = 0.0
    cause: str = ""


class BatchEnded(EventBase):
    """A batch ended. ``exit_code`` is the process's; ``cost`` is what this batch spent; the other numbers count queries.

    ``answered`` and ``passages`` count reports by their outcome, ``not_found`` the queries that the sources do not answer,
    ``open`` those that a later batch continues.
    """

    type: Literal["batch.ended"] = "batch.ended"
    done: int
    failed: int
    skipped: int
    exit_code: int
    cost: v.Cost = v.Cost()
    duration_s: float = 0.0
    open: int = 0
    not_found: int = 0
    answered: int = 0
    passages: int = 0


class VaultFailed(EventBase):
    """After the batch a ``part``, vault or site, could not be built. ``exit_code`` is the exit code of the process."""

    type: Literal["vault.failed"] = "vault.failed"
    reason: str
    exit_code: int
    part: Literal["vault", "site"] = "vault"


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
    outcome: str
    episode: v.Episode
    statements: tuple[v.Statement, ...] = ()
    superseded: tuple[v.Superseded, ...] = ()
    procedures: tuple[v.Procedure, ...] = ()
    solutions: tuple[v.Solution, ...] = ()


class MemoryEnded(EventBase):
    """A consolidation ended. ``failed`` are the sessions that could not be read, with the reason."""

    type: Literal["memory.ended"] = "memory.ended"
    sessions: int
    statements: int
    failed: dict[str, str] = Field(default_factory=dict)


Scope = Literal["session", "query", "topic", "vault"]


class ScopePage(v.Value):
    """A page that a session of the scope read: its address, title, the digest of its stored text, and that session.

    ``gone``: it was a document that is no longer in its folder; ``read_at`` is then when it was last read, else "".
    """

    url: str
    title: str
    digest: str
    session: str
    gone: bool = False
    read_at: str = ""


class TalkOpened(EventBase):
    """A talk begins. ``ids`` are the session, the query or the tag that it is about; none for the whole vault.

    ``subject`` is the question that the scope is about, or "". ``note`` is the id of the note whose own block asks, or "".
    """

    type: Literal["talk.opened"] = "talk.opened"
    scope: Scope
    ids: tuple[str, ...] = ()
    subject: str = ""
    reasoner: str = v.EXTRACTIVE
    budget_usd: float | None = None
    note: str = ""


class MessageAsked(EventBase):
    """A person asked a question: at the command line, or in a line of a note's own block. ``text`` is as written."""

    type: Literal["message.asked"] = "message.asked"
    number: int
    text: str
    by: Literal["person", "note"] = "person"


class MessageResolved(Answered):
    """The question in words that can be understood without those before it."""

    type: Literal["message.resolved"] = "message.resolved"
    number: int
    stands_alone: str


class PassagesFound(Answered):
    """The best passages of the stored pages of ``sessions`` sessions, and the pages that contain them.

    ``statistics`` are those of the pages in the scope; ``languages`` are their languages. ``failed`` says why the pages were not
    searched by meaning, if the settings ask for that.
    """

    type: Literal["passages.found"] = "passages.found"
    number: int
    hits: tuple[v.Hit, ...]
    pages: tuple[ScopePage, ...]
    sessions: int = 0
    statistics: TermStatistics = TermStatistics()
    languages: tuple[str, ...] = ()
    failed: tuple[v.FailedSide, ...] = ()


class PassagesTaken(Answered):
    """The passages of the found pages that come nearest, best first, and ``more`` places; none if nothing is near."""

    type: Literal["passages.taken"] = "passages.taken"
    number: int
    passages: tuple[v.Fact, ...]
    more: tuple[v.Fact, ...] = ()


class PassagesObserved(Answered):
    """In older logs: the facts of one stored page that answer the question, and the findings that were rejected."""

    type: Literal["passages.observed"] = "passages.observed"
    number: int
    url: str
    digest: str
    facts: tuple[v.Fact, ...]
    rejected: tuple[v.RejectedFact, ...] = ()


class AnswerDrafted(Answered):
    """An answer whose sentences are not checked yet."""

    type: Literal["answer.drafted"] = "answer.drafted"
    number: int
    sentences: tuple[v.Sentence, ...]
    follow_ups: tuple[str, ...] = ()


class MessageAnswered(Answered):
    """The checked answer, or the passages that come nearest: ``outcome`` says which; in older logs it is "".

    Without ``found``, the stored pages do not say; ``nearest`` then quotes what comes nearest, if anything does. ``missing``, in
    older logs, are words that no passage holds with the rest.

    ``facts`` are the ids of those that the sentences or ``nearest`` cite; ``cut`` counts the sentences that the check removed.
    """

    type: Literal["message.answered"] = "message.answered"
    number: int
    found: bool
    outcome: v.Outcome | Literal[""] = ""
    sentences: tuple[v.Sentence, ...] = ()
    facts: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    nearest: tuple[v.Sentence, ...] = ()
    cut: int = 0


class TalkResearched(EventBase):
    """A question of the talk is researched on the web too, by a session of its own."""

    type: Literal["talk.researched"] = "talk.researched"
    number: int
    session: str


class TalkClosed(EventBase):
    """The talk has ended; it can be continued."""

    type: Literal["talk.closed"] = "talk.closed"


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
    """A tombstone of a session that its user had forgotten: ``session`` and ``query`` are the SHA-256 of the two ids.

    Neither the question's words nor any found text is in it. ``objects`` as in ``SessionPruned``.
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

    A wrong passage is not used again, and its source comes last; a useful one comes first.
    """

    useful: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    useful_urls: frozenset[str] = frozenset()
    wrong_urls: frozenset[str] = frozenset()


@dataclass(slots=True)
class Ratings:
    """The latest rating by the question's id and that of a passage, the address of a source, or the id of a report."""

    latest: dict[tuple[str, str], NoteRated] = field(default_factory=dict)

    def apply(self, event: EventBase) -> None:
        """Take in one event, later than all before it."""
        if isinstance(event, NoteRated):
            self.latest[event.query_id, event.fact or event.url or event.note] = event

    def of(self, query_id: str, fact: str) -> str:
        """Return the rating of a passage for a question; "" for none."""
        found = self.latest.get((query_id, fact))
        return found.rating if found else ""

    def latest_on(self, query_id: str, fact: v.Fact) -> NoteRated | None:
        """Return the rating of a passage for a question, or else of its source; None if there is none, or it was taken back."""
        names = ((query_id, fact.id), (query_id, fact.url), ("", fact.url))
        return next((found for name in names if (found := self.latest.get(name)) and found.rating), None)

    def about(self, query_id: str) -> Rated:
        """Return what counts for a question."""
        mine = [event for event in self.latest.values() if event.query_id == query_id or not event.query_id]
        named = {rating: [event for event in mine if event.rating == rating] for rating in ("useful", "wrong")}
        facts = (frozenset(event.fact for event in found if event.fact) for found in named.values())
        urls = (frozenset(event.url for event in found if event.url) for found in named.values())
        return Rated(*facts, *urls)


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
