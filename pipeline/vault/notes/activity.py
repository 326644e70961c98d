"""The timeline of a session: its events grouped into stretches of similar work, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from pipeline.domain.events import session_events as e
from pipeline.domain.events.pruning_events import ResearchPruned
from pipeline.domain.report_parts import items_of
from pipeline.domain.values import EXTRACTIVE
from pipeline.text.labels import count
from pipeline.vault.output.formatting import joined

T = TypeVar("T", bound=e.EventBase)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Similar work from its first to its last event; times as in the log. ``resumed``: a new run begins with it."""

    first_at: str
    last_at: str
    text: str
    resumed: bool = False


def timeline(history: Iterable[e.EventBase]) -> tuple[Stretch, ...]:
    """Return the stretches in order."""
    return tuple(_stretches(history))


def models(history: Iterable[e.EventBase], reasoner: str) -> tuple[str, ...]:
    """Return the models that answered, in order of their first answer; the reasoner's own name is left out."""
    found: list[str] = []
    for event in history:
        if isinstance(event, e.Answered):
            found.append(event.cost.model or event.cost.model_requested)
        elif isinstance(event, ResearchPruned):
            found += event.models
    return tuple(name for name in dict.fromkeys(found) if name not in {"", reasoner, EXTRACTIVE})


def _stretches(history: Iterable[e.EventBase]) -> Iterator[Stretch]:
    for (run, phase), group in groupby(_phased(history), key=lambda entry: entry[:2]):
        events = [event for *_, event in group]
        resumed = run > 1 and isinstance(events[0], e.RunStarted)
        if text := _sentence(phase, events, resumed):
            yield Stretch(events[0].at, events[-1].at, text, resumed)


def _phased(history: Iterable[e.EventBase]) -> Iterator[tuple[int, str, e.EventBase]]:
    """Yield run number, phase and event; a failure, or an event of an unknown type, belongs to the phase it falls in."""
    run, phase = 0, "start"
    for event in history:
        run += isinstance(event, e.RunStarted)
        phase = _PHASES.get(type(event), phase)
        yield run, phase, event


def _sentence(phase: str, events: Sequence[e.EventBase], resumed: bool) -> str:
    if phase == "start":
        return "Resumed" if resumed else "Started"
    parts = [part for part in _SENTENCES[phase](events) if part]
    if failed := _of(events, e.StepFailed):
        parts.append(f"had {count(len(failed), 'failure')}")
    return joined(parts)


