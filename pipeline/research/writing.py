"""The writing steps: outline, sections, revision. ``claims`` checks and edits what is written."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, contradictions, standings
from pipeline.domain.not_found_gate import statistics
from pipeline.domain.reasoner_questions import OutlineQuestion, SectionQuestion
from pipeline.domain.state import SUMMARY, SessionState
from pipeline.domain.steps import MakeOutline, PlainOutline, ReviseSection, StartSynthesis, WriteSection
from pipeline.domain.values import Fact, SectionPlan
from pipeline.errors import AnswerInvalid
from pipeline.research.claims import editing
from pipeline.research.claims.checking import facts_with_support, supported_sentences
from pipeline.research.claims.dates import published_of, today_of
from pipeline.research.claims.text import valid_paragraphs
from pipeline.research.step_context import Outcome, StepContext, charged_to, paid
from pipeline.text.normalise import one_line


def start_synthesis(_step: StartSynthesis, state: SessionState) -> Outcome:
    """Record the start of the synthesis with the number of facts and sources."""
    facts = all_facts(state)
    sources = len({fact.url for fact in facts})
    return Outcome((e.SynthesisStarted(facts=len(facts), sources=sources),))


async def make_plain_outline(_step: PlainOutline, state: SessionState, context: StepContext) -> Outcome:
    """Choose title and sections without the model."""
    return await make_outline(MakeOutline(), state, context.without_model())


async def make_outline(_step: MakeOutline, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the report's title and sections.

    Raises:
        AnswerInvalid: the answer has no section with a known fact.
    """
    config = state.config
    question = OutlineQuestion(
        query=state.query,
        perspectives=tuple(state.perspectives.values()),
        facts=all_facts(state),
        validated=tuple(standings(state).values()),
        contradictions=contradictions(state),
        min_sections=config.min_sections,
        max_sections=config.max_sections,
        words=config.report_words - config.summary_words,
        hits=state.survey.hits if state.survey else (),
        statistics=statistics(state),
        today=today_of(state),
        published=published_of(state, all_facts(state)),
    )
    answer = await context.reasoner.answer(question)
    with charged_to(answer):
        sections = _valid_sections(answer.value.sections, state)
    cost = paid(answer)
    title = one_line(answer.value.title) or state.query
    event = e.OutlineCreated(title=title, sections=sections, cost=cost.cost, exchange=cost.exchange)
    return Outcome((event,), cost.objects)


def _valid_sections(plans: tuple[SectionPlan, ...], state: SessionState) -> tuple[SectionPlan, ...]:
    """Return the sections with known facts, numbered in order; a fact belongs to the first section that names it."""
    free = set(state.facts)
    sound: list[SectionPlan] = []
    for plan in plans:
        facts = tuple(name for name in dict.fromkeys(plan.facts) if name in free)
        free -= set(facts)
        if facts and one_line(plan.title):
            update = {"id": f"section_{len(sound) + 1}", "title": one_line(plan.title, 120), "facts": facts}
            sound.append(plan.model_copy(update=update))
    if not sound:
        raise AnswerInvalid("the outline has no section with a known fact", hint="the step will be tried again")
    return _with_shares(sound[: state.config.max_sections], state.config.report_words - state.config.summary_words)


def _with_shares(plans: list[SectionPlan], words: int) -> tuple[SectionPlan, ...]:
    """Return the sections with their shares of the words: half of them equal for all, half by the number of facts."""
    facts = sum(len(plan.facts) for plan in plans)
    shares = [words // (2 * len(plans)) + words * len(plan.facts) // (2 * facts) for plan in plans]
    return tuple(plan.model_copy(update={"words": share}) for plan, share in zip(plans, shares, strict=True))


async def write_section(step: WriteSection, state: SessionState, context: StepContext) -> Outcome:
    """Ask for one section's text."""
    question = _section_question(state, step.section_id)
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    event = e.SectionWritten(
        section_id=step.section_id,
        paragraphs=valid_paragraphs(answer.value.paragraphs, {fact.id for fact in question.facts}),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


async def revise_section(step: ReviseSection, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the unsupported sentences of a section again."""
    body = sum(name != SUMMARY for name in state.sections)
    _, facts, _ = _section_scope(state, step.section_id, body)
    return await editing.revise_section(step, state, context, facts)


def _section_question(state: SessionState, section_id: str) -> SectionQuestion:
    body = {name: section for name, section in state.sections.items() if name != SUMMARY}
    plan, facts, words = _section_scope(state, section_id, len(body))
    known = {fact.id for fact in facts}
    return SectionQuestion(
        query=state.query,
        section=plan,
        facts=facts,
        validated=tuple(entry for name, entry in standings(state).items() if name in known),
        contradictions=tuple(pair for pair in contradictions(state) if pair.a in known or pair.b in known),
        other_sections=tuple(section.plan.title for name, section in body.items() if name != section_id),
        written=tuple(s for part in body.values() for s in supported_sentences(part, state)) if section_id == SUMMARY else (),
        words=words,
        hits=state.survey.hits if state.survey else (),
        statistics=statistics(state),
        today=today_of(state),
        published=published_of(state, facts),
    )


def _section_scope(state: SessionState, section_id: str, sections: int) -> tuple[SectionPlan, tuple[Fact, ...], int]:
    """Return a section's plan, the facts it may use (its own and those that confirm them), and its number of words."""
    config = state.config
    if section_id == SUMMARY:
        facts = all_facts(state)
        plan = SectionPlan(id=SUMMARY, title="Summary", facts=tuple(fact.id for fact in facts))
        return plan, facts, config.summary_words
    plan = state.sections[section_id].plan
    facts = facts_with_support(plan.facts, state)
    return plan, facts, plan.words or (config.report_words - config.summary_words) // max(1, sections)
