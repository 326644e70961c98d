"""What a worker is told of the others before it thinks: their searches, the pages they chose and the facts found there.

It may depend only on events that are certain to be there, whichever step ended first. Certain are, without a barrier: all of the
rounds before, because a worker for a gap starts after them; and of the workers beside it (``others_of``) the searches of
iterations that the agenda waits for, and the pages observed in iterations before those, which had ended then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.domain.agenda.worker_agenda import others_of
from pipeline.domain.findings import chosen_pages, observed_pages, page_of
from pipeline.domain.reasoner_questions import OthersWork
from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.steps import Read, SearchFor
from pipeline.domain.values import Fact
from pipeline.text.normalise import one_line


def others_work(state: SessionState, worker: Worker, iteration: int) -> OthersWork:
    """Return what a worker may know of the others before its thought of ``iteration`` (1-based)."""
    known = list(_known_iterations(state, worker, iteration))
    own = range(1, len(worker.iterations) + 1)
    queries = [query for other, number, _ in known for query in other.iterations[number - 1].queries]
    searched = [*queries, *(query for step in worker.iterations for query in step.queries)]
    titles = _titles(state, searched)
    chosen = [url for other, number, _ in known for url in chosen_pages(state, other, number)]
    ended = [url for other, number, done in known if done for url in chosen_pages(state, other, number)]
    tried = [*ended, *(url for number in own for url in chosen_pages(state, worker, number))]
    return OthersWork(
        queries=tuple(dict.fromkeys(queries)),
        pages=tuple(dict.fromkeys(titles.get(url, url) for url in chosen)),
        facts=tuple(_facts(state, known)),
        failed=tuple(dict.fromkeys((*_failed_searches(state, searched), *_failed_pages(state, tried, titles)))),
    )


def _known_iterations(state: SessionState, worker: Worker, iteration: int) -> Iterator[tuple[Worker, int, bool]]:
    """Yield the iterations of others that have certainly made their searches; whether they have certainly ended."""
    beside = others_of(state, worker)
    for other in workers_in_order(state):
        ended = other.round < worker.round
        last = len(other.iterations) if ended else iteration - 1 if other.id in beside else 0
        for number in range(1, min(last, len(other.iterations)) + 1):
            yield other, number, ended or number < iteration - 1


def _facts(state: SessionState, known: Iterable[tuple[Worker, int, bool]]) -> Iterator[Fact]:
    found: dict[str, Fact] = {}
    for other, number, ended in known:
        for seen in observed_pages(state, other, number).values() if ended else ():
            found |= {fact.id: fact for fact in seen.facts}
    yield from found.values()


def _titles(state: SessionState, queries: Iterable[str]) -> dict[str, str]:
    """Return the pages' titles in the hits of ``queries``, by address: a chosen page may not have been read."""
    searches = (state.searches[query] for query in queries if query in state.searches)
    return {page_of(hit.url): one_line(hit.title) for done in searches for hit in reversed(done.hits)}


def _failed_searches(state: SessionState, queries: Iterable[str]) -> Iterator[str]:
    return (f"searching for {query}" for query in queries if state.failed_for_good(SearchFor(query).key))


def _failed_pages(state: SessionState, urls: Iterable[str], titles: dict[str, str]) -> Iterator[str]:
    return (f"reading {titles.get(url, url)}" for url in urls if state.failed_for_good(Read(url).key))
