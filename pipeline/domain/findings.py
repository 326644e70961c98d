"""What a session found, computed from its state: the pages chosen and observed, the facts, their cross-check, the open gaps.

Facts are listed in the order of the plan, never in the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import urlsplit

from pipeline.domain.state import Iteration, PageObserved, SessionState, Worker, search_nodes, workers_in_order
from pipeline.domain.values import EXTRACTIVE, Contradiction, Fact, Gap, Hit, ValidatedFact
from pipeline.text.ranking.rank_fusion import page_origin, rank_score, with_shares

# Beside recalled pages, of the pages of an iteration one in so many is read: found by its searches, or without any.
_FOUND_SHARE, _NEW_SHARE = 3, 6


def origin_of(url: str) -> str:
    """Return the unit of independence of a source: the host of a web page (without ``www.``), or a folder's document."""
    host = urlsplit(url).hostname if url.startswith(("http://", "https://")) else None
    return host.removeprefix("www.") if host else url.partition("#")[0]


def page_of(url: str) -> str:
    """Return a hit's page address: the url without its fragment."""
    return url.partition("#")[0]


def chosen_pages(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the pages that a worker reads in an iteration (1-based), best first.

    The hits of the iteration's searches are merged by reciprocal rank fusion (Cormack, Clarke, Büttcher 2009, k = 60). With
    ``reads_survey``, the first worker's first iteration also uses the survey's hits. Pages from the worker's earlier iterations
    are left out. If own documents and the web were both searched, each gets its share. With ``reads_first_hits``, the best
    page of each query is read: fusing prefers pages that all queries touch a little. Recalled pages are one more ranking, and
    pages of a host that keeps failing come last; where recalled pages stand for a search, they come first; and fewer others are
    read beside them. A document that recent sessions on a subject like this one read and did not cite is left out if there is
    any other. A page that the worker observed in the iteration stays chosen, also if a search that had failed is answered later.
    The result depends only on the worker's own history, on the survey and on what was recalled.
    """
    return next(reversed([*islice(_chosen_by_iteration(state, worker), iteration)]), ())


def _chosen_by_iteration(state: SessionState, worker: Worker) -> Iterator[tuple[str, ...]]:
    """Yield the pages that a worker reads in each of its iterations, from the first; see ``chosen_pages``."""
    earlier: set[str] = set()
    for number, step in enumerate(worker.iterations):
        surveyed = _survey_hits(state, worker) if number == 0 else ()
        ranked = [url for url in _fused_pages(state, step, surveyed) if url not in earlier]
        most = _most_pages(state, step)
        chosen = with_shares(ranked, most, page_origin) if _searched_both(state, step.queries) else tuple(ranked[:most])
        if state.config.reads_first_hits:
            chosen = _with_pages(_best_pages(state, step.queries), chosen, ranked, most)
        if not step.observed.keys() <= set(chosen):
            chosen = _with_pages(step.observed.keys(), chosen, ranked, most)
        yield chosen
        earlier.update(chosen)


def _best_pages(state: SessionState, queries: tuple[str, ...]) -> set[str]:
    """Return of each query the page with at least half of its hits, of which a folder may give several, or that of the first."""
    best = set()
    for hits in (state.searches[query].hits for query in queries if query in state.searches):
        pages = [page_of(hit.url) for hit in hits]
        for page, count in Counter(pages).most_common(1):
            best.add(page if count > 1 and 2 * count >= len(pages) else pages[0])
    return best


def _with_pages(wanted: Set[str], chosen: tuple[str, ...], ranked: list[str], most: int) -> tuple[str, ...]:
    """Return the wanted pages and the chosen ones, best first; of the others only as many as there is room for."""
    known = [url for url in ranked if url in wanted]
    others = [url for url in chosen if url not in wanted][: max(0, most - len(known))]
    return tuple(url for url in ranked if url in {*known, *others})


def _searched_both(state: SessionState, queries: tuple[str, ...]) -> bool:
    """Return whether one search covered own documents and the web; older logs have no such search and no shares."""
    return any("+" in done.provider for query in queries if (done := state.searches.get(query)))


def _survey_hits(state: SessionState, worker: Worker) -> tuple[Hit, ...]:
    first = next((node.id for node in search_nodes(state)), "")
    return state.survey.hits if state.survey and state.config.reads_survey and worker.id == first else ()


def _most_pages(state: SessionState, step: Iteration) -> int:
    """Return how many pages are read; fewer beside recalled ones, unless a question is researched again to see what is new."""
    most = state.config.pages_per_iteration
    if not step.pages or state.earlier:
        return most
    return min(most, len(step.pages) - (-most // (_FOUND_SHARE if step.queries else _NEW_SHARE)))


def _fused_pages(state: SessionState, step: Iteration, surveyed: tuple[Hit, ...]) -> list[str]:
    scores: dict[str, float] = {}
    searched = [state.searches[query].hits for query in step.queries if query in state.searches]
    for ranked in (*([page_of(hit.url) for hit in hits] for hits in (*searched, surveyed)), step.pages):
        for rank, url in enumerate(dict.fromkeys(ranked), start=1):
            scores[url] = scores.get(url, 0.0) + rank_score(rank)
    failing = {record.origin for record in state.recalled.origins if record.failing} if state.recalled else set()
    known = () if step.queries else step.pages  # what is read because it answered before comes before what is new
    ordered = sorted(
        scores, key=lambda url: (url not in known, bool(failing) and origin_of(url) in failing, -round(scores[url], 9), url)
    )
    unhelpful = frozenset(state.recalled.unhelpful) if state.recalled and not state.earlier else frozenset()
    return [url for url in ordered if url in step.pages or origin_of(url) not in unhelpful] or ordered


def observed_pages(state: SessionState, worker: Worker, iteration: int) -> dict[str, PageObserved]:
    """Return what was observed in the pages that a worker chose in an iteration (1-based), by address, best first.

    An observation counts for every worker that chose the page; in older logs each worker has its own.
    """
    return _observed(state, worker.iterations[iteration - 1], chosen_pages(state, worker, iteration))


class IterationPages(NamedTuple):
    """The pages of one iteration of a worker: as ``chosen_pages`` and ``observed_pages`` return them."""

    chosen: tuple[str, ...]
    observed: dict[str, PageObserved]


def pages_by_iteration(state: SessionState, worker: Worker) -> tuple[IterationPages, ...]:
    """Return the pages of each of a worker's iterations."""
    steps = zip(worker.iterations, _chosen_by_iteration(state, worker), strict=True)
    return tuple(IterationPages(chosen, _observed(state, step, chosen)) for step, chosen in steps)


def _observed(state: SessionState, step: Iteration, chosen: Iterable[str]) -> dict[str, PageObserved]:
    pages = ((url, step.observed.get(url) or state.observed.get(url)) for url in chosen)
    return {url: seen for url, seen in pages if seen}


def facts_of(state: SessionState, worker: Worker) -> tuple[Fact, ...]:
    """Return the facts of a worker's pages, each once, by iteration and then in the order of its chosen pages."""
    return facts_on(pages_by_iteration(state, worker))


def facts_on(iterations: Iterable[IterationPages]) -> tuple[Fact, ...]:
    """Return the facts of the pages of these iterations, each once."""
    pages = (seen for pages in iterations for seen in pages.observed.values())
    return _each_once(fact for seen in pages for fact in seen.facts)


def all_pages(state: SessionState) -> dict[str, tuple[IterationPages, ...]]:
    """Return the pages of each worker's iterations, by worker id in plan order."""
    return {worker.id: pages_by_iteration(state, worker) for worker in workers_in_order(state)}


def all_facts(state: SessionState, pages: Mapping[str, tuple[IterationPages, ...]] | None = None) -> tuple[Fact, ...]:
    """Return the session's facts, each once, by worker in plan order as in ``facts_of``, then those that answer gaps.

    Chosen passages come before them. Of a pruned session the facts that are kept are in this order already. ``pages`` are those
    of ``all_pages``, if known.
    """
    if state.pruned:
        return tuple(state.facts.values())
    workers = (all_pages(state) if pages is None else pages).values()
    found = (fact for iterations in workers for fact in facts_on(iterations))
    searches = (search for analysis in state.analyses for search in sorted(analysis.looked_up, key=lambda search: search.gap))
    chosen = (state.facts[name] for name in state.passages or ())
    return _each_once(chain(chosen, found, (fact for search in searches for fact in search.facts)))


def _each_once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact.id, fact)
    return tuple(found.values())


