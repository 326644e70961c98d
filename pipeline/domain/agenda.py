"""What may be done now: a pure function of the session so far.

The plan's nodes are walked in plan order; a node whose dependencies have ended offers its next steps. All steps returned are
independent of each other and may run side by side. A step that failed for good is not offered again: what depends on it goes on
without it, or ends the worker or the session, as each function below says.

An empty agenda means: the session has ended, or its plan waits for approval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from pipeline.domain.evidence_gate import after_gathering, refused
from pipeline.domain.plan import validation_round
from pipeline.domain.state import (
    SUMMARY,
    Analysis,
    Failure,
    Section,
    SessionState,
    Worker,
    chosen_pages,
    facts_of,
    search_nodes,
    workers_in_order,
)
from pipeline.domain.steps import (
    AskApproval,
    CheckSection,
    Compare,
    Complete,
    Contrast,
    Evaluate,
    ExtendPlan,
    Fail,
    FailWorker,
    FindGaps,
    FinishWorker,
    Fold,
    MakeOutline,
    MakeReport,
    Observe,
    Plan,
    Read,
    ReviseSection,
    SearchFor,
    StartAnalysis,
    StartWorker,
    Step,
    Survey,
    Think,
    Validate,
    WriteSection,
)
from pipeline.domain.values import Gap, PlanNode
from pipeline.text.normalise import counted, tokens

MAX_REVISIONS = 1


def agenda(state: SessionState) -> tuple[Step, ...]:
    """Return the steps that may start now, each once, in a fixed order; empty when it has ended or waits for approval."""
    if state.ended or state.waiting or state.status == "pending":
        return ()
    if state.exhausted and not state.nodes:
        return (_no_evidence(state),)
    if state.survey is None:
        return (_or_fail(state, Survey()),)
    if not state.nodes:
        return (_or_fail(state, Plan()),)
    if state.config.approve == "plan" and not (state.approval or state.workers or state.exhausted):
        return (AskApproval(),)
    if state.synthesis:
        return tuple(_synthesis(state))
    nodes = (node for node in state.nodes.values() if _is_ready(state, node))
    steps = chain.from_iterable(_node_steps(state, node) for node in nodes)
    found = tuple(dict.fromkeys(chain(steps, _rereading(state))))
    # The end comes last: what else may be done now, closing a worker for one, could not be recorded behind it.
    return tuple(step for step in found if not isinstance(step, Fail)) or found


def _rereading(state: SessionState) -> Iterator[Step]:
    """The sources of the earlier report that are still to be read again, to see whether they say the same."""
    for url in state.earlier.cited if state.earlier and not state.exhausted else ():
        if url not in state.pages and not state.failed_for_good(Read(url).key):
            yield Read(url)


def _or_fail(state: SessionState, step: Step) -> Step:
    """A step without which there is no session: its failure ends it."""
    if not state.failed_for_good(step.key):
        return step
    failure = state.failures[step.key]
    return Fail(failure.error, f"{type(step).__name__.lower()}: {failure.message}")


# ---- the plan's nodes ------------------------------------------------------------------------------------------


def node_ended(state: SessionState, node_id: str) -> bool:
    """Tell whether what depends on this node may go on."""
    node = state.nodes[node_id]
    if node.task == "search":
        worker = state.workers.get(node_id)
        return worker.status != "running" if worker else bool(state.exhausted)
    if node.task == "validate":
        if state.exhausted:
            return True
        number = validation_round(node)
        return number < len(state.analyses) and _analysis_ended(state, state.analyses[number]) and not _extends(state, number)
    return state.report is not None


def _is_ready(state: SessionState, node: PlanNode) -> bool:
    return not node_ended(state, node.id) and all(node_ended(state, name) for name in node.depends_on)


def _node_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    if node.task == "search":
        return _worker_steps(state, node)
    if node.task == "validate":
        return _analysis_steps(state, validation_round(node))
    return iter([after_gathering(state) if state.facts else _no_evidence(state)])


# ---- one worker ------------------------------------------------------------------------------------------------


def _worker_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    worker = state.workers.get(node.id)
    running = [other.id for other in workers_in_order(state) if other.status == "running"]
    if worker is None:
        waiting = [other.id for other in search_nodes(state) if other.id not in state.workers]
        if waiting.index(node.id) < state.config.max_workers - len(running):
            yield StartWorker(node.id)
    elif state.exhausted:
        yield FinishWorker(worker.id, f"stopped: {state.exhausted} exhausted")
    elif worker.id in running[: state.config.max_workers]:  # a reopened session may have more that could go on
        yield from _iteration_steps(state, worker)


def _iteration_steps(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done == 0 or worker.iterations[-1].evaluated:
        yield from _between_iterations(state, worker)
    elif not worker.iterations[-1].queries:
        yield FinishWorker(worker.id, "nothing left to ask")
    elif searches := _open_searches(state, worker):
        yield from searches
    else:
        reading = list(_reading(state, worker, done))
        yield from reading or [_conclusion(state, worker, done)]


def _between_iterations(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done and worker.iterations[-1].sufficient:
        yield FinishWorker(worker.id, "knows enough")
    elif done >= state.config.iterations:
        yield FinishWorker(worker.id, f"{counted(done, 'iteration')}")
    elif (fold := Fold(worker.id, worker.folds + 1)) and _context_is_full(state, worker, fold):
        yield fold
    else:
        yield _or_fail_worker(state, worker, Think(worker.id, done + 1))


def _open_searches(state: SessionState, worker: Worker) -> list[Step]:
    steps = (SearchFor(query) for query in worker.iterations[-1].queries if query not in state.searches)
    return [step for step in steps if not state.failed_for_good(step.key)]


def _reading(state: SessionState, worker: Worker, iteration: int) -> Iterator[Step]:
    """The open reads and observations of the pages chosen in this iteration; a page that fails is skipped."""
    observed = worker.iterations[iteration - 1].observed
    for url in chosen_pages(state, worker, iteration):
        step: Step = Observe(worker.id, iteration, url) if url in state.pages else Read(url)
        if url not in observed and not state.failed_for_good(step.key):
            yield step


def _conclusion(state: SessionState, worker: Worker, iteration: int) -> Step:
    """Evaluate; but a worker for whom everything failed has not found nothing, it has not looked."""
    asked: list[Step] = [SearchFor(query) for query in worker.iterations[-1].queries]
    pages = chosen_pages(state, worker, iteration)
    tried: list[Step] = [Read(url) if url not in state.pages else Observe(worker.id, iteration, url) for url in pages]
    for steps in (asked, tried):
        if steps and all(state.failed_for_good(step.key) for step in steps) and not facts_of(state, worker):
            return FailWorker(worker.id, steps[0].key)
    return _or_fail_worker(state, worker, Evaluate(worker.id, iteration))


def _or_fail_worker(state: SessionState, worker: Worker, step: Step) -> Step:
    return FailWorker(worker.id, step.key) if state.failed_for_good(step.key) else step


def context_tokens(worker: Worker) -> int:
    """Return the estimated size of a worker's context: its summary, and what it thought and found since the last fold."""
    since = worker.iterations[worker.folded :]
    said = sum(tokens(step.reasoning) + sum(map(tokens, step.queries)) for step in since)
    found = sum(tokens(fact.quote) for step in since for page in step.observed.values() for fact in page.facts)
    return tokens(worker.summary) + said + found


