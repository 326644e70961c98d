"""The analysis steps: corroboration, contradictions, gaps and source quality."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pipeline.domain.events import session_events as e
from pipeline.domain.not_found_gate import statistics
from pipeline.domain.reasoner_questions import ContradictionsQuestion, GapsQuestion, ValidationQuestion
from pipeline.domain.state import SessionState, all_facts, standings, workers_in_order
from pipeline.domain.steps import Contrast, FindGaps, StartAnalysis, Validate
from pipeline.domain.values import Contradiction, Cost, Fact, Gap, ValidatedFact
from pipeline.research.clustering import like_groups
from pipeline.research.source_quality import source_quality
from pipeline.research.step_context import Outcome, Paid, StepContext, paid
from pipeline.text.normalise import one_line


def origin_of(url: str) -> str:
    """Return the unit of independence of a source: the host of a web page (without ``www.``), or a folder's document."""
    host = urlsplit(url).hostname if url.startswith(("http://", "https://")) else None
    return host.removeprefix("www.") if host else url.partition("#")[0]


def start_analysis(step: StartAnalysis, _state: SessionState) -> Outcome:
    """Start a round of analysis."""
    return Outcome((e.AnalysisStarted(round=step.round),))


async def validate(step: Validate, state: SessionState, context: StepContext) -> Outcome:
    """Ask which facts in each group of similar facts confirm each other; a fact without a group is ``single``."""
    facts = all_facts(state)
    groups = like_groups(facts)
    found: dict[str, ValidatedFact] = {}
    spent = Paid(Cost(), "", ())
    if groups:
        origins = {fact.id: origin_of(fact.url) for group in groups for fact in group}
        answer = await context.reasoner.answer(ValidationQuestion(query=state.query, groups=groups, origins=origins))
        spent = paid(answer)
        found = {entry.fact_id: entry for entry in answer.value.facts if entry.fact_id in origins}
    validated = tuple(_checked_support(found.get(fact.id), fact, facts) for fact in facts)
    event = e.FactsValidated(round=step.round, facts=validated, cost=spent.cost, exchange=spent.exchange)
    return Outcome((event,), spent.objects)


def _checked_support(entry: ValidatedFact | None, fact: Fact, facts: tuple[Fact, ...]) -> ValidatedFact:
    """Return the entry with support from other origins only, and with the number of origins counted here."""
    origins = {other.id: origin_of(other.url) for other in facts}
    named = entry.support if entry else ()
    support = tuple(name for name in dict.fromkeys(named) if name in origins and origins[name] != origins[fact.id])
    sources = 1 + len({origins[name] for name in support})
    confidence = round(min(1.0, max(0.0, entry.confidence)), 4) if entry and support else 0.5
    standing: Literal["corroborated", "single"] = "corroborated" if support else "single"
    return ValidatedFact(fact_id=fact.id, standing=standing, support=support, sources=sources, confidence=confidence)


async def contrast(step: Contrast, state: SessionState, context: StepContext) -> Outcome:
    """Ask which pairs of facts from different origins, in each group of similar facts, contradict each other."""
    groups = like_groups(all_facts(state))
    if not groups:
        return Outcome((e.ContradictionsFound(round=step.round, contradictions=()),))
    origins = {fact.id: origin_of(fact.url) for group in groups for fact in group}
    answer = await context.reasoner.answer(ContradictionsQuestion(query=state.query, groups=groups, origins=origins))
    pairs = tuple(_valid_contradictions(answer.value.contradictions, origins))
    cost = paid(answer)
    event = e.ContradictionsFound(round=step.round, contradictions=pairs, cost=cost.cost, exchange=cost.exchange)
    return Outcome((event,), cost.objects)


def _valid_contradictions(pairs: tuple[Contradiction, ...], origins: dict[str, str]) -> list[Contradiction]:
    seen: dict[frozenset[str], Contradiction] = {}
    for pair in pairs:
        known = pair.a in origins and pair.b in origins
        if known and origins[pair.a] != origins[pair.b]:
            update = {"id": f"{min(pair.a, pair.b)}-{max(pair.a, pair.b)}", "subject": one_line(pair.subject, 120)}
            seen.setdefault(frozenset((pair.a, pair.b)), pair.model_copy(update=update))
    return list(seen.values())


async def find_gaps(step: FindGaps, state: SessionState, context: StepContext) -> Outcome:
    """Ask which questions are still open, and compute the quality of the sources."""
    analysis = state.analyses[step.round]
    validated = tuple(standings(state).values())
    quality = source_quality(all_facts(state), validated, state.pages)
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
    gaps = tuple(_cleaned_gap(gap) for gap in answer.value.gaps if gap.question.strip())
    event = e.AnalysisCompleted(round=step.round, gaps=gaps, source_quality=quality, cost=cost.cost, exchange=cost.exchange)
    return Outcome((event,), cost.objects)


def _cleaned_gap(gap: Gap) -> Gap:
    importance = round(min(1.0, max(0.0, gap.importance)), 4)
    return gap.model_copy(
        update={"question": one_line(gap.question, 400), "reason": one_line(gap.reason, 400), "importance": importance}
    )
