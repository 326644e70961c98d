"""What one session leaves behind, computed from its state alone. Pure: the same state always gives the same value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from pipeline.domain.events.memory_events import SessionConsolidated
from pipeline.domain.findings import all_facts, open_gaps, origin_of, page_of, standings
from pipeline.domain.memory.values import Episode, Met, Procedure, Solution, Statement, Superseded, Yield
from pipeline.domain.state import Failure, SearchDone, SessionState, asked_queries, cost_of, workers_in_order, working_seconds
from pipeline.domain.steps import Read
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.text.normalise import one_line
from pipeline.text.ranking.query_terms import content_stems

MOST_STATEMENTS = 400  # of one session, best standing first; a report cites some dozens
LONGEST_TITLE = 120  # characters of a title or heading that are kept with a statement
_ADDRESS = re.compile(r"\b[a-z]+:[^\s'\")>]+|/[\w./-]{3,}", re.IGNORECASE)
_DETAIL = re.compile(r"\b(?:[0-9a-f]{8,}|\d[\d.,:]*)\b", re.IGNORECASE)
_SEARCHING, _READING = ("Survey", "SearchFor"), ("Read", "Observe", "ObservePage")


def consolidated(state: SessionState, head: str = "") -> SessionConsolidated:
    """Return what an ended session leaves behind; ``head`` is the SHA-256 of its last event's JSON."""
    return SessionConsolidated(
        session=state.id,
        up_to=state.version,
        head=head,
        query=state.query,
        query_id=state.query_id,
        tags=state.tags,
        outcome=state.status,
        episode=_episode(state),
        statements=_statements(state),
        superseded=_superseded(state),
        yields=_yields(state),
        procedures=_procedures(state),
        solutions=_solutions(state),
    )


def _episode(state: SessionState) -> Episode:
    summary = state.report.summary if state.report else ()
    cited = dict.fromkeys(name for sentence in summary for name in sentence.facts)
    return Episode(
        question=state.query,
        at=state.ended_at,
        outcome=state.status,
        answer=" ".join(sentence.text for sentence in summary) if state.report else state.end_reason,
        title=state.report.title if state.report else "",
        facts=tuple(cited),
        open=_open_questions(state),
        cost=cost_of(state),
        seconds=working_seconds(state),
    )


def _open_questions(state: SessionState) -> tuple[str, ...]:
    if state.status == "not-found":
        return (state.query,)
    gaps = state.report.unknowns if state.report else open_gaps(state)
    return tuple(dict.fromkeys(gap.question for gap in gaps))


def _cited(state: SessionState) -> set[str]:
    return {name for reference in state.report.references for name in reference.facts} if state.report else set()


def _statements(state: SessionState) -> tuple[Statement, ...]:
    cited, known = _cited(state), standings(state)
    found = [fact for fact in all_facts(state) if fact.id in cited or known[fact.id].standing != "single"]
    found.sort(key=lambda fact: fact.id not in cited)
    return tuple(_statement(state, fact, known[fact.id].standing, fact.id in cited) for fact in found[:MOST_STATEMENTS])


def _statement(state: SessionState, fact: Fact, standing: str, cited: bool) -> Statement:
    page = state.pages.get(fact.url)
    values = {"published": page.published, "observed": page.at} if page else {}
    core = {"fact": fact.id, "claim": fact.claim, "quote": fact.quote, "url": fact.url, "digest": fact.digest}
    title = fact.path[0] if fact.path else ""
    place = {"title": one_line(title, LONGEST_TITLE), "heading": one_line(fact.heading, LONGEST_TITLE)}
    return Statement.model_validate({**core, **values, **place, "standing": standing, "cited": cited})


def _superseded(state: SessionState) -> tuple[Superseded, ...]:
    if state.changes is None:
        return ()
    changed = [Superseded(fact=pair.before.id, by=pair.after) for pair in state.changes.changed]
    return (*changed, *(Superseded(fact=fact.id) for fact in state.changes.gone))


def _searches(state: SessionState) -> Iterator[tuple[str, SearchDone]]:
    """Yield the searches by query in the order of the plan: the survey first, each once."""
    if state.survey:
        yield state.query, state.survey
    asked = dict.fromkeys(query for worker in workers_in_order(state) for query in asked_queries(worker))
    yield from ((query, state.searches[query]) for query in asked if query in state.searches)


def _found_by(state: SessionState) -> dict[str, str]:
    """Return for each page the provider of the first search that found it."""
    found: dict[str, str] = {}
    for _query, done in _searches(state):
        for hit in done.hits:
            found.setdefault(page_of(hit.url), done.provider)
    return found


