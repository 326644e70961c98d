"""The events of talks: questions asked back on stored pages, and their answers."""

from __future__ import annotations

from typing import Literal

from pipeline.domain import research_values as v
from pipeline.domain.events.session_events import Answered, EventBase
from pipeline.text.ranking import TermStatistics

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
