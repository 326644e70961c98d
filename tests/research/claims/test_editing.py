"""Only what changes is asked for and checked: revisions, the editing pass, headings and claims, in a whole session."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from pipeline.domain import reasoner_questions as q
from pipeline.domain.agenda.progress import progress
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.fold import apply
from pipeline.domain.state import SUMMARY, Section, SessionState
from pipeline.domain.values import Paragraph, SectionPlan, Sentence, Verdict
from pipeline.engine.loop import run_session
from pipeline.ops.citation_audit import check as audit
from pipeline.research.claims.checking import supported_paragraphs
from pipeline.research.step_context import StepContext
from tests.engine.test_loop import begin
from tests.fakes import FakeReasoner, Journal, MemoryStore, context_for, desk_for

FALSE = "Pump 1 delivers 999 litres."


@dataclass
class Author(FakeReasoner):
    """Writes what the tests tell it to, and keeps its questions."""

    asked: list[Any] = field(default_factory=list)
    editing: q.Editing = field(default_factory=q.Editing)
    extra: tuple[Sentence, ...] = ()
    refused: tuple[str, ...] = ()
    title: str = ""

    async def answer(self, question: Any) -> Any:
        self.asked.append(question)
        return await super().answer(question)

    def of(self, kind: type[Any]) -> list[Any]:
        return [question for question in self.asked if isinstance(question, kind)]

    def _outline(self, question: q.OutlineQuestion) -> q.Outline:
        plain = super()._outline(question)
        return plain.model_copy(update={"title": self.title}) if self.title else plain

    def _section(self, question: q.SectionQuestion) -> q.SectionText:
        (paragraph,) = super()._section(question).paragraphs
        if question.section.id == "section_1":
            more = tuple(
                one.model_copy(update={"facts": paragraph.sentences[0].facts}) if one.basis == "quoted" else one
                for one in self.extra
            )
            paragraph = paragraph.model_copy(update={"sentences": (*paragraph.sentences, *more)})
        return q.SectionText(paragraphs=(paragraph,))

    def _claim_check(self, question: q.ClaimCheckQuestion) -> q.ClaimCheck:
        texts = [*(sentence.text for sentence in question.sentences), *question.headings]
        verdicts = (Verdict(sentence=n, supported=text not in self.refused, reason="looked") for n, text in enumerate(texts))
        return q.ClaimCheck(verdicts=tuple(verdicts), overstated=question.claims[:1])

    def _editing(self, _question: q.EditingQuestion) -> q.Editing:
        return self.editing


def written(author: Author) -> tuple[SessionState, MemoryStore]:
    store, context = MemoryStore(), context_for()
    desk = desk_for(store, author.journal)
    desk = StepContext(author, desk.search, desk.fetch, desk.page_text)
    state = asyncio.run(run_session(begin(store, context, perspectives=2, iterations=1, gap_rounds=0), store, desk, context))
    assert state.status == "complete", state.end_reason
    return state, store


def texts(state: SessionState, part: str) -> list[str]:
    assert state.report is not None
    sections = [section for section in state.report.sections if section.id == part]
    return [sentence.text for section in sections for paragraph in section.paragraphs for sentence in paragraph.sentences]


def events_of(store: MemoryStore, kind: type[Any]) -> list[Any]:
    return [event for event in decode_all(record.data for record in store.load("s1")) if isinstance(event, kind)]


def test_only_faulty_sentences_are_written_again_and_only_they_are_checked_again() -> None:
    author = Author(Journal(), extra=(Sentence(text="Pumps are loud in the dark."),), refused=("Pumps are loud in the dark.",))
    author._revision = lambda question: q.Revision(  # type: ignore[method-assign]
        edits=(q.Edit(place=0, sentence=Sentence(text="Pumps deliver litres.", facts=question.sentences[0].facts)),)
    )
    state, store = written(author)
    (revision,) = author.of(q.RevisionQuestion)
    assert [sentence.text for sentence in revision.sentences] == ["Pumps are loud in the dark."]
    checks = [
        question for question in author.of(q.ClaimCheckQuestion) if any(s.text[-7:] == "litres." for s in question.sentences)
    ]
    assert ["Pumps deliver litres."] in [[sentence.text for sentence in question.sentences] for question in checks]
    assert "Pumps deliver litres." in texts(state, "section_1")
    assert sum(len(event.verdicts) for event in events_of(store, e.ClaimsChecked) if event.revision == 1) == 1


LOUD = "Pumps are loud in the dark."


@dataclass
class Reviser(Author):
    """Writes a doubtful sentence into each section, and another in its place; can refuse the joint check."""

    refuses_joint: bool = False

    def _section(self, question: q.SectionQuestion) -> q.SectionText:
        (paragraph,) = super()._section(question).paragraphs
        doubtful = Sentence(text=LOUD, facts=paragraph.sentences[0].facts)
        return q.SectionText(paragraphs=(paragraph.model_copy(update={"sentences": (*paragraph.sentences, doubtful)}),))

    def _revision(self, question: q.RevisionQuestion) -> q.Revision:
        better = Sentence(text="Pumps deliver litres.", facts=question.sentences[0].facts)
        return q.Revision(edits=(q.Edit(place=0, sentence=better),))

    def _claim_check(self, question: q.ClaimCheckQuestion) -> q.ClaimCheck:
        joint = [sentence.text for sentence in question.sentences].count("Pumps deliver litres.") > 1
        return q.ClaimCheck(verdicts=()) if joint and self.refuses_joint else super()._claim_check(question)


def test_the_revised_sentences_of_all_sections_are_checked_in_one_call() -> None:
    author = Reviser(Journal(), refused=(LOUD,))
    state, store = written(author)
    body = [name for name in state.sections if name != SUMMARY]
    checks = [[s.text for s in one.sentences] for one in author.of(q.ClaimCheckQuestion)]
    assert len(body) > 2
    assert ["Pumps deliver litres."] * len(body) in checks
    assert len(checks) == len(body) + 1 + 2  # each section, their revisions together, the summary and its revision
    assert all("Pumps deliver litres." in texts(state, name) for name in body)
    together = [event for event in events_of(store, e.ClaimsChecked) if event.step == "CheckChanges:False"]
    assert {event.section_id for event in together} == set(body)
    assert [event.cost.calls > 0 for event in together] == [True, *[False] * (len(body) - 1)]


def test_each_section_is_checked_by_itself_if_all_together_get_no_answer_of_use() -> None:
    author = Reviser(Journal(), refused=(LOUD,), refuses_joint=True)
    state, _ = written(author)
    assert state.failed_for_good("CheckChanges:False")
    assert all("Pumps deliver litres." in texts(state, name) for name in state.sections if name != SUMMARY)


def test_a_new_title_over_unchanged_sentences_is_checked() -> None:
    author = Author(Journal(), refused=("Section 0", "Pumps are best"))
    author._revision = lambda question: q.Revision(  # type: ignore[method-assign]
        edits=(), title="Pumps are best" if question.heading else ""
    )
    state, _ = written(author)
    assert state.report is not None
    assert next(iter(state.report.sections)).title == "Part 1"


def test_what_code_refuses_is_not_shown_to_the_reasoner_and_never_reaches_the_report() -> None:
    author = Author(Journal(), extra=(Sentence(text=FALSE),))
    state, _ = written(author)
    assert not any(s.text == FALSE for question in author.of(q.ClaimCheckQuestion) for s in question.sentences)
    assert FALSE not in texts(state, "section_1")


def test_what_the_sources_do_not_say_stays_in_the_report_and_passes_the_audit() -> None:
    limit = Sentence(text="The sources do not say how loud the pumps are.")
    state, store = written(Author(Journal(), extra=(limit,)))
    assert limit.text in texts(state, "section_1")
    assert not audit(state, store).unsupported


def test_a_paragraph_that_has_lost_all_that_it_cited_goes_and_one_that_cites_nothing_stays() -> None:
    verdicts = tuple(Verdict(sentence=place, supported=place != 1) for place in range(3))
    link, cited = Sentence(text="Both matter.", basis="bridge"), Sentence(text="It is loud.", facts=("f",))
    limit = Paragraph(sentences=(Sentence(text="The sources do not say how loud it is.", basis="bridge"),))
    section = Section(SectionPlan(id="a", title="A", facts=()), (Paragraph(sentences=(link, cited)), limit), verdicts=verdicts)
    assert supported_paragraphs(section, SessionState()) == (limit,)


def test_a_sentence_that_cites_a_key_that_was_not_given_out_is_cut_whatever_the_checker_says() -> None:
    moon = Sentence(text="The moon stores all logs.", facts=("nowhere",))
    author = Author(Journal())
    plain = author._section

    def section(question: q.SectionQuestion) -> q.SectionText:
        (paragraph,) = plain(question).paragraphs
        return q.SectionText(paragraphs=(paragraph.model_copy(update={"sentences": (*paragraph.sentences, moon)}),))

    author._section = section  # type: ignore[method-assign]
    state, _ = written(author)
    assert state.report is not None
    assert "moon" not in repr(state.report)
    assert all("nowhere" in reason for question in author.of(q.RevisionQuestion) for reason in question.reasons)
    assert not any(one.text == moon.text for question in author.of(q.ClaimCheckQuestion) for one in question.sentences)


def test_a_bridge_stays_and_passes_the_audit() -> None:
    bridge = Sentence(text="Both matter.", basis="bridge")
    state, store = written(Author(Journal(), extra=(bridge,)))
    assert "Both matter." in texts(state, "section_1")
    assert audit(state, store).unsupported == ()


def test_a_title_that_its_evidence_does_not_bear_gives_way_to_the_question() -> None:
    author = Author(Journal(), title="Pumps save 90 % of all energy", refused=())
    state, _ = written(author)
    assert state.report is not None
    assert state.report.title == state.query
    refused, _ = written(Author(Journal(), title="Pumps are best", refused=("Pumps are best",)))
    assert refused.report is not None
    assert refused.report.title == refused.query


def test_a_title_over_sentences_that_code_refuses_is_not_taken_over_unchecked() -> None:
    author = Author(Journal(), title="The moon is made of cheese")
    plain = author._section

    def section(question: q.SectionQuestion) -> q.SectionText:
        if question.section.id != SUMMARY:
            return plain(question)
        sentences = (Sentence(text=FALSE, facts=(question.facts[0].id,)),)
        return q.SectionText(paragraphs=(Paragraph(sentences=sentences),))

    author._section = section  # type: ignore[method-assign]
    state, _ = written(author)
    assert state.report is not None
    assert state.report.title == state.query


def test_a_heading_that_falls_twice_becomes_neutral() -> None:
    state, _ = written(Author(Journal(), refused=("Section 0",)))
    assert state.report is not None
    assert [section.title for section in state.report.sections][:2] == ["Part 1", "Section 1"]


def test_the_editing_pass_drops_replaces_orders_and_adds_and_only_changes_are_checked() -> None:
    plain, _ = written(Author(Journal()))
    body = texts(plain, "section_1")
    facts = plain.sections["section_1"].plan.facts
    edited = q.Editing(
        edits=(q.Edit(place=len(texts_of_summary(plain)), drop=True),),
        order=("section_2", "section_1"),
        to_do=(Sentence(text="Choose a mode.", facts=facts[:2], basis="derived"),),
        certainty=(Sentence(text=FALSE, facts=facts[:1]),),
    )
    author = Author(Journal(), editing=edited)
    state, store = written(author)
    assert state.report is not None
    assert [section.id for section in state.report.sections][:2] == ["section_2", "section_1"]
    assert texts(state, "section_1") == body[1:]
    assert [(s.id, s.title) for s in state.report.sections if s.id == "what-to-do"] == [("what-to-do", "What to do")]
    assert texts(state, "how-sure") == []
    after = [event for event in events_of(store, e.ClaimsChecked) if event.revision == 1]
    assert sum(len(event.verdicts) for event in after) == 2  # the two new sentences; the dropped one needs no check
    assert len(events_of(store, e.ReportEdited)) == 1
    assert [event.step for event in after] == ["CheckChanges:True"] * len(after)


def texts_of_summary(state: SessionState) -> list[str]:
    assert state.report is not None
    return [sentence.text for sentence in state.report.summary]


def test_a_checked_sentence_returns_if_its_new_wording_falls() -> None:
    plain, _ = written(Author(Journal()))
    first = texts_of_summary(plain)[0]
    name = plain.report.summary[0].facts[0] if plain.report else ""
    state, _ = written(
        Author(Journal(), editing=q.Editing(edits=(q.Edit(place=0, sentence=Sentence(text=FALSE, facts=(name,))),)))
    )
    assert texts_of_summary(state)[0] == first


def test_an_edited_session_folds_to_the_same_state_again() -> None:
    plain, _ = written(Author(Journal()))
    editing = q.Editing(edits=(q.Edit(place=0, drop=True),), order=("section_3",))
    state, store = written(Author(Journal(), editing=editing))
    again = SessionState()
    for event in decode_all(record.data for record in store.load("s1")):
        apply(again, event)
    assert next(iter(state.sections)) == "section_3"
    assert again == state
    assert SUMMARY in plain.sections


def test_claims_are_compared_with_their_quotes_and_overstated_ones_are_known() -> None:
    author = Author(Journal())
    author._observation = lambda question: q.Observation(  # type: ignore[method-assign]
        findings=tuple(
            one.model_copy(update={"claim": f"In short: {one.quote}"})
            for one in FakeReasoner._observation(author, question).findings
        )
    )
    state, _ = written(author)
    assert state.claims
    assert not all(state.claims.values())
    assert any(not state.bears_claim(fact) for fact in state.facts.values())


def test_prose_without_changes_costs_no_further_check() -> None:
    author = Author(Journal())
    _, store = written(author)
    assert len(author.of(q.EditingQuestion)) == 1
    assert not [event for event in events_of(store, e.ClaimsChecked) if event.revision]


def test_quoted_passages_are_not_edited() -> None:
    author = Author(Journal())
    prose = author._section
    author._section = lambda question: q.SectionText(  # type: ignore[method-assign]
        paragraphs=tuple(Paragraph(sentences=one.sentences, kind="passages") for one in prose(question).paragraphs)
    )
    written(author)
    assert author.of(q.EditingQuestion) == []


def test_progress_counts_the_steps_of_an_edited_session() -> None:
    plain, _ = written(Author(Journal()))
    name = plain.sections["section_1"].plan.facts[0]
    said = q.Editing(edits=(q.Edit(place=0, drop=True),), to_do=(Sentence(text="Choose a mode.", facts=(name,)),))
    state, store = written(Author(Journal(), editing=said))
    second = events_of(store, e.ContradictionsFound)  # a cross-check is one step with two events
    assert progress(state)[0] == len(events_of(store, e.Answered)) - len(second)
