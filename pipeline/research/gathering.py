"""The steps of a worker: think, search, read, observe, evaluate."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Any, NamedTuple

from pipeline.domain.events import session_events as e
from pipeline.domain.not_found_gate import statistics
from pipeline.domain.reasoner_questions import EvaluationQuestion, Finding, ObservationQuestion, ThoughtQuestion
from pipeline.domain.state import GIVES_ORDERS, SessionState, asked_queries, facts_of, focus_of
from pipeline.domain.steps import Evaluate, FailWorker, FinishWorker, Observe, Read, SearchFor, StartWorker, Think
from pipeline.domain.values import Fact, RejectedFact
from pipeline.errors import ReadFailed
from pipeline.research.context_compression import context_of
from pipeline.research.planning import clean_hits
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.model_orders import gives_orders
from pipeline.text.normalise import clean, digest_of, normalised, one_line
from pipeline.text.page_format import blocks

MAX_SEARCH = 300  # characters of a search query
MIN_QUOTE_WORDS = 3  # words
MAX_EARLIER_FACTS = 40


def start_worker(step: StartWorker, state: SessionState) -> Outcome:
    """Start the worker of a search node."""
    node = state.nodes[step.worker_id]
    number = state.gap_rounds if step.worker_id.startswith("gap_") else 0
    return Outcome((e.WorkerStarted(worker_id=node.id, perspective_id=node.perspective, round=number),))


def finish_worker(step: FinishWorker, state: SessionState) -> Outcome:
    """Record that a worker has finished."""
    facts = len(facts_of(state, state.workers[step.worker_id]))
    return Outcome((e.WorkerCompleted(worker_id=step.worker_id, reason=step.reason, facts=facts),))


def fail_worker(step: FailWorker, state: SessionState) -> Outcome:
    """Record that a worker failed, with the failure of the step that ended it."""
    failure = state.failures[step.step]
    return Outcome((e.WorkerFailed(worker_id=step.worker_id, reason=f"{failure.error}: {failure.message}"),))


async def think(step: Think, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask what to search for next; queries that the worker has made before are dropped."""
    worker = state.workers[step.worker_id]
    asked = asked_queries(worker)
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
        **_earlier_facts(state, step.iteration),
    )
    answer = await step_context.reasoner.answer(question)
    cost = paid(answer)
    thought = e.WorkerThought(
        worker_id=worker.id,
        iteration=step.iteration,
        reasoning=one_line(answer.value.reasoning, 2_000),
        queries=_new_queries(answer.value.queries, asked, question.limit),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((thought,), cost.objects)


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
    data = text.encode()
    event = e.PageRead(
        url=step.url,
        title=one_line(page.title) or step.url,
        digest=digest_of(data),
        characters=len(text),
        final_url=page.url if page.url != step.url else "",
        media_type=page.media_type,
        author=one_line(page.author),
        published=one_line(page.published, 40),
        notices=(*((GIVES_ORDERS,) if gives_orders(text) else ()), *page.notices),
    )
    return Outcome((event,), (data,))


async def observe(step: Observe, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask for the facts of one page; findings whose quote is not in the page are rejected."""
    worker = state.workers[step.worker_id]
    page = state.pages[step.url]
    text = step_context.page_text(page.digest)
    question = ObservationQuestion(
        query=state.query,
        perspective=state.perspectives[worker.perspective_id],
        searches=worker.iterations[step.iteration - 1].queries,
        url=page.url,
        title=page.title,
        text=text,
        focus=focus_of(state, worker, step.iteration, page.url),
        limit=state.config.facts_per_page,
        statistics=statistics(state),
    )
    answer = await step_context.reasoner.answer(question)
    facts, rejected = _facts_and_rejected(answer.value.findings[: question.limit], question, page.digest)
    cost = paid(answer)
    event = e.FactsObserved(
        worker_id=worker.id,
        iteration=step.iteration,
        url=page.url,
        digest=page.digest,
        facts=facts,
        rejected=rejected,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _facts_and_rejected(
    findings: tuple[Finding, ...], question: ObservationQuestion, digest: str
) -> tuple[tuple[Fact, ...], tuple[RejectedFact, ...]]:
    facts: dict[str, Fact] = {}
    rejected: list[RejectedFact] = []
    for finding in findings:
        if why := why_rejected(finding, question.text):
            rejected.append(RejectedFact(claim=clean(finding.claim), quote=clean(finding.quote), reason=why))
        else:
            fact = _fact_from(finding, question, digest)
            facts.setdefault(fact.id, fact)
    return tuple(facts.values()), tuple(rejected)


def why_rejected(finding: Finding, text: str) -> str:
    """Return why a finding is rejected as a fact of the page ``text``, or ""."""
    if not finding.claim.strip():
        return "its claim is empty"
    if len(finding.quote.split()) < MIN_QUOTE_WORDS:
        return f"its quote is shorter than {MIN_QUOTE_WORDS} words"
    page = _normalised_page(text)
    if normalised(clean(finding.lead)) not in page:
        return "the header or introduction of its quote is not in the page"
    return "" if normalised(clean(finding.quote)) in page else "its quote is not in the page"


@lru_cache(maxsize=64)
def _normalised_page(text: str) -> str:
    return normalised(text)


class _Place(NamedTuple):
    """The start of a block in the normalised page, its headings, and whether it directly follows one (``opens``)."""

    start: int
    anchor: str
    path: tuple[str, ...]
    opens: bool = False


@lru_cache(maxsize=64)
def _places(text: str) -> tuple[_Place, ...]:
    page = _normalised_page(text)
    found: list[_Place] = []
    at = 0
    opens = True
    for block in blocks(text):
        if block.kind != "heading" and (start := page.find(normalised(block.text), at)) >= 0:
            found.append(_Place(start, block.anchor, block.path, opens))
            at = start + len(normalised(block.text))
        opens = block.kind == "heading"
    return tuple(found)


def _place_of(quote: str, text: str, near: int) -> _Place:
    """Return the start of a normalised quote, with the anchor and headings of the block in which it begins."""
    page = _normalised_page(text)
    start = near if page.startswith(quote, max(near, 0)) and near >= 0 else page.find(quote)
    marks = len(quote) - len(quote.lstrip("-|` "))  # a block's start does not include its list or table mark
    places = _places(text)
    at = bisect_right(places, start + marks, key=lambda place: place.start) - 1
    if at < 0:
        return _Place(start, "", ())
    return places[at]._replace(start=start, opens=places[at].opens and start <= places[at].start)


def _fact_from(finding: Finding, question: ObservationQuestion, digest: str) -> Fact:
    quote = normalised(clean(finding.quote))
    place = _place_of(quote, question.text, finding.near)
    return Fact(
        id=digest_of(f"{quote}\n{question.url}".encode())[:12],
        claim=one_line(finding.claim, 1_000),
        quote=_verbatim(finding.quote, question.text),
        url=question.url,
        digest=digest,
        anchor=place.anchor,
        heading=one_line(place.path[-1]) if len(place.path) > 1 else "",
        question=one_line(finding.question, 400),
        relevance=round(min(1.0, max(0.0, finding.relevance)), 4),
        path=tuple(one_line(name) for name in place.path) or (one_line(question.title),),
        lead=one_line(finding.lead, 1_000),
        start=place.start,
        opens=place.opens,
    )


def _verbatim(quote: str, text: str) -> str:
    """Return a quote with the page's line breaks; if it differs, with its own lines for items, rows and code, else joined."""
    if clean(quote).strip() in text:
        return clean(quote).strip()
    lines = [line.rstrip() for line in clean(quote).strip().split("\n")]
    if any(line.startswith(("- ", "| ", "```")) for line in lines):
        return "\n".join(lines)
    return (
        " ".join(" ".join(lines).split())
        if "" not in lines
        else "\n\n".join(" ".join(part.split()) for part in "\n".join(lines).split("\n\n"))
    )


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
    )
    config = state.config
    answer = await step_context.reasoner.answer(question)
    gaps = tuple(dict.fromkeys(filter(None, map(one_line, answer.value.gaps))))
    cost = paid(answer)
    event = e.WorkerEvaluated(
        worker_id=worker.id,
        iteration=step.iteration,
        sufficient=len(facts) >= config.sufficient_facts and len(gaps) < config.max_open_gaps,
        gaps=gaps,
        reason=one_line(answer.value.reason, 1_000),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)
