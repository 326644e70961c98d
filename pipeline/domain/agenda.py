"""The agenda: the steps that a session may take now, as a pure function of its state.

It goes through the plan's nodes in plan order; a node whose dependencies have ended gives its next steps. The steps are
independent and may run in parallel. A step that failed for good is not returned again: its dependants continue without it, or
the worker or the session ends, as the functions below say. An empty agenda means that the session has ended or waits for
approval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from pipeline.domain import Summary
from pipeline.domain.plan import validation_round
from pipeline.domain.state import (
    SUMMARY,
    Analysis,
    Failure,
    Section,
    SessionState,
    Worker,
    chosen_pages,
    cost_of,
    facts_of,
    observed_pages,
    search_nodes,
    workers_in_order,
    working_seconds,
)
from pipeline.domain.steps import (
    AskApproval,
    CheckChanges,
    CheckSection,
    Compare,
    Complete,
    Contrast,
    EditReport,
    Evaluate,
    ExtendPlan,
    Fail,
    FailWorker,
    FindGaps,
    FinishWorker,
    Fold,
    LookUp,
    MakeOutline,
    MakeReport,
    Observe,
    ObservePage,
    PlainOutline,
    PlainPlan,
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
from pipeline.domain.values import EXTRACTIVE, Gap, PlanNode
from pipeline.text.normalise import counted, tokens

MAX_REVISIONS = 1
MAX_LOOK_UPS = 3  # pages in which an answer to a gap is looked for


def agenda(state: SessionState) -> tuple[Step, ...]:
    """Return the steps that may start now, each once, in a fixed order; empty if it has ended or waits for approval."""
    if state.ended or state.waiting or state.status == "pending":
        return ()
    if state.exhausted and not state.nodes:
        return (_no_evidence(state),)
    if state.survey is None:
        return (_step_or_fail(state, Survey()),)
    if not state.nodes:
        return (_with_substitute(state, Plan(), PlainPlan()),)
    if state.config.approve == "plan" and not (state.approval or state.workers or state.exhausted):
        return (AskApproval(),)
    if state.synthesis:
        return tuple(_synthesis_steps(state))
    nodes = (node for node in state.nodes.values() if _is_ready(state, node))
    steps = chain.from_iterable(_node_steps(state, node) for node in nodes)
    found = tuple(dict.fromkeys(chain(steps, _reread_steps(state))))
    # A Fail step must come last: no other step, such as finishing a worker, can be recorded after it.
    return tuple(step for step in found if not isinstance(step, Fail)) or found


def _reread_steps(state: SessionState) -> Iterator[Step]:
    """Yield the reads of the earlier report's sources that are still due, to compare their texts."""
    for url in state.earlier.cited if state.earlier and not state.exhausted else ():
        if url not in state.pages and not state.failed_for_good(Read(url).key):
            yield Read(url)


def _step_or_fail(state: SessionState, step: Step) -> Step:
    """Return a step that the session cannot do without, or the end of the session if it failed for good."""
    if not state.failed_for_good(step.key):
        return step
    failure = state.failures[step.key]
    return Fail(failure.error, f"{type(step).__name__.lower()}: {failure.message}")


def _with_substitute(state: SessionState, step: Step, plain: Step) -> Step:
    """Return a step of the model; if it failed for good, the one that does the same without the model."""
    if state.failed_for_good(step.key) and state.config.reasoner != EXTRACTIVE:
        return _step_or_fail(state, plain)
    return _step_or_fail(state, step)


# ---- how far it is ---------------------------------------------------------------------------------------------


def progress(state: SessionState) -> tuple[int, int]:
    """Return how many steps have ended, and how many there will be as far as can be seen: of each worker, one iteration more."""
    done = _steps_done(state)
    return done, done + (0 if state.ended else _steps_ahead(state))


def summary_of(state: SessionState) -> Summary:
    """Return the summary of a session."""
    cost = cost_of(state)
    done, in_all = progress(state)
    return Summary(
        id=state.id,
        version=state.version,
        status=state.status,
        query=state.query,
        query_id=state.query_id,
        mode=state.config.mode,
        waiting=state.waiting,
        approved=state.approval == "given" and not state.workers,
        tags=state.tags,
        previous_session=state.previous_session,
        started_at=state.started_at,
        ended_at=state.ended_at,
        end_reason=state.end_reason,
        title=state.title,
        facts=len(state.facts),
        sources=len({fact.url for fact in state.facts.values()}),
        calls=state.spent.calls,
        tokens=state.spent.total_tokens,
        usd=cost.usd,
        assumed_usd=cost.assumed_usd,
        expected_usd=cost.expected_usd,
        seconds=working_seconds(state),
        steps=done,
        steps_in_all=in_all,
    )


