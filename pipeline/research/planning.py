"""Survey, plan, and the gap round's extension of the plan."""

from __future__ import annotations

from pipeline.domain.agenda import worthwhile_gaps
from pipeline.domain.events import session_events as e
from pipeline.domain.plan import first_plan, gap_plan
from pipeline.domain.questions import PerspectivesQuestion
from pipeline.domain.state import SessionState, search_nodes
from pipeline.domain.steps import AskApproval, ExtendPlan, Plan, Survey
from pipeline.domain.values import Gap, Hit, Perspective
from pipeline.errors import AnswerInvalid
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import clean, one_line, slug


def clean_hits(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits with their texts cleaned and bounded; a hit without an address, or with an unsound one, is none."""
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
    )
    return Outcome((event,))


async def make_plan(_step: Plan, state: SessionState, context: StepContext) -> Outcome:
    """Ask for perspectives; lay out the DAG.

    Raises:
        AnswerInvalid: no perspective with a question came back.
    """
    config = state.config
    question = PerspectivesQuestion(
        query=state.query,
        hits=state.survey.hits if state.survey else (),
        count=config.perspectives,
        questions=config.questions,
    )
    answer = await context.reasoner.answer(question)
    views = _sound(answer.value.perspectives, config.perspectives, config.questions)
    cost = paid(answer)
    plan = e.PlanCreated(perspectives=views, nodes=first_plan(views), cost=cost.cost, exchange=cost.exchange)
    return Outcome((plan,), cost.objects)


def _sound(views: tuple[Perspective, ...], count: int, questions: int) -> tuple[Perspective, ...]:
    """The perspectives with usable names, unique ids and at least one question, cut to what was asked for."""
    sound: dict[str, Perspective] = {}
    for view in views:
        asked = tuple(dict.fromkeys(filter(None, map(one_line, view.questions))))[:questions]
        name = one_line(view.name, 80)
        if asked and name and slug(view.id or name) not in sound:
            update = {"id": slug(view.id or name), "name": name, "focus": one_line(view.focus, 400), "questions": asked}
            sound[slug(view.id or name)] = view.model_copy(update=update)
    if not sound:
        raise AnswerInvalid("the answer holds no perspective with a question", hint="it will be asked again")
    return tuple(sound.values())[:count]


def ask_approval(_step: AskApproval, _state: SessionState) -> Outcome:
    """Put the plan before its user."""
    return Outcome((e.ApprovalRequested(),))


def approved(views: tuple[Perspective, ...]) -> e.ApprovalGiven:
    """Return the approval of the plan, with its user's ``views`` in place of the planned ones if there are any.

    Raises:
        AnswerInvalid: none of them has a question.
    """
    if not views:
        return e.ApprovalGiven()
    sound = _sound(views, len(views), max(len(view.questions) for view in views))
    return e.ApprovalGiven(perspectives=sound, nodes=first_plan(sound))


def extend_plan(step: ExtendPlan, state: SessionState) -> Outcome:
    """Turn a round's gaps into workers."""
    first = sum(node.id.startswith("gap_") for node in search_nodes(state))
    views = tuple(_gap_view(gap, number) for number, gap in enumerate(worthwhile_gaps(state, step.round), start=first))
    nodes = gap_plan(views, step.round + 1, first)
    return Outcome((e.PlanExtended(round=step.round + 1, perspectives=views, nodes=nodes),))


def _gap_view(gap: Gap, number: int) -> Perspective:
    return Perspective(id=f"gap-{number}", name=f"Gap: {one_line(gap.question, 80)}", focus=gap.reason, questions=(gap.question,))
