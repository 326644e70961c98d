"""The input and output of a step: its adapters, and the drafted events and objects that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import Rated
from pipeline.domain.reasoner_questions import Reply
from pipeline.domain.values import Cost
from pipeline.errors import StepError
from pipeline.ports import Answer, Fetch, Reasoner, Search
from pipeline.text.normalise import digest_of

A = TypeVar("A", bound=Reply)


@dataclass(frozen=True, slots=True)
class StepContext:
    """The adapters that a step may use. ``page_text`` returns the stored text of a page by its digest.

    ``rated`` returns what a person called useful or wrong for a query, given by its id.
    """

    reasoner: Reasoner
    search: Search
    fetch: Fetch
    page_text: Callable[[str], str]
    rated: Callable[[str], Rated] = lambda _query_id: Rated()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Drafted events, and the objects that must be stored before them."""

    drafts: tuple[EventBase, ...]
    objects: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Paid:
    """The cost of an answer, the digest of its exchange, and the objects to store."""

    cost: Cost
    exchange: str
    objects: tuple[bytes, ...]


@contextmanager
def charged_to(answer: Answer[A]) -> Iterator[None]:
    """Let an error about an answer carry what the answer cost, and its exchange."""
    try:
        yield
    except StepError as error:
        error.cost, error.exchange = answer.cost, answer.exchange
        raise


def paid(answer: Answer[A]) -> Paid:
    """Return an answer's cost, its exchange's digest ("" if there is none) and the bytes to store."""
    objects = (answer.exchange,) if answer.exchange else ()
    return Paid(answer.cost, digest_of(answer.exchange) if answer.exchange else "", objects)