def _steps_done(state: SessionState) -> int:
    iterations = [iteration for worker in state.workers.values() for iteration in worker.iterations]
    # A section of revision n was written n + 1 times, and each text but the last was checked for certain.
    written = state.sections.values()
    sections = [2 * one.revision + (one.paragraphs is not None) + (one.verdicts is not None) - one.unasked for one in written]
    made = (state.survey is not None, bool(state.nodes), bool(state.sections), state.edited)
    worked = sum(1 + len(iteration.observed) + iteration.evaluated for iteration in iterations)
    worked += sum(seen.part for seen in state.observed.values())
    worked += sum(worker.folds for worker in state.workers.values())
    cross_checked = sum(2 - _checks_open(analysis) + len(analysis.looked_up) for analysis in state.analyses)
    failed = sum(failure.final for failure in state.failures.values())
    return sum(made) + len(state.searches) + len(state.pages) + worked + cross_checked + sum(sections) + failed


def _steps_ahead(state: SessionState) -> int:
    if not state.nodes:
        return (state.survey is None) + 1
    ahead = 0
    for node in state.nodes.values():
        if node.task == "search" and not node_ended(state, node.id):
            ahead += _iteration_ahead(state, state.workers.get(node.id))
        elif node.task == "validate" and not node_ended(state, node.id):
            number = validation_round(node)
            ahead += _checks_open(state.analyses[number]) if number < len(state.analyses) else 2
    sections = state.sections.values()
    texts = [(one.paragraphs is None) + (one.verdicts is None) for one in sections] or [1, *[2] * state.config.min_sections]
    return ahead + sum(texts) + 2 * (SUMMARY not in state.sections) + len(_editing_steps(state))


def _iteration_ahead(state: SessionState, worker: Worker | None) -> int:
    pages = 2 * state.config.pages_per_iteration  # each is read and observed
    if worker is None or not worker.iterations or worker.iterations[-1].evaluated:
        return 3 + pages
    if searches := open_searches(state, worker):
        return len(searches) + pages + 1
    reading = list(_page_steps(state, worker, len(worker.iterations)))
    return sum(1 + isinstance(step, Read) for step in reading) + 1


def _checks_open(analysis: Analysis) -> int:
    """Count what is left of the two steps of a round: the cross-check, which ends in two events, and the search for gaps."""
    return (analysis.validated is None) + (analysis.gaps is None)


# ---- the plan's nodes ------------------------------------------------------------------------------------------


def node_ended(state: SessionState, node_id: str) -> bool:
    """Return whether the nodes that depend on this one may start."""
    node = state.nodes[node_id]
    if node.task == "search":
        worker = state.workers.get(node_id)
        return worker.status != "running" if worker else bool(state.exhausted)
    if node.task == "validate":
        if state.exhausted:
            return True
        number = validation_round(node)
        ended = number < len(state.analyses) and _analysis_ended(state, state.analyses[number])
        return ended and not _needs_gap_workers(state, number)
    return state.report is not None


def _is_ready(state: SessionState, node: PlanNode) -> bool:
    return not node_ended(state, node.id) and all(node_ended(state, name) for name in node.depends_on)


def _node_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    if node.task == "search":
        return _worker_steps(state, node)
    if node.task == "validate":
        return _analysis_steps(state, validation_round(node))
    from pipeline.domain.not_found_gate import step_after_gathering  # the ranking, which lists and builds do not need

    return iter([step_after_gathering(state) if state.facts else _no_evidence(state)])


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
    elif worker.id in running[: state.config.max_workers]:  # a reopened session may have more running workers than allowed
        yield from _iteration_steps(state, worker)


