"""The steps of a worker: think, search, read, evaluate."""

from __future__ import annotations

from typing import Any

from pipeline.domain.agenda.worker_agenda import thinks_ahead
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import facts_of
from pipeline.domain.reasoner_questions import Evaluation, EvaluationQuestion, ThoughtQuestion
from pipeline.domain.state import GIVES_ORDERS, SessionState, Worker, asked_queries
from pipeline.domain.steps import Evaluate, FailWorker, FinishWorker, Read, SearchFor, StartWorker, Think
from pipeline.domain.values import EXTRACTIVE, Fact, Perspective
from pipeline.errors import ReadFailed
from pipeline.research.gathering.context_compression import context_of
from pipeline.research.gathering.other_workers import others_work
from pipeline.research.gathering.recalled_pages import recalled_pages
from pipeline.research.planning import clean_hits
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.model_orders import gives_orders
from pipeline.text.normalise import clean, digest_of, one_line

MAX_SEARCH = 300  # characters of a search query
MAX_EARLIER_FACTS = 40


def start_worker(step: StartWorker, state: SessionState) -> Outcome:
    """Start the worker of a search node."""
    node = state.nodes[step.worker_id]
    number = state.gap_rounds if step.worker_id.startswith("gap_") else 0
    started = e.WorkerStarted(worker_id=node.id, perspective_id=node.perspective, round=number)
    if state.config.reasoner != EXTRACTIVE:
        return Outcome((started,))
    parts = tuple(text for text in state.perspectives[node.perspective].questions if text != state.query)
    return Outcome((started, e.WorkerThought(worker_id=node.id, iteration=1, reasoning="", queries=parts)))


def finish_worker(step: FinishWorker, state: SessionState) -> Outcome:
    """Record that a worker has finished."""
    facts = len(facts_of(state, state.workers[step.worker_id]))
    return Outcome((e.WorkerCompleted(worker_id=step.worker_id, reason=step.reason, facts=facts),))


def fail_worker(step: FailWorker, state: SessionState) -> Outcome:
    """Record that a worker failed, with the failure of the step that ended it."""
    failure = state.failures[step.step]
    return Outcome((e.WorkerFailed(worker_id=step.worker_id, reason=f"{failure.error}: {failure.message}"),))


