"""The units of work that an agenda may name: frozen values whose ``key`` identifies the work across runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Step:
    """The root. ``pure``: needs no outside answer, so it costs nothing and never waits."""

    pure: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """The step's name in the log, e.g. ``Think:search_0:2``."""
        return ":".join([type(self).__name__, *(str(getattr(self, part.name)) for part in fields(self))])


@dataclass(frozen=True, slots=True)
class Survey(Step):
    """A first search on the query itself."""


@dataclass(frozen=True, slots=True)
class Plan(Step):
    """Perspectives and DAG."""


@dataclass(frozen=True, slots=True)
class AskApproval(Step):
    """Put the plan before its user."""

    pure = True


@dataclass(frozen=True, slots=True)
class StartWorker(Step):
    """Take up a search node."""

    pure = True
    worker_id: str


@dataclass(frozen=True, slots=True)
class Think(Step):
    """Decide what to search for in iteration ``iteration`` (1-based)."""

    worker_id: str
    iteration: int


@dataclass(frozen=True, slots=True)
class SearchFor(Step):
    """Make one search; once a session, whoever asks."""

    query: str


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Read one page; once a session, whoever asks."""

    url: str


@dataclass(frozen=True, slots=True)
class Observe(Step):
    """Take facts from one page for one worker."""

    worker_id: str
    iteration: int
    url: str


@dataclass(frozen=True, slots=True)
class Evaluate(Step):
    """Judge whether a worker knows enough."""

    worker_id: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Fold(Step):
    """Condense a worker's context; ``fold`` counts from 1."""

    worker_id: str
    fold: int


@dataclass(frozen=True, slots=True)
class FinishWorker(Step):
    """A worker is done."""

    pure = True
    worker_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FailWorker(Step):
    """A worker cannot go on because ``step`` failed for good."""

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
    """Find corroboration between sources."""

    round: int


@dataclass(frozen=True, slots=True)
class Contrast(Step):
    """Find contradictions between sources."""

    round: int


@dataclass(frozen=True, slots=True)
class FindGaps(Step):
    """Find what is still unknown."""

    round: int


@dataclass(frozen=True, slots=True)
class ExtendPlan(Step):
    """Add workers for the gaps of ``round`` (0-based)."""

    pure = True
    round: int


@dataclass(frozen=True, slots=True)
class StartSynthesis(Step):
    """Close the gathering. The facts answer the question but for the words ``missing``; ``doubted``: none speaks of all of it."""

    pure = True
    missing: tuple[str, ...] = ()
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class MakeOutline(Step):
    """Decide on sections."""


@dataclass(frozen=True, slots=True)
class WriteSection(Step):
    """Write one section's first text."""

    section_id: str


@dataclass(frozen=True, slots=True)
class CheckSection(Step):
    """Hold each sentence of a section's text of ``revision`` (0: first) against its facts."""

    section_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class ReviseSection(Step):
    """Write a section again; ``revision`` counts from 1."""

    section_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class Compare(Step):
    """Work out what is new since the earlier session."""


@dataclass(frozen=True, slots=True)
class MakeReport(Step):
    """Number the citations, cut what stayed unsupported, put the report together."""

    pure = True


@dataclass(frozen=True, slots=True)
class Complete(Step):
    """The end, with a report."""

    pure = True


@dataclass(frozen=True, slots=True)
class Fail(Step):
    """The end, without a report."""

    pure = True
    cause: str
    reason: str
    missing: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
