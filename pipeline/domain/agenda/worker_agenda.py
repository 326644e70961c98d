"""The next steps of one worker: search, read, find facts, go on, finish."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from pipeline.domain.agenda.endings import with_substitute
from pipeline.domain.findings import chosen_pages, facts_of, wave_of
from pipeline.domain.state import STOPPED, SessionState, Worker, search_nodes
from pipeline.domain.steps import (
    FailWorker,
    FinishWorker,
    NextRound,
    PlainReading,
    Read,
    ReadPages,
    SearchFor,
    StartWorker,
    Step,
)
from pipeline.domain.values import PlanNode
from pipeline.text.normalise import counted


def worker_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    """Yield the start or the next steps of a node's worker. Workers beyond ``max_workers`` start when those before have ended."""
    worker = state.workers.get(node.id)
    if worker and state.exhausted:
        yield FinishWorker(worker.id, f"{STOPPED}{state.exhausted} exhausted")
        return
    first = wave_of(state, node.id)[0]
    before = [state.workers.get(other.id) for other in takewhile(lambda other: other.id != first, search_nodes(state))]
    if all(other and other.status != "running" for other in before):
        yield from _iteration_steps(state, worker) if worker else [StartWorker(node.id)]


def _iteration_steps(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done == 0 or worker.iterations[-1].evaluated:
        yield _next_iteration_step(state, worker)
    elif searches := open_searches(state, worker):
        yield from searches
    elif not _waits_for_others(state, worker, done):
        yield from list(page_steps(state, worker, done)) or [_reading_step(state, worker, done)]


def _next_iteration_step(state: SessionState, worker: Worker) -> Step:
    done = len(worker.iterations)
    most = 1 if worker.round else state.config.iterations  # gaps are searched for once more
    if done and worker.iterations[-1].sufficient:
        return FinishWorker(worker.id, "nothing left to ask")
    return FinishWorker(worker.id, counted(done, "iteration")) if done >= most else NextRound(worker.id, done + 1)


def _waits_for_others(state: SessionState, worker: Worker, iteration: int) -> bool:
    """Return whether another worker of the wave has still to search in this iteration: no page is read by two workers.

    Who reads which page depends on the plan's order alone, so it must be known what each has found.
    """
    wave = wave_of(state, worker.id)
    beside = (state.workers.get(name) for name in wave if name != worker.id)
    return any(other is None or _is_before_searches(state, other, iteration) for other in beside)


def _is_before_searches(state: SessionState, worker: Worker, iteration: int) -> bool:
    """Return whether a worker will still make searches of an iteration (1-based), or finish an earlier one."""
    if worker.status != "running" or len(worker.iterations) > iteration:
        return False
    return len(worker.iterations) < iteration or bool(open_searches(state, worker))


def open_searches(state: SessionState, worker: Worker) -> list[Step]:
    """Return the searches of a worker's latest iteration that are still to be made; only then are its pages chosen for good.

    None of an iteration that was evaluated: a search that had failed for good and may be tried again, in a session that was
    cancelled and reopened, comes too late for it. Workers that waited for it would wait for each other for ever.
    """
    if worker.iterations[-1].evaluated:
        return []
    steps = (SearchFor(query) for query in worker.iterations[-1].queries if query not in state.searches)
    return [step for step in steps if not state.failed_for_good(step.key)]


def page_steps(state: SessionState, worker: Worker, iteration: int) -> Iterator[Step]:
    """Yield the open reads of the pages chosen in this iteration; a page that fails is left out."""
    for url in chosen_pages(state, worker, iteration):
        step = Read(url)
        if url not in state.pages and not state.failed_for_good(step.key):
            yield step


def pages_to_read(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the chosen pages in which facts are still to be found: those that were read, and not shown whole before."""
    step = worker.iterations[iteration - 1]
    chosen = (url for url in chosen_pages(state, worker, iteration) if url in state.pages and url not in step.observed)
    return tuple(url for url in chosen if not ((seen := state.observed.get(url)) and seen.whole))


def _reading_step(state: SessionState, worker: Worker, iteration: int) -> Step:
    """Return the reading of an iteration's pages, or the end of the worker if there are none."""
    if pages_to_read(state, worker, iteration):
        substitute = PlainReading(worker.id, iteration)
        step = with_substitute(state, ReadPages(worker.id, iteration), substitute)
        return step if isinstance(step, ReadPages | PlainReading) else FailWorker(worker.id, substitute.key)
    asked: list[Step] = [SearchFor(query) for query in worker.iterations[-1].queries]
    tried: list[Step] = [Read(url) for url in chosen_pages(state, worker, iteration) if url not in state.pages]
    for steps in (asked, tried):
        if steps and all(state.failed_for_good(step.key) for step in steps) and not facts_of(state, worker):
            return FailWorker(worker.id, steps[0].key)
    return FinishWorker(worker.id, "no page that was not read")
