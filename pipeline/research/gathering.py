"""The steps of a worker around its readings: start, search, read a page, go on, end.

Of what earlier nights found, only a page that is read again is cited.
"""

from __future__ import annotations

from collections import Counter

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import facts_of, may_be_read, origin_of
from pipeline.domain.state import GIVES_ORDERS, SessionState, asked_queries
from pipeline.domain.steps import FailWorker, FinishWorker, NextRound, Read, SearchFor, StartAnalysis, StartWorker
from pipeline.domain.values import EXTRACTIVE, Perspective, Recalled
from pipeline.errors import ReadFailed
from pipeline.research.planning import new_queries, searched
from pipeline.research.step_context import StepContext, StepResult
from pipeline.text.model_orders import gives_orders
from pipeline.text.normalise import clean, digest_of, one_line
from pipeline.text.questions import parse_question
from pipeline.text.ranking import TermStatistics, coverage, page_origin, term_weights
from pipeline.text.words import stems

LOCAL = "local"  # the search whose documents only a session that names it may read
_ANSWERS_FROM = 0.6  # of the weight of a question's words


def recalled_pages(state: SessionState, view: Perspective) -> tuple[str, ...]:
    """Return the pages of recalled statements that answer the view's questions, those with most of them first.

    At most a third of the pages of an iteration. A session reads documents only if it searches them, and web pages only if it
    searches the web, whatever another session read.
    """
    known, searches = state.recalled or Recalled(), state.config.search
    failing = {record.origin for record in known.origins if record.failing}
    found: dict[tuple[str, str], None] = {}
    for question in view.questions:
        parsed = parse_question(question)
        weights = term_weights(parsed, TermStatistics())
        for one in (record.statement for record in known.statements):
            answers = coverage(weights, frozenset(stems(one.claim, parsed.language))) >= _ANSWERS_FROM
            side = LOCAL in searches if page_origin(one.url) == "own" else any(name != LOCAL for name in searches)
            if answers and side and may_be_read(one.url, state.config) and origin_of(one.url) not in failing:
                found[one.fact, one.url] = None
    counts = Counter(url for _fact, url in found)
    ordered = sorted(counts, key=lambda url: -counts[url])
    return tuple(ordered[: -(-state.config.pages_per_iteration // 3)])


def start_worker(step: StartWorker, state: SessionState) -> StepResult:
    """Start the worker of a search node, with the first queries of its perspective and the pages that earlier nights found."""
    node = state.nodes[step.worker_id]
    view = state.perspectives[node.perspective]
    number = state.gap_rounds if step.worker_id.startswith("gap_") else 0
    started = e.WorkerStarted(worker_id=node.id, perspective_id=node.perspective, round=number)
    pages = () if number or state.config.reasoner == EXTRACTIVE else recalled_pages(state, view)
    queries = new_queries(view.queries or view.questions, (), state.config.queries_per_thought)
    if state.config.reasoner == EXTRACTIVE:
        queries = tuple(text for text in view.questions if text != state.query)
    thought = e.WorkerThought(worker_id=node.id, iteration=1, seconds=0.0, reasoning="", queries=queries, pages=pages)
    return StepResult((started, thought))


def finish_worker(step: FinishWorker, state: SessionState) -> StepResult:
    """Record that a worker has finished."""
    facts = len(facts_of(state.workers[step.worker_id]))
    return StepResult((e.WorkerCompleted(worker_id=step.worker_id, reason=step.reason, facts=facts),))


def fail_worker(step: FailWorker, state: SessionState) -> StepResult:
    """Record that a worker failed, with the failure of the step that ended it."""
    failure = state.failures[step.step]
    return StepResult((e.WorkerFailed(worker_id=step.worker_id, reason=f"{failure.error}: {failure.message}"),))


def next_round(step: NextRound, state: SessionState) -> StepResult:
    """Go on with the searches that the last reading named; an older session may name only what is still open."""
    worker = state.workers[step.worker_id]
    view = state.perspectives[worker.perspective_id]
    last = worker.iterations[-1] if worker.iterations else None
    named = (last.next_queries or last.gaps) if last else (view.queries or view.questions)
    queries = new_queries(named, asked_queries(worker), state.config.queries_per_thought)
    reason = last.reason if last else ""
    return StepResult((e.WorkerThought(worker_id=worker.id, iteration=step.iteration, reasoning=reason, queries=queries),))


def start_analysis(step: StartAnalysis, _state: SessionState) -> StepResult:
    """Close a round of gathering."""
    return StepResult((e.AnalysisStarted(round=step.round),))


async def search_for(step: SearchFor, state: SessionState, step_context: StepContext) -> StepResult:
    """Make one search."""
    result = await searched(step.query, state.config.hits_per_query, state.config, step_context)
    found = e.SearchCompleted(
        query=step.query, provider=result.provider, hits=result.hits, failed=result.failed, cost=result.cost
    )
    return StepResult((found,))


async def read(step: Read, _state: SessionState, step_context: StepContext) -> StepResult:
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
    return StepResult((event,), (data,))
