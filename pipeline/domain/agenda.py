"""The agenda: the steps that a session may take now, as a pure function of its state.

It goes through the plan's nodes in plan order; a node whose dependencies have ended gives its next steps. The steps are
independent and may run in parallel. A step that failed for good is not returned again: its dependants continue without it, or
the worker or the session ends, as the functions below say. An empty agenda means that the session has ended or waits
for approval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from pipeline.domain import steps as s
from pipeline.domain.events.session_events import NO_EVIDENCE, TopicSurveyed
from pipeline.domain.page_choice_and_findings import chosen_pages, facts_of, may_be_read, wave_of
from pipeline.domain.report_draft import BEGINNING, facts_of_parts, items_of, kept_text
from pipeline.domain.research_values import PlanNode
from pipeline.domain.session_state import STOPPED, Failure, SessionState, Worker, search_nodes
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted
from pipeline.text.questions import parse_question
from pipeline.text.words import is_unspaced, language_of

_MOST_NAMED = 5  # names and words that no passage mentions


def step_or_fail(state: SessionState, step: s.Step) -> s.Step:
    """Return a step that the session cannot do without, or the end of the session if it failed for good."""
    if not state.failed_for_good(step.key):
        return step
    failure = state.failures[step.key]
    return s.Fail(failure.error, f"{type(step).__name__.lower()}: {failure.message}")


def with_substitute(state: SessionState, step: s.Step, plain: s.Step) -> s.Step:
    """Return a step of the model; if it failed for good, the one that does the same without the model."""
    return step_or_fail(state, plain if state.failed_for_good(step.key) else step)


def not_mentioned(state: SessionState, words: Iterable[str] = ()) -> str:
    """Return which names in the question, and which ``words``, no passage mentions: ``no passage mentions “Kafka”``; else ""."""
    names = state.survey.absent if state.survey else ()
    absent = [*names, *(word for word in words if not any(word in name for name in names))]
    return f"no passage mentions {' or '.join(f'“{name}”' for name in absent[:_MOST_NAMED])}" if absent else ""


def no_evidence(state: SessionState) -> s.Fail:
    """Return the end of a session without facts. The reason is a spent cap, failed steps, or sources without an answer."""
    if state.exhausted:
        return s.Fail("budget", f"stopped before any evidence was found: {state.exhausted} exhausted")
    failed = [failure for failure in state.failures.values() if failure.final]
    last = max(failed, key=lambda failure: (failure.at, failure.step), default=None)
    searches, pages = len(state.searches), len(state.observed or state.pages)  # of a model, those that it read
    searched = f"{counted(searches, 'search', 'searches')}, " if searches else ""
    effort = f"{searched}{counted(pages, 'page')} read"
    observed = (
        state.passages is not None
        or state.observed
        or any(step.observed for worker in state.workers.values() for step in worker.iterations)
    )
    if last is not None and not observed:
        return s.Fail(last.error, f"no evidence could be gathered ({effort}): {_failure_text(last)}")
    survey = state.survey or TopicSurveyed(provider="", hits=())
    languages, known, documents = survey.languages, survey.statistics, survey.statistics.documents
    if state.config.has_model:
        reason = "the language model found nothing in the pages that it read that answers the question"
    elif documents:
        reason = f"nothing in your {counted(documents, 'document')} is near enough to the question"
    else:
        reason = "no source that was found is near enough to the question"
    own, is_counted = language_of(state.query), documents and known.passages  # 0 documents: the web was searched
    # A word has other stems in documents of other languages, and pairs of signs are no words.
    is_told = is_counted and languages == (own or known.language,) and not is_unspaced(state.query)
    if state.more_places and (path := state.more_places[0].path):
        # The page and its heading: a reason is one line of a night.
        reason += f"; nearest: {one_line(' › '.join(dict.fromkeys((path[0], path[-1]))), 90)}"
    terms = parse_question(state.query, known.language).terms if is_told else ()
    if absent := not_mentioned(state, [term.word for term in terms if not term.is_in(known.counts)]):
        reason += f"; {absent}"
    if own and languages and own not in languages:
        theirs = " and ".join([*(name.capitalize() for name in languages[:3]), *(["others"] if len(languages) > 3 else [])])
        reason += f"; the question is in {own.capitalize()}, the documents are in {theirs}"
    if left_out := survey.left_out + sum(search.left_out for search in state.searches.values()):
        reason += f"; {counted(left_out, 'hit')} left out by the setting sources"
    without = f"; {counted(len(failed), 'step')} failed, the last: {_failure_text(last)}" if last is not None else ""
    return s.Fail(NO_EVIDENCE, f"{reason} ({effort}{without})")


def _failure_text(failure: Failure) -> str:
    kind, what = s.parts_of(failure.step)
    return f"{kind.lower()} {what}".strip() + f": {failure.message}"


def worker_steps(state: SessionState, node: PlanNode) -> Iterator[s.Step]:
    """Yield the start or the next steps of a node's worker. Workers beyond ``max_workers`` start when those before have ended."""
    worker = state.workers.get(node.id)
    if worker and state.exhausted:
        yield s.FinishWorker(worker.id, f"{STOPPED}{state.exhausted} exhausted")
        return
    first = wave_of(state, node.id)[0]
    before = [state.workers.get(other.id) for other in takewhile(lambda other: other.id != first, search_nodes(state))]
    if all(other and other.status != "running" for other in before):
        yield from _iteration_steps(state, worker) if worker else [s.StartWorker(node.id)]


