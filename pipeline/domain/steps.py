"""The steps (units of work) that the agenda can return: frozen values whose ``key`` identifies the work across runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Step:
    """The base of all steps. A ``pure`` step needs no outside answer, so it has no cost and never waits."""

    pure: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """The step's name in the log, e.g. ``Think:search_0:2``."""
        return ":".join([type(self).__name__, *(str(getattr(self, part.name)) for part in fields(self))])


@dataclass(frozen=True, slots=True)
class Survey(Step):
    """Search for the query itself first."""


@dataclass(frozen=True, slots=True)
class Plan(Step):
    """Make the plan: perspectives and DAG."""


@dataclass(frozen=True, slots=True)
class PlainPlan(Step):
    """Make the plan without the model, which failed to."""


@dataclass(frozen=True, slots=True)
class AskApproval(Step):
    """Ask the user to approve the plan."""

    pure = True


@dataclass(frozen=True, slots=True)
class StartWorker(Step):
    """Start the worker of a search node."""

    pure = True
    worker_id: str


@dataclass(frozen=True, slots=True)
class Think(Step):
    """Decide what to search for in iteration ``iteration`` (1-based)."""

    worker_id: str
    iteration: int


@dataclass(frozen=True, slots=True)
class SearchFor(Step):
    """Make one search. A session makes the same search once for all workers."""

    query: str


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Read one page. A session reads a page once for all workers."""

    url: str


@dataclass(frozen=True, slots=True)
class Observe(Step):
    """Extract facts from one page for one worker, in sessions that do not share pages: without a model, and in older logs."""

    worker_id: str
    iteration: int
    url: str


@dataclass(frozen=True, slots=True)
class ObservePage(Step):
    """Extract facts from one page, once a session for all workers; ``part`` 2 asks for quotes and sections again."""

    part: int
    url: str


@dataclass(frozen=True, slots=True)
class Evaluate(Step):
    """Decide whether a worker's facts suffice."""

    worker_id: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Fold(Step):
    """Condense a worker's context; ``fold`` counts from 1."""

    worker_id: str
    fold: int


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


@dataclass(frozen=True, slots=True)
class StartAnalysis(Step):
    """Open a round (0-based) of cross-checking."""

    pure = True
    round: int


@dataclass(frozen=True, slots=True)
class Validate(Step):
    """Find the facts that several sources confirm, and contradictions between sources."""

    round: int


@dataclass(frozen=True, slots=True)
class Contrast(Step):
    """Find contradictions between sources, where a log of an earlier version contains the confirmations only."""

    round: int


@dataclass(frozen=True, slots=True)
class FindGaps(Step):
    """Find the questions that are still open."""

    round: int


@dataclass(frozen=True, slots=True)
class LookUp(Step):
    """Search the pages read for an answer to a gap (from 0) of ``round``; ``attempt`` counts from 1."""

    round: int
    gap: int
    attempt: int


@dataclass(frozen=True, slots=True)
class ExtendPlan(Step):
    """Add workers for the gaps of ``round`` (0-based)."""

    pure = True
    round: int


@dataclass(frozen=True, slots=True)
class StartSynthesis(Step):
    """End the gathering."""

    pure = True


@dataclass(frozen=True, slots=True)
class ChoosePassages(Step):
    """Choose the passages of the pages read that come nearest to the question; no model is asked."""


@dataclass(frozen=True, slots=True)
class MakeOutline(Step):
    """Choose the report's title and sections."""


@dataclass(frozen=True, slots=True)
class PlainOutline(Step):
    """Choose title and sections without the model, which failed to."""


@dataclass(frozen=True, slots=True)
class WriteSection(Step):
    """Write one section's first text."""

    section_id: str


@dataclass(frozen=True, slots=True)
class CheckSection(Step):
    """Check each sentence of a section's text of ``revision`` (0: first text) against its facts."""

    section_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class CheckChanges(Step):
    """Check the changed sentences of all sections at once: those of the revisions, or those of the editing pass (``edited``)."""

    edited: bool


@dataclass(frozen=True, slots=True)
class ReviseSection(Step):
    """Rewrite or drop the unsupported sentences of a section; ``revision`` counts from 1."""

    section_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class EditReport(Step):
    """Edit the whole report once: order, repetition, what to do, how sure it is."""


@dataclass(frozen=True, slots=True)
class Compare(Step):
    """Compute what is new since the earlier session."""


@dataclass(frozen=True, slots=True)
class MakeReport(Step):
    """Assemble the report: number the citations, remove sentences that are still unsupported."""

    pure = True


@dataclass(frozen=True, slots=True)
class Complete(Step):
    """End the session with a report."""

    pure = True


@dataclass(frozen=True, slots=True)
class Fail(Step):
    """End the session without a report; fields as in ``ResearchFailed``."""

    pure = True
    cause: str
    reason: str
    nearest: tuple[str, ...] = ()
