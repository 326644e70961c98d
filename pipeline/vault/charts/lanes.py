"""Who worked when: a session's events sorted into lanes, one for each worker and for each common stretch of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.domain.events import session_events as e
from pipeline.domain.state import Worker, workers_in_order
from pipeline.vault.vault_model import LoadedSession

PLANNING, CHECKING, WRITING = "Survey and plan", "Cross-checking", "Writing"
# The meanings of a mark, with the words of the legend.
MARKS = {"thought": "answer", "search": "search", "page": "page read", "fact": "facts found", "failed": "failure"}
_CHECKS = ("Validate", "Contrast", "FindGaps", "LookUp")
_WRITES = ("MakeOutline", "PlainOutline", "WriteSection", "CheckSection", "CheckChanges", "ReviseSection", "EditReport")


@dataclass(slots=True)
class Lane:
    """One lane: its name, how it ended (done, failed, open or ""), a word on what came of it, and its marks by kind."""

    name: str
    outcome: str = ""
    result: str = ""
    marks: dict[str, list[float]] = field(default_factory=dict)

    def seconds(self) -> list[float]:
        """Return the moments of all marks, sorted."""
        return sorted(second for seconds in self.marks.values() for second in seconds)


def lanes_of(loaded: LoadedSession, seconds: Sequence[float], name_of: Callable[[Worker], str]) -> tuple[Lane, ...]:
    """Return the lanes that have marks, in order of the work; ``name_of`` gives a worker's words."""
    workers = {worker.id: _worker_lane(loaded, worker, name_of(worker)) for worker in workers_in_order(loaded.state)}
    lanes = {PLANNING: Lane(PLANNING), **workers, CHECKING: Lane(CHECKING), WRITING: Lane(WRITING)}
    owners = _owners(loaded.events)
    for event, second in zip(loaded.events, seconds, strict=True):
        if (found := _mark(event, owners)) and found[0] in lanes:
            lanes[found[0]].marks.setdefault(found[1], []).append(second)
    return tuple(lane for lane in lanes.values() if lane.marks)


def _worker_lane(loaded: LoadedSession, worker: Worker, name: str) -> Lane:
    outcome = {"completed": "done", "failed": "failed", "running": "open"}[worker.status]
    found = len(loaded.facts[worker.id])
    return Lane(name, outcome, f"{found} fact{'' if found == 1 else 's'}")


@dataclass(slots=True)
class _Owners:
    """Which worker asked a search, and which first took facts from a page."""

    searches: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)


def _owners(history: Iterable[e.EventBase]) -> _Owners:
    owners = _Owners()
    for event in history:
        if isinstance(event, e.WorkerThought):
            for query in event.queries:
                owners.searches.setdefault(query, event.worker_id)
        elif isinstance(event, e.FactsObserved):
            owners.pages.setdefault(event.url, event.worker_id)
    return owners


def _mark(event: Any, owners: _Owners) -> tuple[str, str] | None:
    """The lane and the kind of an event's mark; None for what is not drawn."""
    if isinstance(event, e.SearchCompleted):
        return owners.searches.get(event.query, PLANNING), "search"
    if isinstance(event, e.PageRead):
        return owners.pages.get(event.url, PLANNING), "page"
    if isinstance(event, e.FactsObserved):
        return event.worker_id, "fact" if event.facts else "thought"
    if isinstance(event, e.StepFailed):
        return _lane_of_step(event.step, owners), "failed"
    if isinstance(event, e.TopicSurveyed):
        return PLANNING, "search"
    lane = _LANES.get(type(event))
    return (lane or event.worker_id, "thought") if lane is not None else None


def _lane_of_step(step: str, owners: _Owners) -> str:
    kind, _, rest = step.partition(":")
    if kind == "SearchFor":
        return owners.searches.get(rest, PLANNING)
    if kind == "Read":
        return owners.pages.get(rest, PLANNING)
    if kind == "ObservePage":
        return owners.pages.get(rest.partition(":")[2], PLANNING)
    if kind in {"Think", "Observe", "Evaluate", "Fold"}:
        return rest.partition(":")[0]
    return CHECKING if kind in _CHECKS else WRITING if kind in _WRITES else PLANNING


# The lane of each event that is an answer; "": its worker's.
_LANES: dict[type[e.EventBase], str] = {
    e.PlanCreated: PLANNING,
    e.PlanExtended: CHECKING,
    e.WorkerThought: "",
    e.WorkerEvaluated: "",
    e.ContextFolded: "",
    e.FactsValidated: CHECKING,
    e.ContradictionsFound: CHECKING,
    e.AnalysisCompleted: CHECKING,
    e.GapLookedUp: CHECKING,
    e.OutlineCreated: WRITING,
    e.SectionWritten: WRITING,
    e.ClaimsChecked: WRITING,
    e.ReportRevised: WRITING,
    e.ReportEdited: WRITING,
    e.ChangesFound: WRITING,
    e.ReportGenerated: WRITING,
}
