"""``kept_events``: the few events from which the report of a pruned session and its figures can be made again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from pipeline.domain.agenda.progress import progress
from pipeline.domain.events import session_events as e
from pipeline.domain.events.pruning_events import Counts, KeptPage, KeptSpent, ResearchPruned
from pipeline.domain.findings import all_facts, contradictions, open_gaps, standings
from pipeline.domain.state import SessionState, cost_of
from pipeline.domain.values import Fact

_KEPT = (
    e.RunStarted,
    e.ResearchStarted,
    e.SettingsChanged,
    e.ChangesFound,
    e.ReportGenerated,
    e.ResearchCompleted,
    e.ResearchFailed,
    e.ResearchCancelled,
    e.ResearchReopened,
)


def kept_events(history: Sequence[e.EventBase], state: SessionState) -> tuple[e.EventBase, ...]:
    """Return what is kept of a session that has ended; ``state`` is what ``history`` folds to.

    They keep their versions, so the session stays at its version. The same history always gives the same.
    """
    if state.pruned:
        return tuple(history)
    kept: dict[int, e.EventBase] = {event.version: event for event in history if isinstance(event, _KEPT)}
    dropped = [event for event in history if event.version not in kept]
    if not dropped:
        return tuple(history)
    last = dropped[-1]
    envelope = {name: getattr(last, name) for name in ("id", "session_id", "version", "at", "run_id")}
    kept[last.version] = _summary_event(history, state).model_copy(update=envelope)
    return tuple(kept[version] for version in sorted(kept))


def _summary_event(history: Sequence[e.EventBase], state: SessionState) -> ResearchPruned:
    """The event that takes the place of the dropped ones."""
    wanted = set(_fact_ids(state))
    facts = tuple(fact for fact in _ordered(state) if fact.id in wanted)
    urls = {fact.url for fact in facts} | {entry.url for entry in (state.report.references if state.report else ())}
    latest = standings(state)
    checked = any(one.validated is not None for one in state.analyses)
    claims = {name: bears for name, bears in state.claims.items() if name in wanted}
    return ResearchPruned(
        counts=_counts(state),
        spent=_spent(state),
        facts=facts,
        pages=tuple(KeptPage(**asdict(page)) for url, page in state.pages.items() if url in urls),
        validated=tuple(latest[fact.id] for fact in facts if fact.id in latest) if checked else None,
        contradictions=contradictions(state) if any(one.contradictions is not None for one in state.analyses) else None,
        gaps=open_gaps(state) if any(one.gaps is not None for one in state.analyses) else None,
        claims=claims or ({"": True} if state.claims else {}),  # not empty: claims were compared in this session
        run_ends={run.run_id: run.last_at for run in state.runs},
        models=_models(history),
        title=state.title,
    )


def _fact_ids(state: SessionState) -> Iterator[str]:
    """The facts that are shown anywhere: in the report, as disagreements, as new since the report before, as nearest."""
    report = state.report
    if report:
        yield from (name for entry in report.references for name in entry.facts)
        blocks = chain.from_iterable(section.paragraphs for section in report.sections)
        said = (*report.summary, *(sentence for block in blocks for sentence in block.sentences))
        yield from (name for sentence in said for name in sentence.facts)
        yield from (name for pair in report.contradictions for name in (pair.a, pair.b))
    yield from (name for pair in contradictions(state) for name in (pair.a, pair.b))
    if state.changes:
        yield from (*state.changes.added, *state.changes.noticed, *(one.after for one in state.changes.changed))
    yield from state.nearest


def _ordered(state: SessionState) -> Iterable[Fact]:
    """All facts in the order of the plan, then those that no worker's pages hold."""
    ordered = {fact.id: fact for fact in all_facts(state)}
    return (ordered | {name: fact for name, fact in state.facts.items() if name not in ordered}).values()


def _counts(state: SessionState) -> Counts:
    return Counts(
        events=state.version,
        workers=len(state.workers),
        searches=len(state.searches),
        pages=len(state.pages),
        facts=len(state.facts),
        sources=len({fact.url for fact in state.facts.values()}),
        steps=progress(state)[0],
    )


def _spent(state: SessionState) -> KeptSpent:
    """What the session cost, with calls that were never answered at their worst case."""
    cost, spent = cost_of(state), state.spent
    return KeptSpent(
        calls=cost.calls,
        lost=spent.lost,
        lost_usd=spent.lost_usd,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        total_tokens=cost.total_tokens,
        usd=cost.usd,
        assumed_usd=cost.assumed_usd,
        expected_usd=cost.expected_usd,
    )


def _models(history: Iterable[e.EventBase]) -> tuple[str, ...]:
    names = (event.cost.model or event.cost.model_requested for event in history if isinstance(event, e.Answered))
    return tuple(name for name in dict.fromkeys(names) if name)
