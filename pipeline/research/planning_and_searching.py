"""The steps before a report is written: survey, plan, approval, searches, pages, rounds of a worker, gaps.

Of what earlier nights found, only a page that is read again is cited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import takewhile, zip_longest
from typing import Any

from pipeline.config.services import LOCAL
from pipeline.domain import session_state
from pipeline.domain import steps as s
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import facts_of, may_be_read, without_fragment
from pipeline.domain.reasoner_questions import PlanQuestion
from pipeline.domain.research_values import Gap, Hit, Perspective, Recalled, ResearchConfig
from pipeline.domain.session_state import SessionState, Worker, asked_queries, plan_of, search_nodes, workers_in_order
from pipeline.errors import AnswerInvalid, ReadFailed
from pipeline.ports import Page, SearchResult
from pipeline.research.step_context import StepContext, StepResult, paid
from pipeline.text.cleaning import clean, digest_of, one_line, slug
from pipeline.text.model_orders import gives_orders
from pipeline.text.questions import content_stems, parse_question
from pipeline.text.ranking import TermStatistics, coverage, page_origin, term_weights
from pipeline.text.words import jaccard, stems

MAX_SEARCH = 300  # characters of a search query
MAX_GAPS = 6  # of a round
MOST_QUERIES = 20
MAX_EARLIER_FACTS = 40
BASIC = "basic-facts"  # the id of the first perspective
NOT_SEARCHED = "Came up while reading, not searched for in these words; the parts of pages that were read do not answer it"
_NAMED = 2  # pages that come nearest to an open question and were not read
_ALIKE = 0.7  # of the words of two questions that ask the same
_WHOLE_HITS, _OF_REST = 40, 160  # hits of a search that are kept whole, and characters of the others, which a plan shows by name
_MORE = 3  # times as many hits are asked for where only some are allowed


def today_of(state: SessionState) -> str:
    """Return the day on which the session started: ``2026-11-21``; "" before its start."""
    return state.started_at[:10]


async def searched(query: str, count: int, config: ResearchConfig, context: StepContext) -> SearchResult:
    """Search, and return the result with at most ``count`` hits: their texts cleaned and cut, without those that are not allowed.

    Hits with an empty address or with control characters are left out.
    """
    result = await context.search.search(query, (_MORE if config.allow or config.deny else 1) * count)
    sound = [hit for hit in result.hits if hit.url.strip() and clean(hit.url) == hit.url]
    found = [hit for hit in sound if may_be_read(hit.url, config)]
    hits: list[Hit] = []
    for hit in found[:count]:
        snippet = clean(hit.snippet)[: _OF_REST if len(hits) >= _WHOLE_HITS else 4_000]
        texts = {"title": one_line(hit.title) or hit.url, "snippet": snippet, "heading": one_line(hit.heading)}
        hits.append(hit.model_copy(update={**texts, "published": one_line(hit.published, 40)}))
    return replace(result, hits=tuple(hits), left_out=len(sound) - len(found))


def _fields(found: SearchResult | Page, event: type[e.EventBase]) -> dict[str, Any]:
    """The values that an event has of what was found, by name."""
    return {one.name: getattr(found, one.name) for one in fields(found) if one.name in event.model_fields}


async def survey(_step: s.Survey, state: SessionState, context: StepContext) -> StepResult:
    """Search for the query itself."""
    found = await searched(state.query, state.config.survey_hits, state.config, context)
    return StepResult((e.TopicSurveyed(**_fields(found, e.TopicSurveyed)),))


async def make_plan(step: s.Plan | s.PlainPlan, state: SessionState, context: StepContext) -> StepResult:
    """Ask for the kind of answer and the perspectives, with their first queries, and make the DAG.

    Without a model, the question itself is the only perspective, with a search for each of its parts. Of an earlier session on
    the query the model is shown the facts, those of cited sources first.
    """
    config, earlier = state.config, state.earlier
    if not config.has_model or isinstance(step, s.PlainPlan):
        parts = parse_question(state.query).parts
        # Without a model the survey has searched for the question itself.
        asked = parts if parts and not config.has_model else (state.query, *parts)
        plain = Perspective(id=BASIC, name="The question itself", focus="What the sources say to the question", questions=asked)
        nodes = plan_of((plain,), validates=config.has_model)
        return StepResult((e.PlanCreated(perspectives=(plain,), nodes=nodes, window=_window(context)),))
    facts = sorted(earlier.facts, key=lambda fact: fact.url not in earlier.cited) if earlier else []
    question = PlanQuestion(
        query=state.query,
        hits=state.survey.hits if state.survey else (),
        count=config.perspectives,
        questions=config.questions,
        today=today_of(state),
        recalled=state.recalled or Recalled(),
        earlier=tuple(facts[:MAX_EARLIER_FACTS]),
        earlier_on=earlier.reported_at[:10] if earlier else "",
    )
    answer = await context.answer(question)
    said = answer.value
    views = _valid_perspectives(question.perspectives(said, BASIC), config.perspectives, config.questions)
    event = e.PlanCreated(perspectives=views, nodes=plan_of(views), kind=said.kind, recent=said.recent, window=_window(context))
    return paid(answer, event)


def _window(context: StepContext) -> int:
    return getattr(context.reasoner, "context_window", 0)  # known once its model was asked


def _valid_perspectives(views: Iterable[Perspective], count: int, questions: int) -> tuple[Perspective, ...]:
    """Return the perspectives with a name and at least one question that none before has, at most ``count``.

    One without an id has it from its name.

    Raises:
        AnswerInvalid: there is none.
    """
    sound: dict[str, Perspective] = {}
    for view in views:
        known = {"", *(question for other in sound.values() for question in other.questions)}
        own_questions = dict.fromkeys(one_line(text, 400) for text in view.questions)
        asked = tuple(text for text in own_questions if text not in known)[:questions]
        if asked and (name := one_line(view.name, 80)):
            wanted = slug(view.id or name, 40)
            own = wanted if wanted not in sound else f"{wanted}-{len(sound) + 1}"
            own_values = {"id": own, "name": name, "focus": one_line(view.focus, 400), "questions": asked}
            sound[own] = view.model_copy(update={**own_values, "queries": new_queries(view.queries, ())})
    if not sound:
        raise AnswerInvalid("no perspective has a question")
    return tuple(sound.values())[:count]


def new_queries(queries: Iterable[str], asked: Iterable[str], most: int = MOST_QUERIES) -> tuple[str, ...]:
    """Return the first ``most`` queries, each on a line and once, without those that were ``asked`` before."""
    known = {query.casefold() for query in asked}
    fresh: dict[str, str] = {}
    for query in (one_line(query, MAX_SEARCH) for query in queries):
        if query and query.casefold() not in known:
            fresh.setdefault(query.casefold(), query)
    return tuple(fresh.values())[:most]


def approval_of(views: tuple[Perspective, ...], *, validates: bool) -> e.ApprovalGiven:
    """Return the approval of the plan; the user's ``views``, if there are any, replace the planned perspectives.

    Raises:
        AnswerInvalid: none of the views has a question.
    """
    if not views:
        return e.ApprovalGiven()
    plain = tuple(view.model_copy(update={"queries": (), "pages": ()}) for view in views)  # made for the questions before
    sound = _valid_perspectives(plain, len(views), max(len(view.questions) for view in views))
    return e.ApprovalGiven(perspectives=sound, nodes=plan_of(sound, validates=validates))


def find_gaps(step: s.FindGaps, state: SessionState) -> StepResult:
    """Collect the questions that the last readings left open, each once: the first of each worker, then the second ones.

    One in nearly the words of another is the same, unless one word stands in the place of another: *before* and *after*. What
    one worker left open and another one beside it found is not open; what was found before, that worker was shown.

    Of the last round, those come first that were searched for, by themselves or with all their words in one search: only these
    can be said not to be found, and only where the pages that come nearest were read.
    """
    workers = [worker for worker in workers_in_order(state) if worker.iterations and worker.round == step.round]

    def still_open(worker: Worker) -> list[str]:
        last = len(worker.iterations) - 1
        beside = [one for other in workers if other is not worker for one in other.iterations[last:]]
        found = {fact.question for one in beside for seen in one.observed.values() for fact in seen.facts}
        gaps = worker.iterations[last].gaps if worker.iterations[last].evaluated else ()
        return [question for question in gaps if question not in found]

    def search_for(question: str) -> str:
        query, own = one_line(question, MAX_SEARCH), content_stems(question)
        alike = (one for one in state.searches if len(own) > 1 and own <= content_stems(one))
        return query if query in state.searches else next(alike, "")

    asked_for = {question for view in state.perspectives.values() for question in view.questions}
    is_last = step.round >= state.config.gap_rounds or state.exhausted
    in_turn = (one for turn in zip_longest(*map(still_open, workers)) for one in turn if one)
    asked: list[str] = []
    for question in sorted(in_turn, key=lambda one: is_last and one not in asked_for and not search_for(one)):
        if not any(question == one or _ask_the_same(question, one) for one in asked):
            asked.append(question)
    gaps = []
    for question in asked[:MAX_GAPS]:
        done = state.searches.get(search_for(question))
        nearest = takewhile(lambda hit: without_fragment(hit.url) not in state.observed, done.hits if done else ())
        unread = dict.fromkeys(f"“{one_line(hit.title, 60)}”" for hit in nearest)
        reason = f"Near it, but not read: {', '.join(list(unread)[:_NAMED])}" if unread else ""
        reason = reason if done or question in asked_for else NOT_SEARCHED
        failure = state.failures.get(s.SearchFor(one_line(question, MAX_SEARCH)).key)
        reason = f"The search for it failed: {failure.message}" if failure and not done else reason
        gaps.append(Gap(question=one_line(question, 400), reason=reason if is_last else ""))
    return StepResult((e.GapsFound(round=step.round, gaps=tuple(gaps)),))


def _ask_the_same(first: str, second: str) -> bool:
    own, other = set(stems(first)), set(stems(second))
    is_contrast = len(own - other) == len(other - own) == 1
    return not is_contrast and jaccard(content_stems(first), content_stems(second)) >= _ALIKE


def extend_plan(step: s.ExtendPlan, state: SessionState) -> StepResult:
    """Add a worker to the plan that searches once more for what the round left open.

    Each open question is searched for by itself, for only what was searched for can be said not to be found; and so are the
    last queries, which nobody made, and first: a model finds the words of the pages where the user's own are others. Of 50
    planted questions, six at a time, one such query for each shows the line that answers 43, and two of them no more.
    """
    number = sum(node.is_gap for node in search_nodes(state))
    questions = tuple(gap.question for gap in state.analyses[step.round].gaps or ())[:MAX_GAPS]
    last = [worker.iterations[-1].next_queries or () for worker in workers_in_order(state) if worker.iterations]
    in_turn = (query for turn in zip_longest(*last) for query in turn if query)  # the first of each worker, then the second ones
    queries = new_queries(in_turn, state.searches, MAX_GAPS)
    queries = new_queries((*queries, *questions), state.searches)
    view = Perspective(id=f"gap-{number}", name="What is still open", focus="", questions=questions, queries=queries)
    nodes = plan_of((view,), step.round + 1, number)
    return StepResult((e.PlanExtended(round=step.round + 1, perspectives=(view,), nodes=nodes),))


_ANSWERS_FROM = 0.6  # of the weight of a question's words


def recalled_pages(state: SessionState, view: Perspective) -> tuple[str, ...]:
    """Return the pages of recalled statements that answer the view's questions, those with most of them first.

    At most a third of the pages of an iteration. A session reads documents only if it searches them, and web pages only if it
    searches the web, whatever another session read.
    """
    known, searches = state.recalled or Recalled(), state.config.search
    found: dict[tuple[str, str], None] = {}
    for question in view.questions:
        parsed = parse_question(question)
        weights = term_weights(parsed, TermStatistics())
        for one in (record.statement for record in known.statements):
            answers = coverage(weights, frozenset(stems(one.claim, parsed.language))) >= _ANSWERS_FROM
            side = LOCAL in searches if page_origin(one.url) == "own" else any(name != LOCAL for name in searches)
            if answers and side and may_be_read(one.url, state.config):
                found[one.fact, one.url] = None
    counts = Counter(url for _fact, url in found)
    return tuple(url for url, _ in counts.most_common(-(-state.config.pages_per_iteration // 3)))


def start_worker(step: s.StartWorker, state: SessionState) -> StepResult:
    """Start the worker of a search node, with the first queries of its perspective and the pages that earlier nights found."""
    node = state.nodes[step.worker_id]
    view = state.perspectives[node.perspective]
    number = state.gap_rounds if node.is_gap else 0
    started = e.WorkerStarted(worker_id=node.id, perspective_id=node.perspective, round=number)
    pages = () if number or not state.config.has_model else recalled_pages(state, view)
    asked = () if state.config.has_model else (state.query,)  # the survey searched for it
    queries = new_queries(view.queries or view.questions, asked, MOST_QUERIES if number else state.config.queries_per_thought)
    thought = e.WorkerThought(worker_id=node.id, iteration=1, seconds=0.0, reasoning="", queries=queries, pages=pages)
    return StepResult((started, thought))


def finish_worker(step: s.FinishWorker, state: SessionState) -> StepResult:
    """Record that a worker has finished."""
    facts = len(facts_of(state.workers[step.worker_id]))
    return StepResult((e.WorkerCompleted(worker_id=step.worker_id, reason=step.reason, facts=facts),))


def fail_worker(step: s.FailWorker, state: SessionState) -> StepResult:
    """Record that a worker failed, with the failure of the step that ended it."""
    failure = state.failures[step.step]
    return StepResult((e.WorkerFailed(worker_id=step.worker_id, reason=f"{failure.error}: {failure.message}"),))


def next_round(step: s.NextRound, state: SessionState) -> StepResult:
    """Go on with the searches that the last reading named; an older session may name only what is still open."""
    worker = state.workers[step.worker_id]
    view = state.perspectives[worker.perspective_id]
    last = worker.iterations[-1] if worker.iterations else None
    named = (last.next_queries or last.gaps) if last else (view.queries or view.questions)
    queries = new_queries(named, asked_queries(worker), state.config.queries_per_thought)
    reason = last.reason if last else ""
    return StepResult((e.WorkerThought(worker_id=worker.id, iteration=step.iteration, reasoning=reason, queries=queries),))


async def search_for(step: s.SearchFor, state: SessionState, context: StepContext) -> StepResult:
    """Make one search."""
    count = max(state.config.hits_per_query, step.query.count(";") + 1)  # a hit for each heading that is asked for
    found = await searched(step.query, count, state.config, context)
    return StepResult((e.SearchCompleted(query=step.query, **_fields(found, e.SearchCompleted)),))


async def fetch_page(step: s.FetchPage, _state: SessionState, context: StepContext) -> StepResult:
    """Read one page; its text is returned as an object to store.

    Raises:
        ReadFailed: the page has no text.
    """
    page = await context.fetch.read(step.url)
    text = clean(page.text).strip()
    if not text:
        raise ReadFailed(f"{step.url} has no text")
    data, title = text.encode(), one_line(page.title)
    said = _fields(page, e.PageRead) | {
        "url": step.url,
        "title": title if title and not gives_orders(title) else step.url,
        "final_url": page.url if page.url != step.url else "",
        "author": one_line(page.author),
        "published": one_line(page.published, 40),
        "notices": (*((session_state.GIVES_ORDERS,) if gives_orders(text) else ()), *page.notices),
    }
    return StepResult((e.PageRead(digest=digest_of(data), characters=len(text), **said),), (data,))