def _iteration_steps(state: SessionState, worker: Worker) -> Iterator[Step]:
    done = len(worker.iterations)
    if done == 0 or worker.iterations[-1].evaluated:
        yield from _next_iteration_steps(state, worker)
    elif not worker.iterations[-1].queries:
        yield FinishWorker(worker.id, "nothing left to ask")
    elif searches := open_searches(state, worker):
        yield from searches
    else:
        yield from list(_page_steps(state, worker, done)) or _closing_steps(state, worker, done)


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
    """Return whether another worker has not yet made its searches of ``iteration``, which the next thought is told.

    This is no barrier: thoughts and searches come first in an iteration, so those of the others have nearly always ended when a
    worker has read its own pages. Their facts of that iteration would be one; a thought is told those of the iteration before.
    """
    others = (state.workers.get(name) for name in others_of(state, worker))
    return iteration > 0 and any(other is None or _is_before_searches(state, other, iteration) for other in others)


def _is_before_searches(state: SessionState, worker: Worker, iteration: int) -> bool:
    """Return whether a worker will still make searches of an iteration (1-based), or finish an earlier one."""
    if worker.status != "running" or len(worker.iterations) > iteration:
        return False
    return len(worker.iterations) < iteration or bool(open_searches(state, worker))


def open_searches(state: SessionState, worker: Worker) -> list[Step]:
    """Return the searches of a worker's latest iteration that are still to be made; only then are its pages chosen for good."""
    steps = (SearchFor(query) for query in worker.iterations[-1].queries if query not in state.searches)
    return [step for step in steps if not state.failed_for_good(step.key)]


def _page_steps(state: SessionState, worker: Worker, iteration: int) -> Iterator[Step]:
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
    """Return the end of an iteration; an evaluation that thinks ahead is told the searches of others, as a thought is."""
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
    if thinks_ahead(state) and iteration >= state.config.iterations:
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


# ---- one round of analysis -------------------------------------------------------------------------------------


def _analysis_steps(state: SessionState, number: int) -> Iterator[Step]:
    """Yield Validate, then FindGaps, then LookUp for each gap, then ExtendPlan if gaps deserve workers."""
    if number == len(state.analyses):
        yield StartAnalysis(number) if state.facts else _no_evidence(state)
        return
    analysis = state.analyses[number]
    open_steps = [step for step, done in _cross_checks(analysis) if not done and not state.failed_for_good(step.key)]
    if open_steps:
        yield from open_steps
    elif analysis.gaps is None and not state.failed_for_good(FindGaps(number).key):
        yield FindGaps(number)
    elif searches := look_ups(state, analysis):
        yield from searches
    elif _needs_gap_workers(state, number):
        yield ExtendPlan(number)


def _cross_checks(analysis: Analysis) -> tuple[tuple[Step, bool], ...]:
    """Return Validate, which also finds the contradictions; Contrast only for a log that contains nothing but confirmations."""
    if analysis.validated is not None and analysis.contradictions is None:
        return ((Contrast(analysis.round), False),)
    return ((Validate(analysis.round), analysis.validated is not None),)


def _analysis_ended(state: SessionState, analysis: Analysis) -> bool:
    steps = (*_cross_checks(analysis), (FindGaps(analysis.round), analysis.gaps is not None))
    ended = all(done or state.failed_for_good(step.key) for step, done in steps)
    return ended and not look_ups(state, analysis)


def look_ups(state: SessionState, analysis: Analysis) -> list[Step]:
    """Return the searches of the session's pages that are due: of each gap, until a page answers it or none is left."""
    steps: list[Step] = []
    for number in range(len(analysis.gaps or ())):
        searches = [search for search in analysis.looked_up if search.gap == number]
        ended = any(search.facts or not search.url for search in searches) or len(searches) == MAX_LOOK_UPS
        step = LookUp(analysis.round, number, len(searches) + 1)
        if not ended and not state.failed_for_good(step.key):
            steps.append(step)
    return steps


def worthwhile_gaps(state: SessionState, number: int) -> tuple[Gap, ...]:
    """Return a round's (0-based) gaps that deserve a worker, most important first, at most ``max_workers``."""
    gaps = state.analyses[number].open_gaps()
    worth = sorted((gap for gap in gaps if gap.importance >= state.config.gap_importance), key=lambda gap: -gap.importance)
    return tuple(worth[: state.config.max_workers])


def _needs_gap_workers(state: SessionState, number: int) -> bool:
    """Return whether workers for this round's gaps still have to be planned."""
    may = number == state.gap_rounds and number < state.config.gap_rounds and not state.exhausted
    return may and bool(worthwhile_gaps(state, number))


