"""Outline and sections: whole passages, each a paragraph of its own, in sections named after what was asked."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.adapters.reasoners.extractive.question_subject import title_subject
from pipeline.adapters.reasoners.extractive.sections import SUMMARY, edit, outline, revise, title_of, write
from pipeline.domain.reasoner_questions import Editing, EditingQuestion, OutlineQuestion, RevisionQuestion, SectionQuestion
from pipeline.domain.values import Fact, Paragraph, SectionPlan, Sentence, ValidatedFact
from pipeline.text.ranking.query_terms import parse_question
from tests.adapters.reasoners.extractive.builders import fact
from tests.adapters.reasoners.extractive.test_report_passages import BROAD, NUMBER, PARTS, known_of

FILLER = "which is told at length in the book about it"
MATTERS = ["seal", "cache", "disk", "valve", "sensor", "filter", "switch", "mirror", "battery", "cable", "drain", "gasket"]


def _told(about: str, folder: str) -> tuple[Fact, ...]:
    """Two passages for each matter, so that it is one which several speak of."""
    return tuple(
        fact(f"{about} with the help of its {matter}, as chapter {at} has it, {FILLER}.", f"corpus:{folder}{at}.md")
        for at, matter in enumerate([*MATTERS, *MATTERS])
    )


FACTS = (
    fact(f"The log holds five records by default, {FILLER}.", "corpus:c.md"),
    *_told("A log survives a power cut", "log"),
    *_told("The pump is cooled", "pump"),
)


def outlined(query: str, facts: tuple[Fact, ...] = FACTS) -> tuple[SectionPlan, ...]:
    question = OutlineQuestion(
        query=query, perspectives=(), facts=facts, validated=(), contradictions=(), min_sections=4, max_sections=6, words=1_350,
        statistics=known_of(facts),
    )  # fmt: skip
    return outline(question).sections


def written(plan: SectionPlan, query: str = BROAD, **more: Any) -> tuple[Paragraph, ...]:
    question = SectionQuestion(
        query=query, section=plan, facts=FACTS, validated=(), contradictions=(), other_sections=(), written=(), words=150,
        statistics=known_of(FACTS),
    )  # fmt: skip
    return write(question.model_copy(update=more)).paragraphs


@pytest.mark.parametrize("query", [BROAD, NUMBER, PARTS])
def test_no_fact_stands_in_two_sections_and_each_section_has_a_title_and_facts(query: str) -> None:
    sections = outlined(query)
    names = [name for plan in sections for name in plan.facts]
    assert len(set(names)) == len(names) > 0
    assert all(plan.title and plan.facts for plan in sections)
    assert len({plan.title for plan in sections}) == len(sections)


def test_a_question_in_parts_has_its_parts_for_titles_in_their_order() -> None:
    first, second = outlined(PARTS)
    assert (first.title, second.title) == ("How does a log survive a power cut", "How is the pump cooled")
    cooled = {entry.id for entry in FACTS if "pump" in entry.quote}
    assert set(second.facts) <= cooled
    assert not set(first.facts) & cooled


def test_all_of_a_narrow_question_stands_in_one_section() -> None:
    assert len(outlined(NUMBER)) == 1


def test_a_section_holds_its_facts_whole_each_a_paragraph_of_its_own() -> None:
    plan = outlined(BROAD)[0]
    paragraphs = written(plan)
    quotes = {entry.id: entry.quote for entry in FACTS}
    assert [paragraph.kind for paragraph in paragraphs] == ["passages"] * len(plan.facts)
    assert [paragraph.sentences[0].text for paragraph in paragraphs] == [quotes[name] for name in plan.facts]
    assert [paragraph.sentences[0].facts[0] for paragraph in paragraphs] == list(plan.facts)


def test_the_summary_is_of_whole_passages_too() -> None:
    paragraphs = written(SectionPlan(id=SUMMARY, title="Summary", facts=()))
    assert paragraphs
    assert {one.sentences[0].text for one in paragraphs} <= {entry.quote for entry in FACTS}


def test_a_passage_cites_what_bears_it_out_as_well() -> None:
    first, second = FACTS[0], FACTS[3]
    entry = ValidatedFact(fact_id=first.id, standing="corroborated", support=(second.id, "stranger"))
    (paragraph,) = written(SectionPlan(id="s-1", title="T", facts=(first.id,)), validated=(entry,))
    assert paragraph.sentences[0].facts == (first.id, second.id)


def test_a_revision_drops_every_unsupported_sentence() -> None:
    plan = SectionPlan(id="s-1", title="T", facts=())
    faulty = (Sentence(text="0."), Sentence(text="1."))
    answer = revise(RevisionQuestion(query="q", section=plan, sentences=faulty, reasons=("a", "b"), facts=FACTS))
    assert [(edit.place, edit.drop) for edit in answer.edits] == [(0, True), (1, True)]


def test_a_report_of_passages_is_not_edited() -> None:
    question = EditingQuestion(
        query="q", title="T", sections=(), facts=FACTS, validated=(), contradictions=(), gaps=(), words=100
    )
    assert edit(question) == Editing()


@pytest.mark.parametrize(
    ("query", "title"),
    [("how  loud is\na pump?", "How loud is a pump?"), ("os.replace or os.rename?", "os.replace or os.rename?")],
)
def test_a_title_is_the_question_on_one_line(query: str, title: str) -> None:
    assert title_of(query) == title


def test_a_passage_without_a_word_of_the_title_stands_under_a_heading_of_its_page() -> None:
    page = {"path": ("The manual", "Weather by day")}
    days = tuple(fact(f"On day {n} it survives by luck, {FILLER}.", f"corpus:{n}.md").model_copy(update=page) for n in range(30))
    sections = outlined(BROAD, (*FACTS, *days))
    titles = {name: plan.title for plan in sections for name in plan.facts}
    assert {titles[one.id] for one in days if one.id in titles} == {"Weather by day"}
    assert len({plan.id for plan in sections}) == len(sections)


@pytest.mark.parametrize(
    ("query", "headings", "subject"),
    [
        ("Wie digitalisiert das Stadtarchiv Altenrode alte Handschriften?", ["Wie das Stadtarchiv digitalisiert"], "Stadtarchiv"),
        ("What does the Apache License 2.0 say about patents?", ["Apache License", "2.0"], "Apache License 2.0"),
        ("How does TCP keepalive decide?", ["TCP", "keepalive"], "TCP keepalive"),
        ("What is wrong with python's garden gate?", ["python's"], "python"),
    ],
)
def test_a_subject_in_a_heading_is_written_as_a_person_would(query: str, headings: list[str], subject: str) -> None:
    assert title_subject(parse_question(query), headings) == subject


@pytest.mark.parametrize("entry", ["clip()", "token_urlsafe", "--pump", "PUMP", "pump(self, cooled) method of Pump instance"])
def test_an_entry_of_a_reference_is_no_section(entry: str) -> None:
    beside = fact(f"The pump is cooled, {FILLER}.", "corpus:p.md").model_copy(update={"path": ("The pump of the house", entry)})
    titles = {plan.title for plan in outlined(BROAD, (*FACTS, beside))}
    assert not any(entry in title for title in titles)