def _iteration_steps(state: SessionState, worker: Worker) -> Iterator[s.Step]:
    done = len(worker.iterations)
    if done == 0 or worker.iterations[-1].evaluated:
        # Gaps are searched for once more; without a model all searches are made at once.
        most = 1 if worker.round or not state.config.has_model else state.config.iterations
        if done >= most:
            yield s.FinishWorker(worker.id, counted(done, "iteration"))
        elif done and worker.iterations[-1].sufficient:
            yield s.FinishWorker(worker.id, "nothing left to ask")
        else:
            yield s.NextRound(worker.id, done + 1)
    elif searches := open_searches(state, worker):
        yield from searches
    elif not _waits_for_others(state, worker, done):
        yield from list(page_steps(state, worker, done)) or [_reading_step(state, worker, done)]


def _waits_for_others(state: SessionState, worker: Worker, iteration: int) -> bool:
    """Return whether another worker of the wave has still to search in this iteration, in which no page is read by two.

    Who reads which page depends on the plan's order alone, so it must be known what each has found.
    """
    for other in (state.workers.get(name) for name in wave_of(state, worker.id) if name != worker.id):
        if other is None:
            return True
        begun = len(other.iterations)  # it may be in an earlier iteration, or still search in this one
        if other.status == "running" and (begun < iteration or (begun == iteration and open_searches(state, other))):
            return True
    return False


def open_searches(state: SessionState, worker: Worker) -> list[s.Step]:
    """Return the searches of a worker's latest iteration that are still to be made; only then are its pages chosen for good.

    None of an iteration that was evaluated: a search that had failed for good and may be tried again, in a session that was
    cancelled and reopened, comes too late for it. Workers that waited for it would wait for each other for ever.
    """
    if worker.iterations[-1].evaluated:
        return []
    steps = (s.SearchFor(query) for query in worker.iterations[-1].queries if query not in state.searches)
    return [step for step in steps if not state.failed_for_good(step.key)]


def page_steps(state: SessionState, worker: Worker, iteration: int) -> Iterator[s.Step]:
    """Yield the open reads of the pages chosen in this iteration; a page that fails is left out."""
    for url in chosen_pages(state, worker, iteration):
        step = s.FetchPage(url)
        if url not in state.pages and not state.failed_for_good(step.key):
            yield step


def pages_to_read(state: SessionState, worker: Worker, iteration: int) -> tuple[str, ...]:
    """Return the chosen pages in which facts are still to be found: those that were read, and not shown whole before."""
    step = worker.iterations[iteration - 1]
    chosen = (url for url in chosen_pages(state, worker, iteration) if url in state.pages and url not in step.observed)
    return tuple(url for url in chosen if not ((seen := state.observed.get(url)) and seen.whole))


def _reading_step(state: SessionState, worker: Worker, iteration: int) -> s.Step:
    """Return the reading of an iteration's pages, or the end of the worker if there are none, or no model to read them."""
    if not state.config.has_model:
        return s.FinishWorker(worker.id, counted(iteration, "iteration"))
    if pages_to_read(state, worker, iteration):
        substitute = s.PlainReading(worker.id, iteration)
        step = with_substitute(state, s.ReadPages(worker.id, iteration), substitute)
        return step if isinstance(step, s.ReadPages | s.PlainReading) else s.FailWorker(worker.id, substitute.key)
    asked: list[s.Step] = [s.SearchFor(query) for query in worker.iterations[-1].queries]
    left_out = {*state.pages, *worker.iterations[-1].pages}  # a page that was recalled may be gone, which fails no worker
    tried: list[s.Step] = [s.FetchPage(url) for url in chosen_pages(state, worker, iteration) if url not in left_out]
    for steps in (asked, tried):
        if steps and all(state.failed_for_good(step.key) for step in steps) and not facts_of(worker):
            return s.FailWorker(worker.id, steps[0].key)
    return s.FinishWorker(worker.id, "no page that was not read")


def gap_steps(state: SessionState, number: int) -> Iterator[s.Step]:
    """Yield the end of a round of gathering (0-based), its gaps, and the worker for them if one is due."""
    if number == len(state.analyses):
        yield s.StartAnalysis(number)
    elif state.analyses[number].gaps is None:
        yield s.FindGaps(number)
    elif needs_gap_worker(state, number):
        yield s.ExtendPlan(number)


def round_ended(state: SessionState, number: int) -> bool:
    """Return whether a round's gaps are known, and no worker has still to be planned for them."""
    known = number < len(state.analyses) and state.analyses[number].gaps is not None
    return known and not needs_gap_worker(state, number)


def needs_gap_worker(state: SessionState, number: int) -> bool:
    """Return whether a worker for this round's gaps has still to be planned."""
    may = number == state.gap_rounds and number < state.config.gap_rounds and not state.exhausted
    return may and bool(state.analyses[number].gaps)


