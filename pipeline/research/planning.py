"""The steps Survey, Plan, AskApproval and ExtendPlan."""

from __future__ import annotations

from pipeline.domain.agenda.analysis_agenda import worthwhile_gaps
from pipeline.domain.events import session_events as e
from pipeline.domain.memory.values import Recalled
from pipeline.domain.plan import first_plan, gap_plan
from pipeline.domain.reasoner_questions import PerspectivesQuestion
from pipeline.domain.state import SessionState, search_nodes
from pipeline.domain.steps import AskApproval, ExtendPlan, PlainPlan, Plan, Survey
from pipeline.domain.values import EXTRACTIVE, Gap, Hit, Perspective
from pipeline.errors import AnswerInvalid
from pipeline.research.step_context import Outcome, StepContext, charged_to, paid
from pipeline.text.normalise import clean, one_line, slug


def clean_hits(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits with their texts cleaned and cut; hits with an empty address or with control characters are left out."""
    return tuple(
        hit.model_copy(
            update={
                "title": one_line(hit.title) or hit.url,
                "snippet": clean(hit.snippet)[:4_000],
                "heading": one_line(hit.heading),
                "published": one_line(hit.published, 40),
            }
        )
        for hit in hits
        if hit.url.strip() and clean(hit.url) == hit.url
    )


async def survey(_step: Survey, state: SessionState, context: StepContext) -> Outcome:
    """Search for the query itself."""
    result = await context.search.search(state.query, state.config.survey_hits)
    event = e.TopicSurveyed(
        provider=result.provider,
        hits=clean_hits(result.hits),
        failed=result.failed,
        cost=result.cost,
        statistics=result.statistics,
        languages=result.languages,
        absent=result.absent,
    )
    return Outcome((event,))


async def make_plain_plan(_step: PlainPlan, state: SessionState, context: StepContext) -> Outcome:
    """Make the plan without the model."""
    return await make_plan(Plan(), state, context.without_model())


async def make_plan(_step: Plan, state: SessionState, context: StepContext) -> Outcome:
    """Ask for perspectives and make the DAG.

    Raises:
        AnswerInvalid: the answer has no perspective with a question.
    """
    config = state.config
    question = PerspectivesQuestion(
        query=state.query,
        hits=state.survey.hits if state.survey else (),
        count=config.perspectives,
        questions=config.questions,
        recalled=state.recalled or Recalled(),
    )
    answer = await context.reasoner.answer(question)
    with charged_to(answer):
        views = _valid_perspectives(answer.value.perspectives, config.perspectives, config.questions)
    cost = paid(answer)
    plan = e.PlanCreated(
        perspectives=views,
        nodes=first_plan(views, validates=config.reasoner != EXTRACTIVE),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((plan,), cost.objects)


def _valid_perspectives(views: tuple[Perspective, ...], count: int, questions: int) -> tuple[Perspective, ...]:
    """Return the perspectives with a name, a unique id and at least one question, at most ``count``.

    Raises:
        AnswerInvalid: there is none.
    """
    sound: dict[str, Perspective] = {}
    for view in views:
        asked = tuple(dict.fromkeys(filter(None, map(one_line, view.questions))))[:questions]
        name = one_line(view.name, 80)
        if asked and name and slug(view.id or name) not in sound:
            update = {"id": slug(view.id or name), "name": name, "focus": one_line(view.focus, 400), "questions": asked}
            sound[slug(view.id or name)] = view.model_copy(update=update)
    if not sound:
        raise AnswerInvalid("the answer has no perspective with a question", hint="the step will be tried again")
    return tuple(sound.values())[:count]


def ask_approval(_step: AskApproval, _state: SessionState) -> Outcome:
    """Request the user's approval of the plan."""
    return Outcome((e.ApprovalRequested(),))


def approval_of(views: tuple[Perspective, ...], reasoner: str) -> e.ApprovalGiven:
    """Return the approval of the plan; the user's ``views``, if there are any, replace the planned perspectives.

    Raises:
        AnswerInvalid: none of the views has a question.
    """
    if not views:
        return e.ApprovalGiven()
    sound = _valid_perspectives(views, len(views), max(len(view.questions) for view in views))
    return e.ApprovalGiven(perspectives=sound, nodes=first_plan(sound, validates=reasoner != EXTRACTIVE))


def extend_plan(step: ExtendPlan, state: SessionState) -> Outcome:
    """Add a worker to the plan for each of the round's worthwhile gaps."""
    first = sum(node.id.startswith("gap_") for node in search_nodes(state))
    views = tuple(_gap_view(gap, number) for number, gap in enumerate(worthwhile_gaps(state, step.round), start=first))
    nodes = gap_plan(views, step.round + 1, first)
    return Outcome((e.PlanExtended(round=step.round + 1, perspectives=views, nodes=nodes),))


def _gap_view(gap: Gap, number: int) -> Perspective:
    return Perspective(id=f"gap-{number}", name=f"Gap: {one_line(gap.question, 80)}", focus=gap.reason, questions=(gap.question,))
