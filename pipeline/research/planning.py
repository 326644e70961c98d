"""The steps of the plan: survey, perspectives with first queries, approval, gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import facts_of, may_be_read
from pipeline.domain.reasoner_questions import PlanQuestion
from pipeline.domain.state import SessionState, first_plan, gap_plan, search_nodes, workers_in_order
from pipeline.domain.steps import AskApproval, ExtendPlan, FindGaps, PlainPlan, Plan, Survey
from pipeline.domain.values import EXTRACTIVE, Gap, Perspective, Recalled, ResearchConfig
from pipeline.errors import AnswerInvalid
from pipeline.ports import SearchResult
from pipeline.research.step_context import StepContext, StepResult, charged_to, paid
from pipeline.text.normalise import clean, one_line, slug
from pipeline.text.questions import parse_question

MAX_SEARCH = 300  # characters of a search query
MAX_GAPS = 6  # of a round
MAX_EARLIER_FACTS = 40
BASIC = "basic-facts"  # the id of the first perspective
NOT_SEARCHED = "Came up while reading; the parts of pages that were read do not answer it"
_MORE = 3  # times as many hits are asked for where only some are allowed


def today_of(state: SessionState) -> str:
    """Return the day on which the session started: ``2026-11-21``; "" before its start."""
    return state.started_at[:10]


async def searched(query: str, count: int, config: ResearchConfig, context: StepContext) -> SearchResult:
    """Search, and return the result with at most ``count`` hits: their texts cleaned and cut, without those that are not allowed.

    Hits with an empty address or with control characters are left out.
    """
    result = await context.search.search(query, (_MORE if config.allow or config.deny else 1) * count)
    hits = [hit for hit in result.hits if hit.url.strip() and clean(hit.url) == hit.url and may_be_read(hit.url, config)]
    cleaned = [
        {
            "title": one_line(hit.title) or hit.url,
            "snippet": clean(hit.snippet)[:4_000],
            "heading": one_line(hit.heading),
            "published": one_line(hit.published, 40),
        }
        for hit in hits
    ]
    return replace(result, hits=tuple(hit.model_copy(update=texts) for hit, texts in zip(hits[:count], cleaned, strict=False)))


async def survey(_step: Survey, state: SessionState, context: StepContext) -> StepResult:
    """Search for the query itself."""
    result = await searched(state.query, state.config.survey_hits, state.config, context)
    event = e.TopicSurveyed(
        provider=result.provider,
        hits=result.hits,
        failed=result.failed,
        cost=result.cost,
        statistics=result.statistics,
        languages=result.languages,
        absent=result.absent,
    )
    return StepResult((event,))


async def make_plain_plan(_step: PlainPlan, state: SessionState, context: StepContext) -> StepResult:
    """Make the plan without a model: one perspective, which searches for the question and for each of its parts."""
    return StepResult((_plan_of((plain_view(state.query),), state, window=_window(context)),))


def _window(context: StepContext) -> int:
    window: int = getattr(context.reasoner, "context_window", 0)
    return window


def plain_view(query: str) -> Perspective:
    """Return the question itself as the only perspective."""
    asked = tuple(dict.fromkeys((query, *parse_question(query).parts)))
    return Perspective(id=BASIC, name="The question itself", focus="What the sources say to the question", questions=asked)


def _plan_of(views: tuple[Perspective, ...], state: SessionState, **more: Any) -> e.PlanCreated:
    return e.PlanCreated(perspectives=views, nodes=first_plan(views, validates=state.config.reasoner != EXTRACTIVE), **more)


async def make_plan(_step: Plan, state: SessionState, context: StepContext) -> StepResult:
    """Ask for the kind of answer and the perspectives, with their first queries, and make the DAG.

    Raises:
        AnswerInvalid: the answer has no perspective with a question.
    """
    config = state.config
    if config.reasoner == EXTRACTIVE:
        return StepResult((_plan_of((plain_view(state.query),), state),))
    question = PlanQuestion(
        query=state.query,
        hits=state.survey.hits if state.survey else (),
        count=config.perspectives,
        questions=config.questions,
        today=today_of(state),
        recalled=state.recalled or Recalled(),
        **_earlier_facts(state),
    )
    answer = await context.reasoner.answer(question)
    said = answer.value
    with charged_to(answer):
        planned = [Perspective(id=BASIC if view is said.perspectives[0] else "", **dict(view)) for view in said.perspectives]
        views = _valid_perspectives(planned, config.perspectives, config.questions)
    return paid(answer, _plan_of(views, state, kind=said.kind, recent=said.recent, window=_window(context)))


def _earlier_facts(state: SessionState) -> dict[str, Any]:
    """Return question fields with the facts of an earlier session on the same query, those of cited sources first."""
    if state.earlier is None:
        return {}
    cited = set(state.earlier.cited)
    facts = sorted(state.earlier.facts, key=lambda fact: fact.url not in cited)
    return {"earlier": tuple(facts[:MAX_EARLIER_FACTS]), "earlier_on": state.earlier.reported_at[:10]}


def _valid_perspectives(views: Iterable[Perspective], count: int, questions: int) -> tuple[Perspective, ...]:
    """Return the perspectives with a name and at least one question that none before has, at most ``count``.

    One without an id has it from its name.

    Raises:
        AnswerInvalid: there is none.
    """
    sound: dict[str, Perspective] = {}
    for view in views:
        known = {"", *(question for other in sound.values() for question in other.questions)}
        asked = tuple(text for text in dict.fromkeys(one_line(text, 400) for text in view.questions) if text not in known)[
            :questions
        ]
        if asked and (name := one_line(view.name, 80)):
            wanted = slug(view.id or name, 40)
            own = wanted if wanted not in sound else f"{wanted}-{len(sound) + 1}"
            queries = new_queries(view.queries, ())
            sound[own] = Perspective(id=own, name=name, focus=one_line(view.focus, 400), questions=asked, queries=queries)
    if not sound:
        raise AnswerInvalid("the answer has no perspective with a question", hint="the step will be tried again")
    return tuple(sound.values())[:count]


def new_queries(queries: Iterable[str], asked: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """Return the first ``most`` queries, each on a line and once, without those that were ``asked`` before."""
    known = {query.casefold() for query in asked}
    fresh: dict[str, str] = {}
    for query in (one_line(query, MAX_SEARCH) for query in queries):
        if query and query.casefold() not in known:
            fresh.setdefault(query.casefold(), query)
    return tuple(fresh.values())[:most]


def ask_approval(_step: AskApproval, _state: SessionState) -> StepResult:
    """Request the user's approval of the plan."""
    return StepResult((e.ApprovalRequested(),))


