"""The steps (units of work) that the agenda can return: frozen values whose ``key`` identifies the work across runs.

A step without fields of its own is a dataclass as its base is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Step:
    """The base of all steps. A ``pure`` step needs no outside answer, so it has no cost and never waits.

    ``kind`` is its first word in the log where that is not the name of its class.
    """

    pure: ClassVar[bool] = False
    kind: ClassVar[str] = ""

    @property
    def key(self) -> str:
        """The step's name in the log, e.g. ``ReadPages:search_0:2``."""
        return ":".join([self.kind or type(self).__name__, *(str(getattr(self, part.name)) for part in fields(self))])

    @classmethod
    def is_of(cls, key: str) -> bool:
        """Return whether the step with that key is of this kind."""
        return parts_of(key)[0] == (cls.kind or cls.__name__)


def parts_of(key: str) -> tuple[str, str]:
    """Return the kind of the step with that key, and what it is about: an address, a search, a worker and its iteration."""
    kind, _, about = key.partition(":")
    return kind, about


@dataclass(frozen=True, slots=True)
class OfIteration(Step):
    """The base of the steps of a worker's iteration, which counts from 1."""

    worker_id: str
    iteration: int


@dataclass(frozen=True, slots=True)
class OfRound(Step):
    """The base of the steps after a round of gathering, which counts from 0."""

    pure = True
    round: int


class Survey(Step):
    """Search for the query itself first."""


class Plan(Step):
    """Make the plan: perspectives and DAG."""


class PlainPlan(Step):
    """Make the plan without the model, which failed to."""


class AskApproval(Step):
    """Ask the user to approve the plan."""

    pure = True


@dataclass(frozen=True, slots=True)
class StartWorker(Step):
    """Start the worker of a search node."""

    pure = True
    worker_id: str


class NextRound(OfIteration):
    """Go on with the searches that the reading of the round before names; ``iteration`` counts from 1."""

    pure = True


@dataclass(frozen=True, slots=True)
class SearchFor(Step):
    """Make one search. A session makes the same search once for all workers."""

    query: str


@dataclass(frozen=True, slots=True)
class FetchPage(Step):
    """Fetch one page and take its text. A session does that once for all workers."""

    kind = "Read"
    url: str


class ReadPages(OfIteration):
    """Find facts in the pages of a worker's iteration, what is still open, and what to search for next: one answer."""


class PlainReading(OfIteration):
    """Take the passages of these pages that are nearest to the questions, because the model could not read them."""


@dataclass(frozen=True, slots=True)
class FinishWorker(Step):
    """Record that a worker has finished."""

    pure = True
    worker_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FailWorker(Step):
    """Record that a worker failed because ``step`` failed for good."""

    pure = True
    worker_id: str
    step: str


class StartAnalysis(OfRound):
    """Close a round (0-based) of gathering."""


class FindGaps(OfRound):
    """Collect the questions that are still open after ``round`` (0-based)."""


class ExtendPlan(OfRound):
    """Add a worker that searches once more for the gaps of ``round`` (0-based)."""


class StartSynthesis(Step):
    """End the gathering."""

    pure = True


class ChoosePassages(Step):
    """Choose the passages of the pages read that come nearest to the question; no model is asked."""


@dataclass(frozen=True, slots=True)
class WriteReport(Step):
    """Write a part of the report from its facts; a report that fits the window has the part 1 alone."""

    part: int


@dataclass(frozen=True, slots=True)
class CheckReport(Step):
    """Check the text of ``revision`` of a part: 0 is the first text, 1 the mended one, of which what code warns of is checked."""

    part: int
    revision: int


@dataclass(frozen=True, slots=True)
class MendReport(Step):
    """Put what the checker wrote in the place of the faulty sentences of a part, and bring in the facts that it lacks."""

    pure = True
    part: int


class Compare(Step):
    """Compute what is new since the earlier session."""


class MakeReport(Step):
    """Assemble the report: number the citations, leave out sentences that are still unsupported, and list them."""

    pure = True


class Complete(Step):
    """End the session with a report."""

    pure = True


@dataclass(frozen=True, slots=True)
class Fail(Step):
    """End the session without a report; fields as in ``ResearchFailed``."""

    pure = True
    cause: str
    reason: str