def _of(events: Iterable[e.EventBase], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def _counted(number: int, what: str, one: str, many: str = "") -> str:
    return f"{what}{count(number, one, many)}" if number else ""


def _survey(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in _of(events, e.TopicSurveyed):
        yield f"Surveyed the topic ({count(len(event.hits), 'passage')} found)"


def _plan(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in _of(events, e.PlanCreated):
        questions = sum(len(view.questions) for view in event.perspectives)
        yield f"Planned {count(len(event.perspectives), 'perspective')} with {count(questions, 'question')}"


def _gather(events: Sequence[e.EventBase]) -> Iterator[str]:
    for extended in _of(events, e.PlanExtended):
        yield f"Followed up {count(len(extended.perspectives), 'open question')}"
    observed = _of(events, e.FactsObserved)
    yield _counted(len(_of(events, e.SearchCompleted)), "made ", "search", "searches")
    yield _counted(len(_of(events, e.PageRead)), "read ", "page")
    yield _counted(len({fact.id for event in observed for fact in event.facts}), "found ", "fact")
    yield _counted(sum(len(event.rejected) for event in observed), "rejected ", "finding")
    yield _counted(len(_of(events, e.WorkerCompleted)), "finished ", "perspective")
    yield _counted(len(_of(events, e.WorkerFailed)), "gave up ", "perspective")


def _analyse(events: Sequence[e.EventBase]) -> Iterator[str]:
    for validated in _of(events, e.FactsValidated):
        yield f"compared {count(len(validated.facts), 'fact')}"
    for found in _of(events, e.ContradictionsFound):
        yield f"found {count(len(found.contradictions), 'disagreement')}"
    for gaps in [event.gaps for event in events if isinstance(event, e.AnalysisCompleted | e.GapsFound)]:
        yield f"left {count(len(gaps), 'question')} open"
    answered = sum(bool(search.facts) for search in _of(events, e.GapLookedUp))
    yield _counted(answered, "found answers in pages read for ", "of them", "of them")


def _write(events: Sequence[e.EventBase]) -> Iterator[str]:
    sections = [section for event in _of(events, e.ReportWritten) for section in event.sections]
    yield _counted(len(_of(events, e.SectionWritten)) + len(sections), "wrote ", "section")
    verdicts = [verdict for event in _of(events, e.ClaimsChecked) for verdict in event.verdicts]
    checked = sum(len(items_of([section])) for section in sections) if _of(events, e.ClaimsChecked) else 0
    yield _counted(checked or len(verdicts), "checked ", "sentence")
    yield _counted(sum(not verdict.supported for verdict in verdicts), "found ", "of them unsupported", "of them unsupported")
    yield _counted(len([one for one in _of(events, e.ReportRevised) if one.section_id]), "revised ", "section")
    if any(not one.section_id for one in _of(events, e.ReportRevised)):
        yield "mended the report"
    if _of(events, e.ReportEdited):
        yield "edited the whole report"
    yield _counted(len(_of(events, e.ChangesFound)), "compared what was found with ", "earlier report")


def _end(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in events:
        if isinstance(event, e.ReportGenerated):
            yield f"Report finished: {count(event.words, 'word')} from {count(len(event.references), 'source')}"
        elif isinstance(event, e.ResearchFailed):
            yield "Ended: not found" if event.cause == e.NO_EVIDENCE else "Ended without a report"
        elif isinstance(event, e.ResearchCancelled):
            yield "Cancelled"


def _prune(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in _of(events, ResearchPruned):
        counts = event.counts
        done = [count(counts.workers, "perspective"), count(counts.searches, "search", "searches"), count(counts.pages, "page")]
        yield f"Worked on {', '.join(done)} and {count(counts.facts, 'fact')}; the log of this was pruned"


def _cap(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in _of(events, e.BudgetExhausted):
        yield f"Stopped gathering: {event.cap} limit of {event.limit} reached"


def _approve(events: Sequence[e.EventBase]) -> Iterator[str]:
    if _of(events, e.ApprovalRequested):
        yield "Waited for the plan to be approved"
    if _of(events, e.ApprovalGiven):
        yield "Plan approved"


def _change(events: Sequence[e.EventBase]) -> Iterator[str]:
    for event in _of(events, e.SettingsChanged):
        yield f"Went on with {event.reasoner}, because the settings had changed"


def _reopen(_events: Sequence[e.EventBase]) -> Iterator[str]:
    yield "Opened again"


_SENTENCES: dict[str, Callable[[Sequence[e.EventBase]], Iterator[str]]] = {
    "survey": _survey,
    "plan": _plan,
    "gather": _gather,
    "analyse": _analyse,
    "write": _write,
    "end": _end,
    "cap": _cap,
    "reopen": _reopen,
    "change": _change,
    "approve": _approve,
    "prune": _prune,
}
_PHASES: dict[type[e.EventBase], str] = {
    e.RunStarted: "start",
    e.ResearchStarted: "start",
    e.SettingsChanged: "change",
    e.TopicSurveyed: "survey",
    e.PlanCreated: "plan",
    e.ApprovalRequested: "approve",
    e.ApprovalGiven: "approve",
    e.PlanExtended: "gather",
    e.WorkerStarted: "gather",
    e.WorkerThought: "gather",
    e.SearchCompleted: "gather",
    e.PageRead: "gather",
    e.FactsObserved: "gather",
    e.WorkerEvaluated: "gather",
    e.ContextFolded: "gather",
    e.WorkerCompleted: "gather",
    e.WorkerFailed: "gather",
    e.AnalysisStarted: "analyse",
    e.FactsValidated: "analyse",
    e.ContradictionsFound: "analyse",
    e.AnalysisCompleted: "analyse",
    e.GapsFound: "analyse",
    e.GapLookedUp: "analyse",
    e.SynthesisStarted: "write",
    e.PassagesChosen: "write",
    e.OutlineCreated: "write",
    e.ReportWritten: "write",
    e.SectionWritten: "write",
    e.ClaimsChecked: "write",
    e.ReportRevised: "write",
    e.ChangesFound: "write",
    e.ReportGenerated: "end",
    e.ResearchCompleted: "end",
    e.ResearchFailed: "end",
    e.ResearchCancelled: "end",
    e.BudgetExhausted: "cap",
    e.ResearchReopened: "reopen",
    ResearchPruned: "prune",
}
