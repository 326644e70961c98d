"""The input and output of a step: its adapters, and the drafted events and objects that it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.upkeep_events import Rated
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer, Fetch, Reasoner, Search
from pipeline.text.cleaning import digest_of

A = TypeVar("A", bound=Reply)
Nearness = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]  # cosines of a text and others


@dataclass(frozen=True, slots=True)
class StepContext:
    """The adapters that a step may use. ``page_text`` returns the stored text of a page by its digest.

    ``rated`` returns what a person called useful or wrong for a query, given by its id. ``nearness`` says how near texts are to
    another by meaning; None if no model of vectors is in this process.
    """

    reasoner: Reasoner | None
    search: Search
    fetch: Fetch
    page_text: Callable[[str], str]
    rated: Callable[[str], Rated] = lambda _query_id: Rated()
    nearness: Nearness | None = None

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Ask the model; without one no step asks."""
        assert self.reasoner is not None  # noqa: S101 - without a model no step asks
        return await self.reasoner.answer(question)


@dataclass(frozen=True, slots=True)
class StepResult:
    """Drafted events, and the objects that must be stored before them."""

    drafts: tuple[EventBase, ...]
    objects: tuple[bytes, ...] = ()


def paid(answer: Answer[A], *drafts: EventBase) -> StepResult:
    """Return the drafts of an answer: the first carries what it cost, and the digest of its exchange, which is stored."""
    exchange = digest_of(answer.exchange) if answer.exchange else ""
    first = drafts[0].model_copy(update={"cost": answer.cost, "exchange": exchange})
    return StepResult((first, *drafts[1:]), (answer.exchange,) if answer.exchange else ())


def unusable(answer: Answer[A], why: str, hint: str = "") -> AnswerInvalid:
    """Return the error of an answer that cannot be used, with what it cost and its exchange."""
    error = AnswerInvalid(why, hint=hint)
    error.cost, error.exchange = answer.cost, answer.exchange
    return error
