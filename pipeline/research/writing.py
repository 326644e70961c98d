"""The writing steps: outline, sections, claim check, revision."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.not_found_gate import statistics
from pipeline.domain.reasoner_questions import ClaimCheckQuestion, OutlineQuestion, SectionQuestion
from pipeline.domain.state import SUMMARY, Section, SessionState, admitted_facts, contradictions, standings
from pipeline.domain.steps import CheckSection, MakeOutline, PlainOutline, ReviseSection, StartSynthesis, WriteSection
from pipeline.domain.values import Fact, Paragraph, SectionPlan, Sentence, Verdict
from pipeline.errors import AnswerInvalid
from pipeline.research.step_context import Outcome, StepContext, charged_to, paid
from pipeline.text.normalise import clean, holds_quote, one_line


def start_synthesis(step: StartSynthesis, state: SessionState) -> Outcome:
    """Record the start of the synthesis with the number of admitted facts and sources."""
    facts = admitted_facts(state)
    sources = len({fact.url for fact in facts})
    return Outcome((e.SynthesisStarted(facts=len(facts), sources=sources, missing=step.missing, doubted=step.doubted),))


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
        facts=admitted_facts(state),
        validated=tuple(standings(state).values()),
        contradictions=contradictions(state),
        min_sections=config.min_sections,
        max_sections=config.max_sections,
        words=config.report_words - config.summary_words,
        hits=state.survey.hits if state.survey else (),
        statistics=statistics(state),
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
    return tuple(sound[: state.config.max_sections])


async def write_section(step: WriteSection, state: SessionState, context: StepContext) -> Outcome:
    """Ask for one section's text."""
    question = _section_question(state, step.section_id)
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    event = e.SectionWritten(
        section_id=step.section_id,
        paragraphs=_valid_text(answer.value.paragraphs, question.facts),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


async def revise_section(step: ReviseSection, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the section again, with the list of its unsupported sentences."""
    section = state.sections[step.section_id]
    revision = {"draft": section.paragraphs or (), "unsupported": section.unsupported()}
    question = _section_question(state, step.section_id).model_copy(update=revision)
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    event = e.ReportRevised(
        section_id=step.section_id,
        revision=step.revision,
        paragraphs=_valid_text(answer.value.paragraphs, question.facts),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


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
    )


def _section_scope(state: SessionState, section_id: str, sections: int) -> tuple[SectionPlan, tuple[Fact, ...], int]:
    """Return a section's plan, the facts it may use (its own and those that confirm them), and its number of words."""
    config = state.config
    if section_id == SUMMARY:
        facts = admitted_facts(state)
        plan = SectionPlan(id=SUMMARY, title="Summary", facts=tuple(fact.id for fact in facts))
        return plan, facts, config.summary_words
    plan = state.sections[section_id].plan
    known = standings(state)
    wanted = set(plan.facts).union(*(known[name].support for name in plan.facts if name in known))
    facts = tuple(fact for fact in admitted_facts(state) if fact.id in wanted)
    return plan, facts, (config.report_words - config.summary_words) // max(1, sections)


def _valid_text(paragraphs: tuple[Paragraph, ...], facts: tuple[Fact, ...]) -> tuple[Paragraph, ...]:
    """Return the text cleaned, without empty sentences and without citations of unknown facts."""
    known = {fact.id for fact in facts}
    sound = []
    for paragraph in paragraphs:
        sentences = tuple(
            Sentence(text=text, facts=tuple(name for name in dict.fromkeys(sentence.facts) if name in known))
            for sentence in paragraph.sentences
            if (text := _cleaned_sentence(sentence.text, paragraph))
        )
        if sentences:
            sound.append(paragraph.model_copy(update={"sentences": sentences}))
    return tuple(sound)


def _cleaned_sentence(text: str, paragraph: Paragraph) -> str:
    """Return a sentence on one line, but a quoted passage with its lines, which separate items and rows."""
    return clean(text).strip() if paragraph.kind == "passages" else " ".join(clean(text).split())


async def check_section(step: CheckSection, state: SessionState, context: StepContext) -> Outcome:
    """Ask whether each sentence is supported by its facts; a sentence without a citation is never supported.

    Raises:
        AnswerInvalid: the verdicts do not match the sentences.
    """
    sentences = sentences_of(state.sections[step.section_id].paragraphs or ())
    if not sentences:
        return Outcome((e.ClaimsChecked(section_id=step.section_id, revision=step.revision, verdicts=()),))
    cited = {name for sentence in sentences for name in sentence.facts}
    facts = tuple(state.facts[name] for name in sorted(cited))
    answer = await context.reasoner.answer(ClaimCheckQuestion(query=state.query, sentences=sentences, facts=facts))
    verdicts = {verdict.sentence: verdict for verdict in answer.value.verdicts}
    if set(verdicts) != set(range(len(sentences))):
        raise AnswerInvalid(
            f"the answer has {len(verdicts)} verdicts for {len(sentences)} sentences", hint="the step will be tried again"
        )
    cost = paid(answer)
    event = e.ClaimsChecked(
        section_id=step.section_id,
        revision=step.revision,
        verdicts=tuple(_verdict_with_citation(verdicts[place], sentence) for place, sentence in enumerate(sentences)),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _verdict_with_citation(verdict: Verdict, sentence: Sentence) -> Verdict:
    if sentence.facts:
        return verdict
    return Verdict(sentence=verdict.sentence, supported=False, reason="it cites nothing")


def sentences_of(paragraphs: tuple[Paragraph, ...]) -> tuple[Sentence, ...]:
    """Return a text's sentences in order."""
    return tuple(sentence for paragraph in paragraphs for sentence in paragraph.sentences)


def supported_sentences(section: Section, state: SessionState) -> tuple[Sentence, ...]:
    """Return the sentences of a section that the report may contain.

    These are the supported ones, or, in a section that could not be checked, those that occur verbatim in a cited quote.
    """
    sentences = sentences_of(section.paragraphs or ())
    if section.verdicts is None:
        return tuple(sentence for sentence in sentences if _is_quote(sentence, state))
    good = {verdict.sentence for verdict in section.verdicts if verdict.supported}
    return tuple(sentence for place, sentence in enumerate(sentences) if place in good)


def _is_quote(sentence: Sentence, state: SessionState) -> bool:
    return any(holds_quote(state.facts[name].quote, sentence.text) for name in sentence.facts if name in state.facts)
