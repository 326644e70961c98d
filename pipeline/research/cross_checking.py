"""The analysis steps: corroboration, contradictions and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, origin_of, standings
from pipeline.domain.not_found_gate import statistics
from pipeline.domain.reasoner_questions import CrossCheck, CrossCheckQuestion, GapsQuestion
from pipeline.domain.state import SessionState, workers_in_order
from pipeline.domain.steps import Contrast, FindGaps, StartAnalysis, Validate
from pipeline.domain.values import Contradiction, Cost, Fact, Gap, ValidatedFact
from pipeline.research.claims.dates import published_of, today_of
from pipeline.research.clustering import like_groups
from pipeline.research.step_context import Outcome, Paid, StepContext, paid
from pipeline.text.normalise import one_line

MAX_GAPS = 6  # of a round, the most important first; a model is asked for no more
Groups = tuple[tuple[Fact, ...], ...]


def start_analysis(step: StartAnalysis, _state: SessionState) -> Outcome:
    """Start a round of analysis."""
    return Outcome((e.AnalysisStarted(round=step.round),))


@dataclass(frozen=True, slots=True)
class _Check:
    """What one round has to judge: all facts, the groups to ask about, and what the round before found in the other groups."""

    facts: tuple[Fact, ...]
    groups: Groups
    earlier: CrossCheck

    @property
    def origins(self) -> dict[str, str]:
        return {fact.id: origin_of(fact.url) for fact in self.facts}


async def validate(step: Validate, state: SessionState, context: StepContext) -> Outcome:
    """Ask which facts confirm and which contradict each other, in groups of similar facts of two or more origins.

    A group that the round before has judged is not asked about again. Without a group left nobody is asked. A log of an earlier
    version may contain the contradictions already; then only the confirmations are recorded.
    """
    check, recorded = _check_of(state, step.round), state.analyses[step.round].contradictions is not None
    answer, spent = await _cross_checked(check, state, context)
    found = {entry.fact_id: entry for entry in (*check.earlier.facts, *answer.facts)}
    validated = tuple(_checked_support(found.get(fact.id), fact, check.facts) for fact in check.facts)
    event = e.FactsValidated(round=step.round, facts=validated, cost=spent.cost, exchange=spent.exchange)
    both = (event, e.ContradictionsFound(round=step.round, contradictions=_all_contradictions(check, answer)))
    return Outcome(both[:1] if recorded else both, spent.objects)


async def contrast(step: Contrast, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the contradictions alone, in a session whose log contains the confirmations only."""
    check = _check_of(state, step.round)
    answer, spent = await _cross_checked(check, state, context)
    found = _all_contradictions(check, answer)
    event = e.ContradictionsFound(round=step.round, contradictions=found, cost=spent.cost, exchange=spent.exchange)
    return Outcome((event,), spent.objects)


async def _cross_checked(check: _Check, state: SessionState, context: StepContext) -> tuple[CrossCheck, Paid]:
    if not check.groups:
        return CrossCheck(facts=()), Paid(Cost(), "", ())
    asked = {fact.id: fact for group in check.groups for fact in group}
    question = CrossCheckQuestion(
        query=state.query,
        groups=check.groups,
        origins={name: origin for name, origin in check.origins.items() if name in asked},
        today=today_of(state),
        published=dict(published_of(state, asked.values())),
    )
    answer = await context.reasoner.answer(question)
    return answer.value, paid(answer)


def _check_of(state: SessionState, number: int) -> _Check:
    facts = all_facts(state)
    groups = _groups(facts)
    before = state.analyses[number - 1] if number else None
    if before is None or before.validated is None or before.contradictions is None:
        return _Check(facts, groups, CrossCheck(facts=()))
    known = {entry.fact_id for entry in before.validated}
    judged = set(map(_ids, _groups(tuple(fact for fact in facts if fact.id in known))))
    same = [ids for ids in map(_ids, groups) if ids in judged]
    entries = tuple(entry for entry in before.validated if any(entry.fact_id in ids for ids in same))
    pairs = tuple(pair for pair in before.contradictions if any({pair.a, pair.b} <= ids for ids in same))
    left = tuple(group for group in groups if _ids(group) not in judged)
    return _Check(facts, left, CrossCheck(facts=entries, contradictions=pairs))


def _groups(facts: tuple[Fact, ...]) -> Groups:
    """Return the groups of similar facts that have two or more origins: facts of one origin cannot confirm each other."""
    return tuple(group for group in like_groups(facts) if len({origin_of(fact.url) for fact in group}) > 1)


def _ids(group: tuple[Fact, ...]) -> frozenset[str]:
    return frozenset(fact.id for fact in group)


def _all_contradictions(check: _Check, answer: CrossCheck) -> tuple[Contradiction, ...]:
    pairs = _valid_contradictions((*check.earlier.contradictions, *answer.contradictions), check.origins)
    return tuple(sorted(pairs, key=lambda pair: (pair.subject, pair.id)))


def _checked_support(entry: ValidatedFact | None, fact: Fact, facts: tuple[Fact, ...]) -> ValidatedFact:
    """Return the entry with support from other origins only, and with the number of origins counted here."""
    origins = {other.id: origin_of(other.url) for other in facts}
    named = entry.support if entry else ()
    support = tuple(name for name in dict.fromkeys(named) if name in origins and origins[name] != origins[fact.id])
    sources = 1 + len({origins[name] for name in support})
    confidence = round(min(1.0, max(0.0, entry.confidence)), 4) if entry and support else 0.5
    standing: Literal["corroborated", "single"] = "corroborated" if support else "single"
    return ValidatedFact(fact_id=fact.id, standing=standing, support=support, sources=sources, confidence=confidence)


def _valid_contradictions(pairs: tuple[Contradiction, ...], origins: dict[str, str]) -> list[Contradiction]:
    seen: dict[frozenset[str], Contradiction] = {}
    for pair in pairs:
        known = pair.a in origins and pair.b in origins
        if known and origins[pair.a] != origins[pair.b]:
            update = {"id": f"{min(pair.a, pair.b)}-{max(pair.a, pair.b)}", "subject": one_line(pair.subject, 120)}
            seen.setdefault(frozenset((pair.a, pair.b)), pair.model_copy(update=update))
    return list(seen.values())


async def find_gaps(step: FindGaps, state: SessionState, context: StepContext) -> Outcome:
    """Ask which questions are still open, keep the first ``MAX_GAPS``."""
    analysis = state.analyses[step.round]
    validated = tuple(standings(state).values())
    asked = dict.fromkeys(gap for worker in workers_in_order(state) for last in worker.iterations[-1:] for gap in last.gaps)
    question = GapsQuestion(
        query=state.query,
        perspectives=tuple(state.perspectives.values()),
        facts=all_facts(state),
        validated=validated,
        contradictions=analysis.contradictions or (),
        open_questions=tuple(asked),
        statistics=statistics(state),
    )
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    gaps = tuple(_cleaned_gap(gap) for gap in answer.value.gaps if gap.question.strip())[:MAX_GAPS]
    event = e.AnalysisCompleted(round=step.round, gaps=gaps, cost=cost.cost, exchange=cost.exchange)
    return Outcome((event,), cost.objects)


def _cleaned_gap(gap: Gap) -> Gap:
    importance = round(min(1.0, max(0.0, gap.importance)), 4)
    return gap.model_copy(
        update={"question": one_line(gap.question, 400), "reason": one_line(gap.reason, 400), "importance": importance}
    )
