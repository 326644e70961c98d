"""The input and output of a step: its adapters, and the drafted events and objects that it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.values import Cost, Value
from pipeline.ports import Answer, Fetch, Reasoner, Search
from pipeline.text.normalise import digest_of

A = TypeVar("A", bound=Value)


@dataclass(frozen=True, slots=True)
class StepContext:
    """The adapters that a step may use. ``page_text`` returns the stored text of a page by its digest."""

    reasoner: Reasoner
    search: Search
    fetch: Fetch
    page_text: Callable[[str], str]


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


def paid(answer: Answer[A]) -> Paid:
    """Return an answer's cost, its exchange's digest ("" if there is none) and the bytes to store."""
    objects = (answer.exchange,) if answer.exchange else ()
    return Paid(answer.cost, digest_of(answer.exchange) if answer.exchange else "", objects)
