"""The next steps of a session without a model: one worker searches and reads, then the nearest passages are chosen."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.endings import no_evidence, step_or_fail
from pipeline.domain.agenda.worker_agenda import open_searches, page_steps
from pipeline.domain.findings import may_be_read
from pipeline.domain.state import STOPPED, SessionState, Worker, search_nodes, workers_in_order
from pipeline.domain.steps import ChoosePassages, Compare, Complete, FinishWorker, MakeReport, Read, StartWorker, Step
from pipeline.text.normalise import counted


def passages_steps(state: SessionState) -> Iterator[Step]:
    """Yield the steps of the worker; when it has ended, the choice of the passages, then the report.

    A session that an earlier version left open goes on from the pages that it has read; it starts no second worker.
    """
    if state.passages is None:
        steps = dict.fromkeys([*_worker_steps(state), *reread_steps(state)])
        yield from steps or [step_or_fail(state, ChoosePassages()) if state.pages else no_evidence(state)]
    elif not state.passages:
        yield no_evidence(state)
    else:
        yield from report_of_passages(state)


def _worker_steps(state: SessionState) -> list[Step]:
    if not state.workers and not state.exhausted:
        return [StartWorker(next(search_nodes(state)).id)]
    running = [worker for worker in workers_in_order(state) if worker.status == "running"]
    return [step for worker in running for step in _gathering(state, worker)]


def _gathering(state: SessionState, worker: Worker) -> list[Step]:
    if state.exhausted:
        return [FinishWorker(worker.id, f"{STOPPED}{state.exhausted} exhausted")]
    done = len(worker.iterations)
    searches = open_searches(state, worker) if done else []
    reads: list[Step] = [step for step in page_steps(state, worker, done) if isinstance(step, Read)] if done else []
    return searches or reads or [FinishWorker(worker.id, counted(done, "iteration"))]


def report_of_passages(state: SessionState) -> list[Step]:
    """Return the next step after the passages were chosen: the comparison with the earlier session, the report, the end."""
    if state.earlier is not None and state.changes is None and not state.failed_for_good(Compare().key):
        return [Compare()]
    return [Complete() if state.report else MakeReport()]


def reread_steps(state: SessionState) -> Iterator[Step]:
    """Yield the reads of the earlier report's sources that are still due, to compare their texts."""
    for url in state.earlier.cited if state.earlier and not state.exhausted else ():
        if url not in state.pages and may_be_read(url, state.config) and not state.failed_for_good(Read(url).key):
            yield Read(url)
