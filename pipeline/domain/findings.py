"""What a session found, computed from its state: the facts, their cross-check, the open gaps, the sources to show.

Facts are listed in the order of the plan, never in the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain

from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.values import Contradiction, Fact, Gap
from pipeline.text.questions import ParsedQuestion, parse_in
from pipeline.text.ranking import StemmedText, TermStatistics, statistics_of


def facts_of(worker: Worker) -> tuple[Fact, ...]:
    """Return the facts that a worker found, each once, by iteration and then in the order of its pages."""
    return _each_once(fact for step in worker.iterations for seen in step.observed.values() for fact in seen.facts)


def all_facts(state: SessionState) -> tuple[Fact, ...]:
    """Return the session's facts, each once, by worker in plan order as in ``facts_of``; chosen passages come before them.

    In older logs those that answer gaps come last. Of a pruned session the facts that are kept are in this order already.
    """
    if state.pruned:
        return tuple(state.facts.values())
    found = (fact for worker in workers_in_order(state) for fact in facts_of(worker))
    chosen = (state.facts[name] for name in state.passages or ())
    return _each_once(chain(chosen, found, state.facts.values()))


def _each_once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact.id, fact)
    return tuple(found.values())


def contradictions(state: SessionState) -> tuple[Contradiction, ...]:
    """Return the contradictions of the latest round that checked for them."""
    return next((a.contradictions for a in reversed(state.analyses) if a.contradictions is not None), ())


def disputed_facts(state: SessionState) -> frozenset[str]:
    """Return the ids of the facts that another source contradicts; what was once compared without a model does not count."""
    pairs = contradictions(state) if state.config.has_model else ()
    return frozenset(name for pair in pairs for name in (pair.a, pair.b))


def open_gaps(state: SessionState) -> tuple[Gap, ...]:
    """Return the open gaps of the latest round that looked for them, without those that a page of the session answers."""
    answered = {question for part in state.parts.values() for question in part.answered}
    gaps: tuple[Gap, ...] = next((a.gaps for a in reversed(state.analyses) if a.gaps is not None), ())
    return tuple(gap for gap in gaps if gap.question not in answered)


def unused_facts(state: SessionState) -> tuple[Fact, ...]:
    """Return the quotes that a model found and its report does not cite, in the order of ``all_facts``."""
    if state.report is None or state.report.outcome == "passages" or not state.config.has_model:
        return ()
    cited = {name for reference in state.report.references for name in reference.facts}
    return tuple(fact for fact in all_facts(state) if fact.id not in cited)


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's query, parsed in its own language if the sources are in it, else in theirs."""
    return parse_in(state.query, state.survey.languages if state.survey else ())


def survey_statistics(state: SessionState) -> TermStatistics:
    """Return the term statistics of the searched index, or else of the survey's hits: the same at any time of the gathering."""
    if state.survey and state.survey.statistics.passages:
        return state.survey.statistics
    hits = state.survey.hits if state.survey else ()
    language = query_of(state).language
    return statistics_of([StemmedText.of(hit.snippet, f"{hit.title} {hit.heading}", language) for hit in hits], language)


def sheet_of(state: SessionState, fact: Fact) -> int:
    """Return the page of the PDF on which a fact's quote begins, from 1; 0 if its source is no PDF or its place is unknown."""
    page = state.pages.get(fact.url)
    return bisect_right(page.sheets, fact.start) if page and page.digest == fact.digest and fact.start >= 0 else 0


def news_of(state: SessionState) -> tuple[str, ...]:
    """Return the new facts since the report before that are worth naming, by id, those that the report cites first.

    Those that it does not cite count only if their source was read for the report before too: else the source is new to the
    question, not its text.
    """
    if state.changes is None:
        return ()
    cited = {name for reference in state.report.references for name in reference.facts} if state.report else set()
    before = {source.url for source in state.earlier.sources} if state.earlier else None
    found = [name for name in state.changes.added if name in state.facts]
    further = [name for name in found if name not in cited and (before is None or state.facts[name].url in before)]
    return (*(name for name in found if name in cited), *further)


def shown_sources(state: SessionState) -> frozenset[str]:
    """Return the sources that a session's result leads to: cited, new, or in a disagreement.

    While there is no result, and after a failure, these are all sources with facts; of a question not found there are none.
    """
    if state.report:
        shown = {reference.url for reference in state.report.references}
        pairs = (*state.report.contradictions, *contradictions(state))
    else:
        shown = {fact.url for fact in state.facts.values()} if state.status != "not-found" else set()
        pairs = contradictions(state)
    named = {name for pair in pairs for name in (pair.a, pair.b)}
    if state.changes:
        named.update(state.changes.added, (change.after for change in state.changes.changed))
    return frozenset(shown | {state.facts[name].url for name in named if name in state.facts})