def approval_of(views: tuple[Perspective, ...], reasoner: str) -> e.ApprovalGiven:
    """Return the approval of the plan; the user's ``views``, if there are any, replace the planned perspectives.

    Raises:
        AnswerInvalid: none of the views has a question.
    """
    if not views:
        return e.ApprovalGiven()
    plain = tuple(view.model_copy(update={"queries": ()}) for view in views)  # they were made for the questions before
    sound = _valid_perspectives(plain, len(views), max(len(view.questions) for view in views))
    return e.ApprovalGiven(perspectives=sound, nodes=first_plan(sound, validates=reasoner != EXTRACTIVE))


def find_gaps(step: FindGaps, state: SessionState) -> StepResult:
    """Collect the questions that the last readings left open, each once: the first of each worker, then the second ones.

    What one worker left open and another one beside it found is not open.

    Of the last round, those come first that were searched for: only these can be said not to be found.
    """
    workers = [worker for worker in workers_in_order(state) if worker.iterations and worker.round == step.round]
    answered = {worker.id: {fact.question for fact in facts_of(worker)} for worker in workers}
    open_of = [
        [
            question
            for question in (worker.iterations[-1].gaps if worker.iterations[-1].evaluated else ())
            if not any(question in found for name, found in answered.items() if name != worker.id)
        ]
        for worker in workers
    ]
    asked = dict.fromkeys(question for turn in zip_longest(*open_of) for question in turn if question)
    searched_for = {question for view in state.perspectives.values() for question in view.questions}
    is_last = step.round >= state.config.gap_rounds or state.exhausted
    gaps = tuple(
        Gap(
            question=one_line(question, 400),
            importance=0.5,
            reason=NOT_SEARCHED if is_last and question not in searched_for else "",
        )
        for question in sorted(asked, key=lambda question: is_last and question not in searched_for)[:MAX_GAPS]
    )
    return StepResult((e.GapsFound(round=step.round, gaps=gaps),))


def extend_plan(step: ExtendPlan, state: SessionState) -> StepResult:
    """Add a worker to the plan that searches once more for what the round left open: with the last queries, which nobody made."""
    number = sum(node.id.startswith("gap_") for node in search_nodes(state))
    questions = tuple(gap.question for gap in state.analyses[step.round].gaps or ())[:MAX_GAPS]
    last = [worker.iterations[-1] for worker in workers_in_order(state) if worker.iterations]
    queries = new_queries((query for iteration in last for query in iteration.next_queries or ()), state.searches, 4)
    view = Perspective(
        id=f"gap-{number}",
        name="What is still open",
        focus="",
        questions=questions,
        queries=new_queries((*queries, *questions), state.searches, 6),
    )
    return StepResult(
        (e.PlanExtended(round=step.round + 1, perspectives=(view,), nodes=gap_plan((view,), step.round + 1, number)),)
    )
