"""The next steps of one worker: think, search, read, observe, evaluate, fold, finish."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.findings import chosen_pages, facts_of, observed_pages
from pipeline.domain.state import STOPPED, SessionState, Worker, search_nodes, workers_in_order
from pipeline.domain.steps import (
    Evaluate,
    FailWorker,
    FinishWorker,
    Fold,
    Observe,
    ObservePage,
    Read,
    SearchFor,
    StartWorker,
    Step,
    Think,
)
from pipeline.domain.values import EXTRACTIVE, PlanNode
from pipeline.text.normalise import counted, tokens


def worker_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    """Yield the start or the next steps of a node's worker; none while ``max_workers`` others run."""
    worker = state.workers.get(node.id)
    running = [other.id for other in workers_in_order(state) if other.status == "running"]
    if worker is None:
        waiting = [other.id for other in search_nodes(state) if other.id not in state.workers]
        if waiting.index(node.id) < state.config.max_workers - len(running):
            yield StartWorker(node.id)
    elif state.exhausted:
        yield FinishWorker(worker.id, f"{STOPPED}{state.exhausted} exhausted")
    elif worker.id in running[: state.config.max_workers]:  # a reopened session may have more running workers than allowed
        yield from _iteration_steps(state, worker)


def _iteration_steps(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done == 0 or worker.iterations[-1].evaluated:
        yield from _next_iteration_steps(state, worker)
    elif not (worker.iterations[-1].queries or worker.iterations[-1].pages):
        yield FinishWorker(worker.id, "nothing left to ask")
    elif searches := open_searches(state, worker):
        yield from searches
    else:
        yield from list(page_steps(state, worker, done)) or _closing_steps(state, worker, done)


def _next_iteration_steps(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done and worker.iterations[-1].sufficient:
        yield FinishWorker(worker.id, "knows enough")
    elif done >= state.config.iterations:
        yield FinishWorker(worker.id, f"{counted(done, 'iteration')}")
    elif (fold := Fold(worker.id, worker.folds + 1)) and _context_is_full(state, worker, fold):
        yield fold
    elif not _waits_for_others(state, worker, done):
        yield _step_or_fail_worker(state, worker, Think(worker.id, done + 1))


def others_of(state: SessionState, worker: Worker) -> tuple[str, ...]:
    """Return the ids of the other workers of the same round that are sure to run beside it: the first in plan order.

    Later ones start when one of these ends, which may be at any time.
    """
    gap = state.nodes[worker.id].depends_on
    beside = [node.id for node in search_nodes(state) if node.depends_on == gap]
    return tuple(name for name in beside[: state.config.max_workers] if name != worker.id)


def _waits_for_others(state: SessionState, worker: Worker, iteration: int) -> bool:
    """Return whether another worker has not yet made its searches of ``iteration``, which the next thought gets to know.

    This is no barrier: thoughts and searches come first in an iteration, so those of the others have nearly always ended when a
    worker has read its own pages. To wait for their facts of that iteration would be one; a thought gets those of the one before.
    """
    others = (state.workers.get(name) for name in others_of(state, worker))
    return iteration > 0 and any(other is None or _is_before_searches(state, other, iteration) for other in others)


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
    """Yield the open reads and observations of the pages chosen in this iteration; a failed page is skipped."""
    observed = worker.iterations[iteration - 1].observed
    for url in chosen_pages(state, worker, iteration):
        step = _page_step(state, worker, iteration, url)
        if step and url not in observed and not state.failed_for_good(step.key):
            yield step


def _page_step(state: SessionState, worker: Worker, iteration: int, url: str) -> Step | None:
    """Return the next step of a page that the worker chose, or None if it was observed in full for all workers."""
    if url not in state.pages:
        return Read(url)
    if not state.config.shares_pages:
        return Observe(worker.id, iteration, url)
    seen = state.observed.get(url)
    if seen is None:
        return ObservePage(1, url)
    return None if seen.is_done else ObservePage(2, url)


def _closing_steps(state: SessionState, worker: Worker, iteration: int) -> list[Step]:
    """Return the end of an iteration; an evaluation that thinks ahead gets to know the searches of others, as a thought does."""
    step = _closing_step(state, worker, iteration)
    waits = isinstance(step, Evaluate) and thinks_ahead(state) and _waits_for_others(state, worker, iteration)
    return [] if waits else [step]


def _closing_step(state: SessionState, worker: Worker, iteration: int) -> Step:
    """Return the evaluation of an iteration, or the failure of the worker if all its searches or all its pages failed."""
    asked: list[Step] = [SearchFor(query) for query in worker.iterations[-1].queries]
    pages = chosen_pages(state, worker, iteration)
    tried = [_page_step(state, worker, iteration, url) or ObservePage(1, url) for url in pages]
    for steps in (asked, tried):
        if steps and all(state.failed_for_good(step.key) for step in steps) and not facts_of(state, worker):
            return FailWorker(worker.id, steps[0].key)
    if state.config.reasoner == EXTRACTIVE or (thinks_ahead(state) and iteration >= state.config.iterations):
        return FinishWorker(worker.id, counted(iteration, "iteration"))
    return _step_or_fail_worker(state, worker, Evaluate(worker.id, iteration))


def thinks_ahead(state: SessionState) -> bool:
    """Return whether an evaluation also says what to search for next: with a model, which is paid for each prompt.

    Then the last iteration is not evaluated, because nothing follows; what is open is a question of the analysis.
    """
    return state.config.shares_pages


def _step_or_fail_worker(state: SessionState, worker: Worker, step: Step) -> Step:
    return FailWorker(worker.id, step.key) if state.failed_for_good(step.key) else step


def context_tokens(state: SessionState, worker: Worker) -> int:
    """Return the estimated tokens of a worker's context: its summary, and its thoughts and quotes since the last fold."""
    since = worker.iterations[worker.folded :]
    thoughts = sum(tokens(step.reasoning) + sum(map(tokens, step.queries)) for step in since)
    numbers = range(worker.folded + 1, len(worker.iterations) + 1)
    pages = (page for number in numbers for page in observed_pages(state, worker, number).values())
    return tokens(worker.summary) + thoughts + sum(tokens(fact.quote) for page in pages for fact in page.facts)


def _context_is_full(state: SessionState, worker: Worker, fold: Fold) -> bool:
    if worker.folded == len(worker.iterations) or state.failed_for_good(fold.key):
        return False
    return context_tokens(state, worker) > state.config.fold_at * state.config.context_tokens