def _yields(state: SessionState) -> tuple[Yield, ...]:
    found, failed = _found_by(state), _failed_reads(state)
    groups: dict[tuple[str, str], list[str]] = {}
    for url in sorted({*state.pages, *failed}):
        groups.setdefault((origin_of(url), found.get(url, "")), []).append(url)
    facts, cited = Counter(fact.url for fact in all_facts(state)), _cited(state)
    used = Counter(fact.url for fact in all_facts(state) if fact.id in cited)
    of_pages = [
        Yield(
            origin=origin,
            provider=provider,
            read=sum(url in state.pages for url in urls),
            failed=dict(sorted(Counter(failed[url] for url in urls if url in failed).items())),
            facts=sum(facts[url] for url in urls),
            cited=sum(used[url] for url in urls),
            seconds=round(sum(state.pages[url].seconds for url in urls if url in state.pages), 3),
        )
        for (origin, provider), urls in sorted(groups.items())
    ]
    return (*of_pages, *_search_yields(state))


def _failed_reads(state: SessionState) -> dict[str, str]:
    """Return the class of error of each page that could not be read."""
    failures = (failure for failure in state.failures.values() if failure.step.startswith("Read:") and failure.final)
    found = {failure.step.removeprefix("Read:"): failure.error for failure in failures}
    return {url: error for url, error in found.items() if url not in state.pages and Read(url).key in state.failures}


def _search_yields(state: SessionState) -> Iterator[Yield]:
    """Yield the searches of each provider; those that failed count for all that were to be asked."""
    done: dict[str, list[SearchDone]] = {}
    for _query, search in _searches(state):
        done.setdefault(search.provider, []).append(search)
    failed = Counter(one.error for one in state.failures.values() if one.final and not one.met and _kind(one) in _SEARCHING)
    asked = "+".join(state.config.search)
    for provider in sorted({*done, *([asked] if failed else [])}):
        yield Yield(
            origin="",
            provider=provider,
            failed=dict(sorted(failed.items())) if provider == asked else {},
            searches=len(done.get(provider, ())),
            hits=sum(len(search.hits) for search in done.get(provider, ())),
            seconds=round(sum(search.seconds for search in done.get(provider, ())), 3),
        )


def _procedures(state: SessionState) -> tuple[Procedure, ...]:
    facts, cited = all_facts(state), _cited(state)
    of_facts, of_cited = {fact.url for fact in facts}, {fact.url for fact in facts if fact.id in cited}
    pages = {query: {page_of(hit.url) for hit in done.hits} for query, done in _searches(state)}
    useful = tuple(query for query, found in pages.items() if found & of_cited)
    fruitless = tuple(query for query, found in pages.items() if not found & of_facts)
    if not (useful or fruitless):
        return ()
    return (Procedure(subject=tuple(sorted(content_stems(state.query))), queries=useful, fruitless=fruitless),)


def _solutions(state: SessionState) -> tuple[Solution, ...]:
    """Return each kind of error once for each way in which it was met, sorted."""
    failures = sorted(chain(state.past_failures, state.failures.values()), key=lambda one: (one.step, one.at, one.final))
    found = (_solution(state, failure, past=any(failure is one for one in state.past_failures)) for failure in failures)
    return tuple(sorted({value.model_dump_json(): value for value in found}.values(), key=lambda one: one.model_dump_json()))


def _solution(state: SessionState, failure: Failure, *, past: bool) -> Solution:
    met, worked = _met(state, failure, past=past)
    return Solution(
        error=failure.error,
        step=_kind(failure),
        where=_where(state, failure),
        message=plain_message(failure.message),
        met=met,
        worked=worked,
    )


def _met(state: SessionState, failure: Failure, *, past: bool) -> tuple[Met, bool]:
    if past:
        return "reopening", failure.met
    if failure.met:
        return "retry", True
    if failure.step in state.without_model:
        return "fallback", True
    if _kind(failure) in _READING and failure.final:
        return ("other page", True) if state.facts else ("nothing", False)
    return "nothing", False


def _where(state: SessionState, failure: Failure) -> str:
    kind, _, rest = failure.step.partition(":")
    if kind == "Read":
        return origin_of(rest)
    if kind in _SEARCHING:
        return "+".join(state.config.search)
    return "" if state.config.reasoner == EXTRACTIVE else state.config.reasoner


def _kind(failure: Failure) -> str:
    return failure.step.partition(":")[0]


def plain_message(message: str) -> str:
    """Return an error's message without addresses, paths and numbers, so that the same trouble reads the same on every night."""
    return one_line(_DETAIL.sub("#", _ADDRESS.sub("…", one_line(message, 1_000))), 200)
