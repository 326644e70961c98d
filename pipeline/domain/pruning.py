"""``kept_events``: the few events from which the report of a pruned session and its figures can be made again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

from pipeline.domain.agenda import counts_of, progress
from pipeline.domain.events import session_events as e
from pipeline.domain.events.stream_events import ResearchPruned
from pipeline.domain.findings import all_facts, contradictions, open_gaps
from pipeline.domain.state import SessionState, cost_of
from pipeline.domain.values import Cost, Spent

_KEPT = (
    e.RunStarted, e.ResearchStarted, e.SettingsChanged, e.ChangesFound, e.ReportGenerated,
    e.ResearchCompleted, e.ResearchFailed, e.ResearchCancelled, e.ResearchReopened,
)  # fmt: skip
_UNPAID = {"step": "", "cost": Cost(), "exchange": ""}  # what a page cost is in the session's sum


def kept_events(history: Sequence[e.EventBase], state: SessionState) -> tuple[e.EventBase, ...]:
    """Return what is kept of a session that has ended; ``state`` is what ``history`` folds to.

    They keep their versions, so the session stays at its version: one event takes the place of the last that is dropped. The
    same history always gives the same.
    """
    dropped = [event for event in history if not isinstance(event, _KEPT)]
    if state.pruned or not dropped:
        return tuple(history)
    envelope = {name: getattr(dropped[-1], name) for name in ("id", "session_id", "version", "at", "run_id")}
    kept: list[e.EventBase] = [event for event in history if isinstance(event, _KEPT)]
    kept.append(_summary_event(history, state).model_copy(update=envelope))
    return tuple(sorted(kept, key=lambda event: event.version))


def _summary_event(history: Sequence[e.EventBase], state: SessionState) -> ResearchPruned:
    """Return the event that takes the place of the dropped ones."""
    wanted = set(_shown_facts(state))
    facts = tuple(fact for fact in all_facts(state) if fact.id in wanted)
    urls = {fact.url for fact in facts} | {entry.url for entry in (state.report.references if state.report else ())}
    claims = {name: bears for name, bears in state.claims.items() if name in wanted}
    cost = cost_of(state)  # calls that were never answered count at their worst case
    costs = {one.name: getattr(cost, one.name) for one in fields(Spent) if hasattr(cost, one.name)}
    models = (event.cost.model or event.cost.model_requested for event in history if isinstance(event, e.Answered))
    return ResearchPruned(
        counts=counts_of(state) | {"steps": progress(state)[0]},
        spent=Spent(**{**asdict(state.spent), **costs}),
        facts=facts,
        pages=tuple(page.model_copy(update=_UNPAID) for url, page in state.pages.items() if url in urls),
        contradictions=contradictions(state) if _is_set(state, "contradictions") else None,
        gaps=open_gaps(state) if _is_set(state, "gaps") else None,
        claims=claims or ({"": True} if state.claims else {}),  # not empty: claims were compared in this session
        run_ends={run.run_id: run.last_at for run in state.runs},
        models=tuple(name for name in dict.fromkeys(models) if name),
    )


def _is_set(state: SessionState, part: str) -> bool:
    return any(getattr(analysis, part) is not None for analysis in state.analyses)


def _shown_facts(state: SessionState) -> Iterator[str]:
    """Yield the facts that are shown anywhere: in the report, as disagreements, as new since the report before, as nearest."""
    pairs = contradictions(state)
    if report := state.report:
        yield from (name for entry in report.references for name in entry.facts)
        blocks = (block for section in report.sections for block in section.paragraphs)
        said = (*report.summary, *(sentence for block in blocks for sentence in block.sentences))
        yield from (name for sentence in said for name in sentence.facts)
        pairs += report.contradictions
    yield from (name for pair in pairs for name in (pair.a, pair.b))
    if state.changes:
        yield from (*state.changes.added, *state.changes.noticed, *(one.after for one in state.changes.changed))
    yield from state.nearest