def standings(state: SessionState, names: Iterable[str] | None = None) -> dict[str, ValidatedFact]:
    """Return the result of cross-checking by fact id: of the facts ``names``, or of all in the order of ``all_facts``.

    A fact in a contradiction is ``disputed`` even if others confirm it; a fact that was not cross-checked is ``single``.
    """
    validated = next((a.validated for a in reversed(state.analyses) if a.validated is not None), ())
    known = {entry.fact_id: entry for entry in validated}
    disputed = {name for pair in contradictions(state) for name in (pair.a, pair.b)}
    wanted = (fact.id for fact in all_facts(state)) if names is None else names
    entries = {name: known.get(name) or ValidatedFact(fact_id=name, standing="single") for name in wanted}
    return {
        name: entry.model_copy(update={"standing": "disputed"}) if name in disputed else entry for name, entry in entries.items()
    }


def by_model(state: SessionState) -> bool:
    """Tell whether a model answers the session's questions: without one nothing is called answered or disputed."""
    return state.config.reasoner != EXTRACTIVE


def contradictions(state: SessionState) -> tuple[Contradiction, ...]:
    """Return the contradictions of the latest round that checked for them."""
    return next((a.contradictions for a in reversed(state.analyses) if a.contradictions is not None), ())


def open_gaps(state: SessionState) -> tuple[Gap, ...]:
    """Return the open gaps of the latest round that looked for them, without those that a page of the session answers."""
    return next((a.open_gaps() for a in reversed(state.analyses) if a.gaps is not None), ())


def nearest_facts(state: SessionState) -> tuple[Fact, ...]:
    """Return the facts closest to an answer of a session that found none, best first."""
    return tuple(state.facts[name] for name in state.nearest if name in state.facts)


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
    """Return the sources that a session's result leads to: cited, new, in a disagreement, or, without an answer, nearest to one.

    While there is no result, and if there will be none, these are all sources with facts.
    """
    if state.report:
        shown = {reference.url for reference in state.report.references}
        pairs = (*state.report.contradictions, *contradictions(state))
    else:
        shown = {fact.url for fact in (nearest_facts(state) if state.status == "not-found" else state.facts.values())}
        pairs = contradictions(state)
    named = {name for pair in pairs for name in (pair.a, pair.b)}
    if state.changes:
        named.update(state.changes.added, (change.after for change in state.changes.changed))
    return frozenset(shown | {state.facts[name].url for name in named if name in state.facts})