def _context_is_full(state: SessionState, worker: Worker, fold: Fold) -> bool:
    if worker.folded == len(worker.iterations) or state.failed_for_good(fold.key):
        return False
    return context_tokens(worker) > state.config.fold_at * state.config.context_tokens


# ---- one round of analysis -------------------------------------------------------------------------------------


def _analysis_steps(state: SessionState, number: int) -> Iterator[Step]:
    """Validate and Contrast side by side, then FindGaps, then perhaps more workers."""
    if number == len(state.analyses):
        yield StartAnalysis(number) if state.facts else _no_evidence(state)
        return
    analysis = state.analyses[number]
    open_steps = [step for step, done in _cross_checks(analysis) if not done and not state.failed_for_good(step.key)]
    if open_steps:
        yield from open_steps
    elif analysis.gaps is None and not state.failed_for_good(FindGaps(number).key):
        yield FindGaps(number)
    elif _extends(state, number):
        yield ExtendPlan(number)


def _cross_checks(analysis: Analysis) -> tuple[tuple[Step, bool], ...]:
    return (
        (Validate(analysis.round), analysis.validated is not None),
        (Contrast(analysis.round), analysis.contradictions is not None),
    )


def _analysis_ended(state: SessionState, analysis: Analysis) -> bool:
    steps = (*_cross_checks(analysis), (FindGaps(analysis.round), analysis.gaps is not None))
    return all(done or state.failed_for_good(step.key) for step, done in steps)


