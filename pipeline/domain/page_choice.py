"""Which pages are read: those that the user allows, and of them the ones that each worker of a wave chooses, in plan order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from urllib.parse import unquote

from pipeline.domain.state import Iteration, SessionState, Worker, search_nodes
from pipeline.domain.values import Hit, ResearchConfig
from pipeline.text.addresses import host_of
from pipeline.text.ranking import page_origin, rank_score, with_shares

_FOUND_SHARE = 3  # beside recalled pages, of the pages of an iteration one in so many is read
_FIRST, _OF_ONE_SITE = 5, 2
_SURVEY_WEIGHT = 0.5  # in 12 sessions the page with the answer then came first, and the pages of the model's searches were read


def page_of(url: str) -> str:
    """Return a hit's page address: the url without its fragment."""
    return url.partition("#")[0]


def independent_source(url: str) -> str:
    """Return the unit of independence of a source: the host of a web page (without ``www.``), or a folder's document."""
    return host_of(url).removeprefix("www.") or page_of(url)


def may_be_read(url: str, config: ResearchConfig) -> bool:
    """Return whether the user allows a page: by its host or one above it, or by its folder or name among the documents."""
    host = host_of(url)
    path = unquote(page_of(url).partition(":")[2])

    def is_one_of(entries: Iterable[str]) -> bool:
        if host:
            return any(f".{host}".endswith(f".{entry.lower().removeprefix('www.')}") for entry in entries if "/" not in entry)
        return any(path == entry.strip("/") or path.startswith(f"{entry.strip('/')}/") for entry in entries if "/" in entry)

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
    every hit counts, so the page with most hits comes first. With ``reads_survey``, the first worker's first iteration also uses
    the survey's hits, at half their weight. If own documents and the web were both searched, each gets its share; of the first
    five web pages at most two are of one site. Recalled pages are one more ranking, beside which fewer others are read. A page
    that the worker observed in the iteration stays chosen, also if a search that had failed is answered later.
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
    surveyed = state.survey.hits if state.survey and uses_survey else ()
    spread = _spread_over_sites([url for url in _fused_pages(state, step, surveyed, again) if url not in taken])
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


def _fused_pages(state: SessionState, step: Iteration, surveyed: tuple[Hit, ...], again: tuple[str, ...]) -> list[str]:
    scores: dict[str, float] = {}
    searched = [state.searches[query].hits for query in step.queries if query in state.searches]
    # A passage that was found is a reason to read its page; without a model passages are ranked themselves.
    every_hit = state.config.has_model
    rankings = [[page_of(hit.url) for hit in hits] for hits in searched]
    if state.recent:  # the newest page first, as one more ranking
        dated = {page_of(hit.url): hit.published for hits in searched for hit in hits if hit.published}
        rankings.append(sorted(dated, key=dated.__getitem__, reverse=True))
    survey = [page_of(hit.url) for hit in surveyed]
    for hits in (*rankings, step.pages, again, survey):
        weight = _SURVEY_WEIGHT if every_hit and hits is survey else 1  # its many hits would drown those of the searches
        for rank, url in enumerate(hits if every_hit else dict.fromkeys(hits), start=1):
            scores[url] = scores.get(url, 0.0) + weight * rank_score(rank)
    ordered = sorted(scores, key=lambda url: (-round(scores[url], 9), url))
    if every_hit and scores:  # what the model searched for is read: behind the best page, the first hit of each search
        best = {page_of(hits[0].url): None for hits in searched if hits}
        ordered = list(dict.fromkeys([ordered[0], *(url for url in ordered if url in best), *ordered]))
    return ordered


def shown_pages(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the pages of an iteration (1-based): those chosen, without what a model had no room for."""
    observed = worker.iterations[iteration - 1].observed
    chosen = chosen_pages(state, worker, iteration)
    return tuple(url for url in chosen if not state.config.has_model or url in observed or url not in state.pages)
