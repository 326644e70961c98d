"""Changing only what must be changed: the revision of unsupported sentences, and the editing pass over the whole report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, contradictions, open_gaps, standings
from pipeline.domain.reasoner_questions import Edit, Editing, EditingQuestion, RevisionQuestion
from pipeline.domain.state import SUMMARY, Section, SessionState
from pipeline.domain.steps import EditReport, ReviseSection
from pipeline.domain.values import (
    EditedSection,
    Fact,
    Paragraph,
    Replaced,
    ReportSection,
    SectionPlan,
    Sentence,
    Verdict,
)
from pipeline.research.claims.checking import (
    CERTAINTY,
    TO_DO,
    report_title,
    sentences_of,
    supported_paragraphs,
    supported_sentences,
    title_of,
)
from pipeline.research.claims.dates import published_of, today_of
from pipeline.research.claims.text import valid_sentence
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import one_line

_ADDED = {TO_DO: "What to do", CERTAINTY: "How sure, and what would change it"}
_ADDED_WORDS = 120


async def revise_section(step: ReviseSection, state: SessionState, context: StepContext, facts: Sequence[Fact]) -> Outcome:
    """Ask for the unsupported sentences of a section, and for its title if that is unsupported; the rest stays as it is."""
    section = state.sections[step.section_id]
    sentences = sentences_of(section.paragraphs or ())
    faults = section.unsupported()
    of_heading = section.heading.reason or "no quote says it" if section.heading and not section.heading.supported else ""
    named = sentences if of_heading else [sentences[verdict.sentence] for verdict in faults]
    cited = {name for sentence in named for name in sentence.facts}
    question = RevisionQuestion(
        query=state.query,
        section=section.plan.model_copy(update={"title": state.title}) if step.section_id == SUMMARY else section.plan,
        sentences=tuple(sentences[verdict.sentence] for verdict in faults),
        reasons=tuple(verdict.reason for verdict in faults),
        facts=tuple(fact for fact in facts if fact.id in cited),
        heading=of_heading,
        today=today_of(state),
        published=published_of(state, facts),
    )
    answer = await context.reasoner.answer(question)
    places = [verdict.sentence for verdict in faults]
    known = {fact.id for fact in question.facts}
    edits = {places[edit.place]: edit for edit in answer.value.edits if edit.place < len(places)}
    paragraphs, carried, _ = _edited(section, section.paragraphs or (), edits, known)
    cost = paid(answer)
    event = e.ReportRevised(
        section_id=step.section_id,
        revision=step.revision,
        paragraphs=paragraphs,
        title=one_line(answer.value.title, 120) if of_heading else "",
        carried=carried,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _edited(
    section: Section, paragraphs: Iterable[Paragraph], edits: Mapping[int, Edit], known: set[str]
) -> tuple[tuple[Paragraph, ...], tuple[Verdict, ...], tuple[Replaced, ...]]:
    """Return the paragraphs after the edits, the verdicts on unchanged sentences, and the replaced checked sentences."""
    verdicts = {verdict.sentence: verdict for verdict in section.verdicts or ()}
    carried: list[Verdict] = []
    replaced: list[Replaced] = []
    kept: list[Paragraph] = []
    place = new = 0
    for paragraph in paragraphs:
        sentences: list[Sentence] = []
        for sentence in paragraph.sentences:
            edit, verdict = edits.get(place), verdicts.get(place)
            place += 1
            after = sentence if edit is None else None if edit.drop else valid_sentence(edit.sentence, paragraph, known)
            if after is None:
                continue
            if after == sentence and verdict is not None:
                carried.append(verdict.model_copy(update={"sentence": new}))
            elif verdict is not None and verdict.supported:
                replaced.append(Replaced(place=new, sentence=sentence))
            sentences.append(after)
            new += 1
        if sentences:
            kept.append(paragraph.model_copy(update={"sentences": tuple(sentences)}))
    return tuple(kept), tuple(carried), tuple(replaced)


async def edit_report(_step: EditReport, state: SessionState, context: StepContext) -> Outcome:
    """Ask for edits of the whole checked report; only the sentences that they change or add are checked again."""
    shown = _shown_sections(state)
    facts = _cited(shown, state)
    known = standings(state)
    question = EditingQuestion(
        query=state.query,
        title=report_title(state),
        sections=shown,
        facts=facts,
        validated=tuple(known[fact.id] for fact in facts if fact.id in known),
        contradictions=contradictions(state),
        gaps=open_gaps(state),
        words=_ADDED_WORDS,
        today=today_of(state),
        published=published_of(state, facts),
    )
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    event = e.ReportEdited(
        sections=tuple(_edited_sections(shown, answer.value, state, {fact.id for fact in facts})),
        order=_order(answer.value.order, state),
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _shown_sections(state: SessionState) -> tuple[ReportSection, ...]:
    """Return the report as it would be published, the summary first."""
    body = [section for name, section in state.sections.items() if name != SUMMARY]
    shown = [
        ReportSection(id=part.plan.id, title=title_of(part, number), paragraphs=supported_paragraphs(part, state))
        for number, part in enumerate(body, start=1)
    ]
    if summary := state.sections.get(SUMMARY):
        paragraph = Paragraph(sentences=supported_sentences(summary, state))
        shown.insert(0, ReportSection(id=SUMMARY, title="Summary", paragraphs=(paragraph,)))
    return tuple(part for part in shown if any(paragraph.sentences for paragraph in part.paragraphs))


def _cited(sections: Iterable[ReportSection], state: SessionState) -> tuple[Fact, ...]:
    """Return the facts that the sections cite, in the order in which the summary was shown them."""
    names = {name for part in sections for sentence in sentences_of(part.paragraphs) for name in sentence.facts}
    return tuple(fact for fact in all_facts(state) if fact.id in names)


def _edited_sections(
    shown: tuple[ReportSection, ...], said: Editing, state: SessionState, known: set[str]
) -> Iterable[EditedSection]:
    """Yield the sections with an effective edit, and the two that are added; a section never loses all its sentences."""
    edits = {edit.place: edit for edit in said.edits}
    start = 0
    for part in shown:
        size = len(sentences_of(part.paragraphs))
        mine = {place - start: edit for place, edit in edits.items() if start <= place < start + size}
        start += size
        if mine and (edited := _edited_section(part, mine, state, known)) is not None:
            yield edited
    for name, sentences in ((TO_DO, said.to_do), (CERTAINTY, said.certainty)):
        if (added := _added_section(name, sentences, known)) is not None:
            yield added


def _edited_section(part: ReportSection, edits: Mapping[int, Edit], state: SessionState, known: set[str]) -> EditedSection | None:
    section = state.sections[part.id]
    verdicts = tuple(Verdict(sentence=place, supported=True) for place in range(len(sentences_of(part.paragraphs))))
    checked = Section(section.plan, part.paragraphs, section.revision, verdicts)
    paragraphs, carried, replaced = _edited(checked, part.paragraphs, edits, known)
    if not paragraphs or (paragraphs == part.paragraphs):
        return None
    return EditedSection(plan=section.plan, paragraphs=paragraphs, carried=carried, replaced=replaced)


def _added_section(name: str, sentences: Sequence[Sentence], known: set[str]) -> EditedSection | None:
    form = "bullets" if name == TO_DO else "paragraph"
    paragraph = Paragraph(sentences=(), form=form)
    sound = tuple(one for sentence in sentences if (one := valid_sentence(sentence, paragraph, known)) is not None)
    if not any(sentence.facts for sentence in sound):
        return None
    facts = tuple(dict.fromkeys(fact for sentence in sound for fact in sentence.facts))
    plan = SectionPlan(id=name, title=_ADDED[name], facts=facts)
    return EditedSection(plan=plan, paragraphs=(paragraph.model_copy(update={"sentences": sound}),))


def _order(said: Sequence[str], state: SessionState) -> tuple[str, ...]:
    """Return the ids of all sections: as the answer orders them, the others behind, the added ones and the summary last."""
    body = [name for name in state.sections if name != SUMMARY]
    wanted = [name for name in dict.fromkeys(said) if name in body]
    return (*wanted, *(name for name in body if name not in wanted), TO_DO, CERTAINTY, SUMMARY)