def _no_evidence(state: SessionState) -> Fail:
    """Return the end of a session without facts. The reason is a spent cap, failed steps, or sources without an answer."""
    if state.exhausted:
        return Fail("budget", f"stopped before any evidence was found: {state.exhausted} exhausted")
    failed = [failure for failure in state.failures.values() if failure.final]
    last = max(failed, key=lambda failure: (failure.at, failure.step), default=None)
    searches, pages = len(state.searches), len(state.pages)
    effort = f"{searches} search{'' if searches == 1 else 'es'}, {pages} page{'' if pages == 1 else 's'} read"
    observed = state.observed or any(step.observed for worker in state.workers.values() for step in worker.iterations)
    if last is not None and not observed:
        return Fail(last.error, f"no evidence could be gathered ({effort}): {_failure_text(last)}")
    without = f"; {counted(len(failed), 'step')} failed, the last: {_failure_text(last)}" if last is not None else ""
    from pipeline.domain.not_found_gate import no_evidence_step  # as above

    refusal = no_evidence_step(state)
    return replace(refusal, reason=f"{refusal.reason} ({effort}{without})")


def _failure_text(failure: Failure) -> str:
    kind, _, what = failure.step.partition(":")
    return f"{kind.lower()} {what}: {failure.message}"


# ---- the report ------------------------------------------------------------------------------------------------


def _synthesis_steps(state: SessionState) -> Iterator[Step]:
    """Yield the outline, then all sections in parallel (write, check, revise), the summary, the editing pass, the report."""
    if not any(name != SUMMARY for name in state.sections):
        yield _with_substitute(state, MakeOutline(), PlainOutline())
        return
    ready = [name for name in state.sections if state.edited or name != SUMMARY]
    open_steps = [step for name in ready for step in _section_steps(state, state.sections[name], name)]
    open_steps = open_steps or list(_section_steps(state, state.sections.get(SUMMARY), SUMMARY))
    yield from _with_joint_check(state, open_steps) or _editing_steps(state) or _comparison_steps(state) or [_final_step(state)]


def _with_joint_check(state: SessionState, steps: list[Step]) -> list[Step]:
    """Return the steps that may start. The checks of changed sentences wait for the others, then they are one step.

    A section has few changed sentences, so a check of each section by itself would mostly repeat its instructions. If the one
    step fails for good, each section is checked by itself.
    """
    checks: list[Step] = [step for step in steps if isinstance(step, CheckSection) and step.revision]
    together = CheckChanges(state.edited)
    if state.failed_for_good(together.key):
        return steps
    return [step for step in steps if step not in checks] or ([together] if len(checks) > 1 else checks)


def _editing_steps(state: SessionState) -> list[Step]:
    """Return the editing pass if it is due: only prose is edited, only once, only if all of it is checked and no cap is spent."""
    sections = [section for section in state.sections.values() if section.paragraphs]
    prose = any(paragraph.kind == "prose" for section in sections for paragraph in section.paragraphs or ())
    checked = all(section.verdicts is not None for section in sections)
    due = prose and checked and not (state.edited or state.exhausted or state.report)
    return [EditReport()] if due and not state.failed_for_good(EditReport().key) else []


def _comparison_steps(state: SessionState) -> list[Step]:
    """Return what a recurring query needs before its report: reading the earlier sources again, then comparing the sessions."""
    if state.earlier is None or state.changes is not None or state.failed_for_good(Compare().key):
        return []
    return list(_reread_steps(state)) or [Compare()]


def _section_steps(state: SessionState, section: Section | None, name: str) -> Iterator[Step]:
    """Yield the next step of one section, if any; a section that cannot be written or checked stays unchanged."""
    step: Step | None = None
    if section is None or section.paragraphs is None:
        step = WriteSection(name)
    elif section.verdicts is None:
        step = CheckSection(name, section.revision)
    elif _is_faulty(section) and section.revision < MAX_REVISIONS and not state.edited:
        step = ReviseSection(name, section.revision + 1)
    if step is not None and not state.failed_for_good(step.key):
        yield step


def _is_faulty(section: Section) -> bool:
    return bool(section.unsupported()) or (section.heading is not None and not section.heading.supported)


def _final_step(state: SessionState) -> Step:
    if state.report is not None:
        return Complete()
    if any(section.paragraphs for name, section in state.sections.items() if name != SUMMARY):
        return MakeReport()
    failed = [failure for key, failure in state.failures.items() if key.startswith("WriteSection:")]
    return Fail(failed[-1].error, f"no section could be written: {failed[-1].message}") if failed else _no_evidence(state)
