"""The timeline of a session: its events grouped into stretches of similar work, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pipeline.domain.events import session_events as e
from pipeline.domain.events.stream_events import ResearchPruned
from pipeline.domain.values import EXTRACTIVE
from pipeline.text.labels import count
from pipeline.vault.output.formatting import joined


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
        if text := ("Resumed" if resumed else "Started") if phase == "start" else _sentence(events):
            yield Stretch(events[0].at, events[-1].at, text, resumed)


def _phased(history: Iterable[e.EventBase]) -> Iterator[tuple[int, str, e.EventBase]]:
    """Yield run number, phase and event; a failure, or an event of an unknown type, belongs to the phase it falls in."""
    run, phase = 0, "start"
    for event in history:
        run += isinstance(event, e.RunStarted)
        phase = _PHASES.get(type(event), phase)
        yield run, phase, event


def _sentence(events: Sequence[e.EventBase]) -> str:
    """What similar work came to: what was counted of each type, in the order of the table."""
    found: dict[type[e.EventBase], list[Any]] = {}
    for event in events:
        found.setdefault(type(event), []).append(event)
    said = ((lines, found[kind]) for kind, (_, lines) in _WORK.items() if kind in found)
    parts = [text for lines, same in said for line in lines if (text := line(same))]
    failed = len(found.get(e.StepFailed, ()))
    return joined([*parts, *([f"had {count(failed, 'failure')}"] if failed else [])])


_Line = Callable[[list[Any]], str]


def _counted(before: str, one: str, many: str = "", size: Callable[[Any], int] = lambda _: 1) -> _Line:
    """A line that counts over events of a type; "" for none."""

    def line(events: list[Any]) -> str:
        number = sum(map(size, events))
        return f"{before}{count(number, one, many)}" if number else ""

    return line


def _ended(events: list[Any]) -> str:
    return "Ended: not found" if events[-1].cause == e.NO_EVIDENCE else "Ended without a report"


# The phase of each type of event, and what is said of it.
_WORK: dict[type[e.EventBase], tuple[str, tuple[_Line, ...]]] = {
    e.RunStarted: ("start", ()),
    e.ResearchStarted: ("start", ()),
    e.SettingsChanged: ("change", (lambda same: f"Went on with {same[-1].reasoner}, because the settings had changed",)),
    e.TopicSurveyed: ("survey", (_counted("Surveyed the topic: ", "passage", size=lambda one: len(one.hits)),)),
    e.PlanCreated: ("plan", (_counted("Planned ", "perspective", size=lambda one: len(one.perspectives)),)),
    e.ApprovalRequested: ("approve", (lambda _: "Waited for the plan to be approved",)),
    e.ApprovalGiven: ("approve", (lambda _: "Plan approved",)),
    e.PlanExtended: ("gather", (_counted("followed up ", "open question", size=lambda one: len(one.perspectives)),)),
    e.WorkerStarted: ("gather", ()),
    e.WorkerThought: ("gather", ()),
    e.SearchCompleted: ("gather", (_counted("made ", "search", "searches"),)),
    e.PageRead: ("gather", (_counted("read ", "page"),)),
    e.FactsObserved: (
        "gather",
        (
            _counted("found ", "fact", size=lambda one: len(one.facts)),
            _counted("rejected ", "finding", size=lambda one: len(one.rejected)),
        ),
    ),
    e.WorkerEvaluated: ("gather", ()),
    e.ContextFolded: ("gather", ()),
    e.WorkerCompleted: ("gather", (_counted("finished ", "perspective"),)),
    e.WorkerFailed: ("gather", (_counted("gave up ", "perspective"),)),
    e.AnalysisStarted: ("analyse", ()),
    e.FactsValidated: ("analyse", (_counted("compared ", "fact", size=lambda one: len(one.facts)),)),
    e.ContradictionsFound: ("analyse", (_counted("found ", "disagreement", size=lambda one: len(one.contradictions)),)),
    e.AnalysisCompleted: ("analyse", (_counted("left ", "question open", "questions open", lambda one: len(one.gaps)),)),
    e.GapLookedUp: ("analyse", (_counted("answered ", "of them", "of them", lambda one: bool(one.facts)),)),
    e.SynthesisStarted: ("write", ()),
    e.PassagesChosen: ("write", (_counted("chose ", "passage", size=lambda one: len(one.passages)),)),
    e.OutlineCreated: ("write", ()),
    e.SectionWritten: ("write", (_counted("wrote ", "section"),)),
    e.ClaimsChecked: (
        "write",
        (
            _counted("checked ", "sentence", size=lambda one: len(one.verdicts)),
            _counted(
                "found ", "of them unsupported", "of them unsupported", lambda one: sum(not v.supported for v in one.verdicts)
            ),
        ),
    ),
    e.ReportRevised: ("write", (_counted("revised ", "section"),)),
    e.ReportEdited: ("write", (lambda _: "edited the whole report",)),
    e.ChangesFound: ("write", (_counted("compared what was found with ", "earlier report"),)),
    e.ReportGenerated: ("end", (_counted("finished a report of ", "word", size=lambda one: one.words),)),
    e.ResearchCompleted: ("end", ()),
    e.ResearchFailed: ("end", (_ended,)),
    e.ResearchCancelled: ("end", (lambda _: "Cancelled",)),
    e.BudgetExhausted: ("cap", (lambda same: f"Stopped gathering: {same[-1].cap} limit of {same[-1].limit} reached",)),
    e.ResearchReopened: ("reopen", (lambda _: "Opened again",)),
    ResearchPruned: (
        "prune",
        (_counted("worked on ", "page", size=lambda one: one.counts.pages), lambda _: "the log of this was pruned"),
    ),
}
_PHASES = {kind: phase for kind, (phase, _) in _WORK.items()}