async def think(step: Think, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask what to search for next, unless the evaluation before said it; queries that the worker has made before are dropped."""
    worker = state.workers[step.worker_id]
    asked = asked_queries(worker)
    if worker.iterations and (said := worker.iterations[-1].next_queries) is not None:
        reason = worker.iterations[-1].reason
        return Outcome((e.WorkerThought(worker_id=worker.id, iteration=step.iteration, reasoning=reason, queries=said),))
    question = ThoughtQuestion(
        query=state.query,
        perspective=state.perspectives[worker.perspective_id],
        iteration=step.iteration,
        facts=facts_of(state, worker),
        gaps=worker.iterations[-1].gaps if worker.iterations else (),
        asked=asked,
        summary=worker.summary,
        limit=state.config.queries_per_thought,
        context=context_of(state, worker),
        others=others_work(state, worker, step.iteration),
        **_earlier_facts(state, step.iteration),
        **_recalled(state, state.perspectives[worker.perspective_id], step.iteration),
    )
    answer = await step_context.reasoner.answer(question)
    cost = paid(answer)
    thought = e.WorkerThought(
        worker_id=worker.id,
        iteration=step.iteration,
        reasoning=one_line(answer.value.reasoning, 2_000),
        queries=_new_queries(answer.value.queries, asked, question.limit),
        pages=question.pages,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((thought,), cost.objects)


def _recalled(state: SessionState, view: Perspective, iteration: int) -> dict[str, Any]:
    """Return question fields with what earlier nights found, for a worker's first thought."""
    if state.recalled is None or iteration > 1:
        return {}
    return {"recalled": state.recalled, "pages": recalled_pages(state, view)}


def _earlier_facts(state: SessionState, iteration: int) -> dict[str, Any]:
    """Return question fields with the earlier session's facts, cited sources first, for a worker's first thought."""
    if state.earlier is None or iteration > 1:
        return {}
    cited = set(state.earlier.cited)
    facts = sorted(state.earlier.facts, key=lambda fact: fact.url not in cited)
    return {"earlier": tuple(facts[:MAX_EARLIER_FACTS]), "earlier_on": state.earlier.reported_at[:10]}


def _new_queries(queries: tuple[str, ...], asked: tuple[str, ...], limit: int) -> tuple[str, ...]:
    known = {query.casefold() for query in asked}
    fresh: dict[str, str] = {}
    for query in (one_line(query, MAX_SEARCH) for query in queries):
        if query and query.casefold() not in known:
            fresh.setdefault(query.casefold(), query)
    return tuple(fresh.values())[:limit]


async def search_for(step: SearchFor, state: SessionState, step_context: StepContext) -> Outcome:
    """Make one search."""
    result = await step_context.search.search(step.query, state.config.hits_per_query)
    hits = clean_hits(result.hits)[: state.config.hits_per_query]
    found = e.SearchCompleted(query=step.query, provider=result.provider, hits=hits, failed=result.failed, cost=result.cost)
    return Outcome((found,))


async def read(step: Read, _state: SessionState, step_context: StepContext) -> Outcome:
    """Read one page; its text is returned as an object to store.

    Raises:
        ReadFailed: the page has no text.
    """
    page = await step_context.fetch.read(step.url)
    text = clean(page.text).strip()
    if not text:
        raise ReadFailed(f"{step.url} has no text")
    data, title = text.encode(), one_line(page.title)
    event = e.PageRead(
        url=step.url,
        title=title if title and not gives_orders(title) else step.url,
        digest=digest_of(data),
        characters=len(text),
        final_url=page.url if page.url != step.url else "",
        media_type=page.media_type,
        author=one_line(page.author),
        published=one_line(page.published, 40),
        notices=(*((GIVES_ORDERS,) if gives_orders(text) else ()), *page.notices),
        sheets=page.sheets,
        language=page.language,
        extractor=page.extractor,
        visible=page.visible,
        stored=page.stored,
        dropped=dict(page.dropped),
        empty_pages=page.empty_pages,
    )
    return Outcome((event,), (data,))


async def evaluate(step: Evaluate, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask which questions are open; 5 facts and fewer than 2 open questions suffice (defaults of the session's config)."""
    worker = state.workers[step.worker_id]
    facts = facts_of(state, worker)
    question = EvaluationQuestion(
        query=state.query,
        perspective=state.perspectives[worker.perspective_id],
        iteration=step.iteration,
        facts=facts,
        summary=worker.summary,
        context=context_of(state, worker),
        **_for_next_thought(state, worker, step.iteration),
    )
    config = state.config
    answer = await step_context.reasoner.answer(question)
    gaps = tuple(dict.fromkeys(filter(None, map(one_line, answer.value.gaps))))
    cost = paid(answer)
    event = e.WorkerEvaluated(
        worker_id=worker.id,
        iteration=step.iteration,
        sufficient=len(_own(facts, question)) >= config.sufficient_facts and len(gaps) < config.max_open_gaps,
        gaps=gaps,
        reason=one_line(answer.value.reason, 1_000),
        queries=_next_queries(answer.value, question),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _for_next_thought(state: SessionState, worker: Worker, iteration: int) -> dict[str, Any]:
    """Return the fields of an evaluation that also says what to search for next, if it is to."""
    if not thinks_ahead(state):
        return {}
    others = others_work(state, worker, iteration + 1)
    return {"asked": asked_queries(worker), "limit": state.config.queries_per_thought, "others": others}


def _next_queries(said: Evaluation, question: EvaluationQuestion) -> tuple[str, ...] | None:
    if said.queries is None or not question.limit:
        return None
    return _new_queries(said.queries, question.asked, question.limit)


def _own(facts: tuple[Fact, ...], question: EvaluationQuestion) -> list[Fact]:
    """Return the facts that answer the worker's questions or the query; a shared page also has facts on other questions."""
    asked = {"", question.query, *question.perspective.questions}
    return [fact for fact in facts if fact.question in asked]