def worthwhile_gaps(state: SessionState, number: int) -> tuple[Gap, ...]:
    """Return the gaps of a round (0-based) that are worth a worker, most important first, at most ``max_workers``."""
    gaps = state.analyses[number].gaps or ()
    worth = sorted((gap for gap in gaps if gap.importance >= state.config.gap_importance), key=lambda gap: -gap.importance)
    return tuple(worth[: state.config.max_workers])


def _extends(state: SessionState, number: int) -> bool:
    """Tell whether this round's gaps still have to become workers."""
    may = number == state.gap_rounds and number < state.config.gap_rounds and not state.exhausted
    return may and bool(worthwhile_gaps(state, number))


def _no_evidence(state: SessionState) -> Fail:
    """Nothing to write from. A cap, failing services and the silence of the sources are three different reasons."""
    if state.exhausted:
        return Fail("budget", f"stopped before any evidence was found: {state.exhausted} exhausted")
    failed = [failure for failure in state.failures.values() if failure.final]
    last = max(failed, key=lambda failure: (failure.at, failure.step), default=None)
    searches, pages = len(state.searches), len(state.pages)
    looked = f"{searches} search{'' if searches == 1 else 'es'}, {pages} page{'' if pages == 1 else 's'} read"
    if last is not None and not _anything_observed(state):
        return Fail(last.error, f"no evidence could be gathered ({looked}): {_in_words(last)}")
    without = f"; {counted(len(failed), 'step')} failed, the last: {_in_words(last)}" if last is not None else ""
    refusal = refused(state)
    return replace(refusal, reason=f"{refusal.reason} ({looked}{without})")


def _in_words(failure: Failure) -> str:
    kind, _, what = failure.step.partition(":")
    return f"{kind.lower()} {what}: {failure.message}"


def _anything_observed(state: SessionState) -> bool:
    """Tell whether any page was looked at for facts, with or without success."""
    return any(iteration.observed for worker in state.workers.values() for iteration in worker.iterations)


# ---- the report ------------------------------------------------------------------------------------------------


def _synthesis(state: SessionState) -> Iterator[Step]:
    """Outline, then all sections side by side (write, check, revise), then the summary, then the report."""
    body = [section for name, section in state.sections.items() if name != SUMMARY]
    if not body:
        yield _or_fail(state, MakeOutline())
        return
    open_steps = [step for section in body for step in _section_steps(state, section, section.plan.id)]
    open_steps = open_steps or list(_section_steps(state, state.sections.get(SUMMARY), SUMMARY))
    yield from open_steps or _comparing(state) or [_end(state)]


def _comparing(state: SessionState) -> list[Step]:
    """What a recurring question needs before its report: its earlier sources read again, then the two sessions compared."""
    if state.earlier is None or state.changes is not None or state.failed_for_good(Compare().key):
        return []
    return list(_rereading(state)) or [Compare()]


def _section_steps(state: SessionState, section: Section | None, name: str) -> Iterator[Step]:
    """The next step of one section, if it has one; a section that cannot be written or checked is left as it is."""
    step: Step | None = None
    if section is None or section.paragraphs is None:
        step = WriteSection(name)
    elif section.verdicts is None:
        step = CheckSection(name, section.revision)
    elif section.unsupported() and section.revision < MAX_REVISIONS:
        step = ReviseSection(name, section.revision + 1)
    if step is not None and not state.failed_for_good(step.key):
        yield step


def _end(state: SessionState) -> Step:
    if state.report is not None:
        return Complete()
    if any(section.paragraphs for name, section in state.sections.items() if name != SUMMARY):
        return MakeReport()
    failed = [failure for key, failure in state.failures.items() if key.startswith("WriteSection:")]
    return Fail(failed[-1].error, f"no section could be written: {failed[-1].message}") if failed else _no_evidence(state)
