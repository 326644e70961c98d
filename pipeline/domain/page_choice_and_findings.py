"""What a session found, computed from its state: the pages chosen and observed, the facts, their cross-check, the open gaps.

Facts are listed in the order of the plan, never in the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import chain
from urllib.parse import unquote

from pipeline.domain.events.session_events import PageRead
from pipeline.domain.research_values import Contradiction, Fact, Gap, Hit, ResearchConfig
from pipeline.domain.session_state import Iteration, SessionState, Worker, search_nodes, workers_in_order
from pipeline.text.addresses import host_of
from pipeline.text.cleaning import same_question
from pipeline.text.questions import ParsedQuestion, parse_in
from pipeline.text.ranking import StemmedText, TermStatistics, page_origin, rank_score, statistics_of, with_shares

_FOUND_SHARE = 3  # beside recalled pages, of the pages of an iteration one in so many is read
_FIRST, _OF_ONE_SITE = 5, 2
_SURVEYED = 30  # hits of the survey that count where pages are chosen; a plan is shown more
# Of what was searched for in the user's words: the survey, and an open question beside a model's own searches. In 12 sessions the
# page with the answer then came first, and the pages of the model's searches were read.
_USER_WEIGHT = 0.5


def without_fragment(url: str) -> str:
    """Return the address of the page that a hit is in."""
    return url.partition("#")[0]


def independent_source(url: str) -> str:
    """Return the unit of independence of a source: the host of a web page (without ``www.``), or a folder's document."""
    return host_of(url).removeprefix("www.") or without_fragment(url)


def may_be_read(url: str, config: ResearchConfig) -> bool:
    """Return whether the user allows a page: by its host or one above it, or by its folder or name among the documents."""
    host = host_of(url)
    quoted = without_fragment(url).partition(":")[2]
    paths = {quoted, unquote(quoted)}  # a name may be written either way

    def is_one_of(entries: Iterable[str]) -> bool:
        if host:
            return any(f".{host}".endswith(f".{entry.lower().removeprefix('www.')}") for entry in entries if "/" not in entry)
        folders = [entry.removeprefix("./").strip("/") for entry in entries if "/" in entry]
        return any(f"{path}/".startswith(f"{folder}/") for folder in folders for path in paths)

    allowed = [entry for entry in config.allow if ("/" in entry) != bool(host)]
    return not is_one_of(config.deny) and (not allowed or is_one_of(allowed))


def wave_of(state: SessionState, worker_id: str) -> tuple[str, ...]:
    """Return the ids of the workers that gather together with a worker, in plan order: at most ``max_workers`` of its round."""
    gap = state.nodes[worker_id].depends_on if worker_id in state.nodes else None
    beside = [node.id for node in search_nodes(state) if node.depends_on == gap] or [worker_id]
    most = max(1, state.config.max_workers)
    first = beside.index(worker_id) // most * most
    return tuple(beside[first : first + most])