def last_steps(state: SessionState) -> list[s.Step]:
    """Return the next step of a session whose text is ready.

    What a recurring query needs comes first: reading the earlier sources again, then comparing the sessions.
    """
    steps: list[s.Step] = []
    if state.earlier is not None and state.changes is None and not state.failed_for_good(s.Compare().key):
        steps = list(reread_steps(state)) or [s.Compare()]
    return steps or [s.MakeReport()]


def reread_steps(state: SessionState) -> Iterator[s.Step]:
    """Yield the reads of the earlier report's sources that are still due, to compare their texts."""
    for url in state.earlier.cited if state.earlier and not state.exhausted else ():
        if url not in state.pages and may_be_read(url, state.config) and not state.failed_for_good(s.FetchPage(url).key):
            yield s.FetchPage(url)


def round_of(state: SessionState, node: PlanNode) -> int:
    """Return the round (0-based) that a validate node closes: each round has one, and they stand in order."""
    return [one.id for one in state.nodes.values() if one.task == "validate"].index(node.id)


def node_ended(state: SessionState, node_id: str) -> bool:
    """Return whether the nodes that depend on this one may start."""
    node = state.nodes[node_id]
    if node.task == "search":
        worker = state.workers.get(node_id)
        return worker.status != "running" if worker else bool(state.exhausted)
    if node.task == "validate":  # without a model, in an older plan: nobody looks for gaps
        known = not state.config.has_model or round_ended(state, round_of(state, node))
        # A worker that a cap had kept from starting may run after the gaps were found, in a session that was reopened.
        return known and all(node_ended(state, name) for name in node.depends_on)
    return state.report is not None


def is_ready(state: SessionState, node: PlanNode) -> bool:
    """Return whether a node may give steps: it is open, and all that it depends on has ended."""
    return not node_ended(state, node.id) and all(node_ended(state, name) for name in node.depends_on)


def node_steps(state: SessionState, node: PlanNode) -> Iterator[s.Step]:
    """Return the steps of a ready node that may start now."""
    if node.task == "search":
        return worker_steps(state, node)
    if node.task == "validate":
        return gap_steps(state, round_of(state, node))
    if state.facts and state.config.has_model:
        return iter([s.StartSynthesis()])
    # A model that could not make the plan, or read some pages, is not believed either when it finds nothing in the others.
    is_unread = not state.config.has_model or not state.observed or state.without_model
    if not (state.pages and is_unread) or state.passages is not None or state.failed_for_good(s.ChoosePassages().key):
        return iter([no_evidence(state)])
    return iter(list(reread_steps(state)) or [s.ChoosePassages()])


def report_steps(state: SessionState) -> Iterator[s.Step]:
    """Yield the parts of the report side by side, its beginning after them, then the comparison and the report.

    Where nothing of the text may stay, or none was written, the session falls back to the passages that it has read.
    """
    count = len(facts_of_parts(state))
    steps = [step for part in range(1, count + 1) if (step := part_step(state, part))]
    if not steps and count > 1 and state.parts and (beginning := part_step(state, BEGINNING)):
        steps = [beginning]
    if steps:
        yield from steps
    elif any(item.sentence and item.sentence.facts for item in items_of(kept_text(state)[0])):
        yield from last_steps(state)
    elif state.passages is None:
        yield step_or_fail(state, s.ChoosePassages())
    else:
        yield no_evidence(state)


def part_step(state: SessionState, part: int) -> s.Step | None:
    """Return the next step of one part of the report; a part that cannot be written, checked or mended stays as it is."""
    text = state.parts.get(part)
    step: s.Step | None = None
    if text is None:
        step = s.WriteReport(part)
    elif not text.checked and text.new != ():
        step = s.CheckReport(part, text.revision)
    elif text.revision == 0 and (text.verdicts or text.additions):
        step = s.MendReport(part)
    return None if step is None or state.failed_for_good(step.key) else step


def agenda(state: SessionState) -> tuple[s.Step, ...]:
    """Return the steps that may start now, each once, in a fixed order; empty if it has ended or waits for approval."""
    if state.ended or state.waiting or state.status == "pending":
        return ()
    if state.report is not None:
        return (s.Complete(),)
    if state.exhausted and not state.nodes:
        return (no_evidence(state),)
    if state.survey is None:
        return (step_or_fail(state, s.Survey()),)
    if not state.nodes:
        return (with_substitute(state, s.Plan(), s.PlainPlan()),)
    if state.config.approve == "plan" and not (state.approval or state.workers or state.exhausted):
        return (s.AskApproval(),)
    if state.passages:
        return tuple(last_steps(state))
    if state.synthesis and state.config.has_model:
        return tuple(report_steps(state))
    nodes = (node for node in state.nodes.values() if is_ready(state, node))
    steps = chain.from_iterable(node_steps(state, node) for node in nodes)
    found = tuple(dict.fromkeys(chain(steps, reread_steps(state))))
    # A Fail step must come last: no other step, such as finishing a worker, can be recorded after it.
    return tuple(step for step in found if not isinstance(step, s.Fail)) or found