def chosen_pages(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the pages that a worker reads in an iteration (1-based), best first.

    The hits of the iteration's searches are merged by reciprocal rank fusion (Cormack, Clarke, Büttcher 2009, k = 60), in which
    every hit counts, so the page with most hits comes first, behind those that the plan names. With ``reads_survey``, the first
    worker's first iteration also uses the survey's hits, at half their weight. If own documents and the web were both searched,
    each gets its share; of the first five web pages at most two are of one site. Recalled pages are one more ranking, beside
    which fewer others are read. A page that the worker observed in the iteration stays chosen, also if a search that had failed
    is answered later.
    No page is chosen by two workers of a wave in one iteration: they choose in turn, in plan order. One that was shown whole is
    not chosen again; one that was shown in parts, or not at all for lack of room, may be. So the result depends on the plan, the
    searches of the wave, the survey, memory, and the readings of earlier iterations alone, for which every worker waits.
    """
    wave = [state.workers[name] for name in wave_of(state, worker.id) if name in state.workers] or [worker]
    taken: set[str] = set()
    left_out: dict[str, tuple[str, ...]] = {}
    if worker.round:
        before = [other for other in state.workers.values() if other.round < worker.round]
        observed = {url: seen for other in before for step in other.iterations for url, seen in step.observed.items()}
        taken = {url for url, seen in observed.items() if seen.whole}
    for number in range(1, iteration + 1):
        beside = [one for one in wave if number <= len(one.iterations)]
        wanted = [_wanted(state, one, number, taken, left_out.get(one.id, ())) for one in beside]
        limits = [_most_pages(state, one, number) for one in beside]
        for other, urls, most in zip(beside, _dealt(wanted, limits), limits, strict=True):
            observed = other.iterations[number - 1].observed  # what was observed stays chosen, and counts among the most
            others = [url for url in urls if url not in observed][: max(0, most - len(observed))]
            chosen = tuple(dict.fromkeys([*(url for url in urls if url in observed or url in others), *observed]))
            if other.id == worker.id and number == iteration:
                return chosen
            left_out[other.id] = tuple(url for url in chosen if url in state.pages and url not in observed)
            taken.update(url for url in chosen if url not in left_out[other.id] and (url not in observed or observed[url].whole))
    return ()


def _dealt(wanted: Sequence[Sequence[str]], most: Sequence[int]) -> list[list[str]]:
    """Deal pages to the workers that want them, at most ``most`` to each: in turn, each the one that it wants most."""
    dealt: list[list[str]] = [[] for _ in wanted]
    taken: set[str] = set()
    for _ in range(max(most, default=0)):
        for urls, own, limit in zip(wanted, dealt, most, strict=True):
            if len(own) < limit and (url := next((url for url in urls if url not in taken), "")):
                own.append(url)
                taken.add(url)
    return dealt


def _wanted(state: SessionState, worker: Worker, number: int, taken: Set[str], again: tuple[str, ...]) -> list[str]:
    """Return the pages that a worker would read, best first, without those ``taken``; ``again``: those left out one before."""
    step = worker.iterations[number - 1]
    first = next((node.id for node in search_nodes(state)), "")
    uses_survey = state.survey and state.config.reads_survey and worker.id == first and number == 1
    surveyed = state.survey.hits[:_SURVEYED] if state.survey and uses_survey else ()
    view = state.perspectives.get(worker.perspective_id)
    named = view.pages if view and number == 1 else ()
    asked = view.questions if view else ()
    spread = _spread_over_sites([url for url in _fused_pages(state, step, surveyed, again, named, asked) if url not in taken])
    if not any("+" in done.provider for query in step.queries if (done := state.searches.get(query))):
        return spread  # no search covered own documents and the web together
    return list(dict.fromkeys([*with_shares(spread, _most_pages(state, worker, number), page_origin), *spread]))


def _spread_over_sites(ranked: list[str]) -> list[str]:
    """Return pages in an order in which at most two of the first five web pages are of one site; documents are not moved."""
    first: list[str] = []
    later: list[str] = []
    sites: Counter[str] = Counter()
    for url in ranked:
        site = independent_source(url)
        if page_origin(url) == "web" and len(first) < _FIRST and sites[site] >= _OF_ONE_SITE:
            later.append(url)
        else:
            sites[site] += 1
            first.append(url)
    return first[:_FIRST] + sorted((*first[_FIRST:], *later), key=ranked.index)


def _most_pages(state: SessionState, worker: Worker, iteration: int) -> int:
    """Return how many pages are read; fewer beside recalled ones, unless a question is researched again to see what is new."""
    step, most = worker.iterations[iteration - 1], state.config.pages_per_iteration
    if worker.round:
        most = state.config.gap_pages or most
    if not step.pages or state.earlier:
        return most
    return min(most, len(step.pages) - (-most // _FOUND_SHARE))


def _fused_pages(
    state: SessionState,
    step: Iteration,
    surveyed: tuple[Hit, ...],
    again: tuple[str, ...],
    named: tuple[str, ...],
    questions: tuple[str, ...],
) -> list[str]:
    scores: dict[str, float] = {}
    done = [query for query in step.queries if query in state.searches]
    searched = [state.searches[query].hits for query in done]
    own = [query for query in done if query not in questions] or done  # a model's, in the words of the pages
    # A passage that was found is a reason to read its page; without a model passages are ranked themselves.
    every_hit = state.config.has_model
    weighted: list[tuple[Sequence[str], float]] = [
        ([without_fragment(hit.url) for hit in hits], 1 if query in own else _USER_WEIGHT)
        for query, hits in zip(done, searched, strict=True)
    ]
    if state.recent:  # the newest page first, as one more ranking
        dated = {without_fragment(hit.url): hit.published for hits in searched for hit in hits if hit.published}
        weighted.append((sorted(dated, key=dated.__getitem__, reverse=True), 1))
    survey = [without_fragment(hit.url) for hit in surveyed]
    weighted += [(step.pages, 1), (again, 1), (survey, _USER_WEIGHT if every_hit else 1)]  # it would drown the searches
    for hits, weight in weighted:
        for rank, url in enumerate(hits if every_hit else dict.fromkeys(hits), start=1):
            scores[url] = scores.get(url, 0.0) + weight * rank_score(rank)
    ordered = sorted(scores, key=lambda url: (-round(scores[url], 9), url))
    if every_hit:  # what the model named and searched for is read: behind the best page, the first hit of each search
        best = {without_fragment(hits[0].url): None for query, hits in zip(done, searched, strict=True) if hits and query in own}
        ordered = list(dict.fromkeys([*named, *ordered[:1], *(url for url in ordered if url in best), *ordered]))
    return ordered


def shown_pages(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the pages of an iteration (1-based): those chosen, without what a model had no room for."""
    observed = worker.iterations[iteration - 1].observed
    chosen = chosen_pages(state, worker, iteration)
    return tuple(url for url in chosen if not state.config.has_model or url in observed or url not in state.pages)


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
    """Return the open gaps of the latest round that looked for them, without what a page answers and the question itself."""
    answered = {question for part in state.parts.values() for question in part.answered}
    gaps: tuple[Gap, ...] = next((a.gaps for a in reversed(state.analyses) if a.gaps is not None), ())
    return tuple(gap for gap in gaps if gap.question not in answered and not same_question(gap.question, state.query))


def unused_facts(state: SessionState) -> tuple[Fact, ...]:
    """Return the quotes that a model found and its report does not cite, in the order of ``all_facts``."""
    if state.report is None or state.report.outcome == "passages" or not state.config.has_model:
        return ()
    cited = {name for reference in state.report.references for name in reference.facts}
    return tuple(fact for fact in all_facts(state) if fact.id not in cited)


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's query, parsed in its own language if the sources are in it or the web has some, else in theirs."""
    survey = state.survey
    is_own = survey is not None and all(page_origin(hit.url) == "own" for hit in survey.hits)
    return parse_in(state.query, survey.languages if survey and is_own else ())


def survey_statistics(state: SessionState) -> TermStatistics:
    """Return the term statistics of the searched index, or else of the survey's hits: the same at any time of the gathering."""
    if state.survey and state.survey.statistics.passages:
        return state.survey.statistics
    hits = state.survey.hits if state.survey else ()
    language = query_of(state).language
    return statistics_of([StemmedText.of(hit.snippet, f"{hit.title} {hit.heading}", language) for hit in hits], language)


def sheet_of(page: PageRead, fact: Fact) -> int:
    """Return the page of a PDF on which a fact's quote begins, from 1; 0 if it is no PDF, or the place is unknown."""
    return bisect_right(page.sheets, fact.start) if page.digest == fact.digest and fact.start >= 0 else 0


def news_of(state: SessionState) -> tuple[str, ...]:
    """Return the ids of the new facts that the report cites."""
    cited = {name for reference in state.report.references for name in reference.facts} if state.report else set()
    return tuple(name for name in (state.changes.added if state.changes else ()) if name in cited and name in state.facts)


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
