"""Outline, sections, summary, claim check and fold."""

from __future__ import annotations

from pipeline.questions import ClaimCheckQuestion, FoldQuestion, OutlineQuestion, SectionQuestion
from pipeline.reasoners.extractive.check import check
from pipeline.reasoners.extractive.fold import fold
from pipeline.reasoners.extractive.outline import outline
from pipeline.reasoners.extractive.section import write
from pipeline.text import tokens
from pipeline.values import Fact, Paragraph, SectionPlan, Sentence, ValidatedFact, Verdict
from tests.reasoners.extractive.builders import fact, view

QUERY = "How does an append-only log survive a power cut?"
SUBJECTS = {
    "Torn records": "a torn record is found by its checksum",
    "Write caches": "the write cache of a disk must be emptied",
    "Renaming": "a rename is atomic within one file system",
    "Batches": "many records share a single flush of the disk",
    "Recovery": "recovery reads the log from its beginning",
}
FACTS = tuple(
    fact(
        f"When an append-only log meets a power cut, {text} in case {letter}{place}.",
        f"corpus:{letter}.md",
        relevance=0.6,
        heading=name,
    )
    for letter, (name, text) in zip("abcde", SUBJECTS.items(), strict=True)
    for place in range(4)
)


def _outline(facts: tuple[Fact, ...], words: int = 1_350) -> tuple[SectionPlan, ...]:
    question = OutlineQuestion(
        query=QUERY,
        perspectives=(view(QUERY),),
        facts=facts,
        validated=(),
        contradictions=(),
        min_sections=4,
        max_sections=6,
        words=words,
    )
    return outline(question).sections


def _written(
    section: SectionPlan, facts: tuple[Fact, ...], words: int = 300, validated: tuple[ValidatedFact, ...] = ()
) -> list[Sentence]:
    question = SectionQuestion(
        query=QUERY,
        section=section,
        facts=facts,
        validated=validated,
        contradictions=(),
        other_sections=(),
        written=(),
        words=words,
    )
    return [sentence for paragraph in write(question).paragraphs for sentence in paragraph.sentences]


def test_sections_have_facts_of_their_own_and_titles_of_their_own() -> None:
    sections = _outline(FACTS)
    assert 4 <= len(sections) <= 6
    assert all(section.facts for section in sections)
    named = [name for section in sections for name in section.facts]
    assert len(named) == len(set(named))
    assert len({section.title for section in sections}) == len(sections)
    assert {section.title for section in sections} & set(SUBJECTS)


def test_no_section_is_made_without_a_fact() -> None:
    assert len(_outline(FACTS[:1])) == 1
    assert _outline(()) == ()


def test_repeated_facts_stand_once() -> None:
    twins = tuple(fact(FACTS[0].claim, f"corpus:{name}.md") for name in "xyz")
    assert sum(len(section.facts) for section in _outline(twins)) == 1


def test_a_sentence_is_a_quote_with_its_fact_and_those_that_bear_it_out() -> None:
    support = fact("In a power cut an append-only log is saved by its checksum.", "corpus:z.md")
    validated = (ValidatedFact(fact_id=FACTS[0].id, standing="corroborated", support=(support.id,), sources=2, confidence=0.75),)
    section = SectionPlan(id="section_1", title="Torn records", facts=(FACTS[0].id,))
    (sentence,) = _written(section, (FACTS[0], support), validated=validated)
    assert sentence == Sentence(text=FACTS[0].claim, facts=(FACTS[0].id, support.id))


def test_a_section_keeps_to_its_words_and_its_facts() -> None:
    section = SectionPlan(id="section_1", title="All", facts=tuple(entry.id for entry in FACTS[:10]))
    sentences = _written(section, FACTS, words=60)
    assert 0 < sum(len(sentence.text.split()) for sentence in sentences) <= 60
    assert {name for sentence in sentences for name in sentence.facts} <= set(section.facts)


def test_a_section_begins_with_what_stands_under_its_title() -> None:
    for title in SUBJECTS:
        section = SectionPlan(id="s", title=title, facts=tuple(one.id for one in FACTS), purpose="")
        by_id = {one.id: one for one in FACTS}
        first, *_ = _written(section, FACTS, 600)
        assert by_id[first.facts[0]].heading == title


def test_the_summary_answers_first() -> None:
    answer = fact("An append-only log survives a power cut because each record is flushed.", "corpus:q.md", relevance=0.9)
    aside = fact("The museum of logs keeps a large collection of wooden tally sticks.", "corpus:r.md", relevance=0.35)
    section = SectionPlan(id="summary", title="Summary", facts=())
    sentences = _written(section, (aside, answer), words=150)
    assert sentences[0].text == answer.claim


def test_a_revision_drops_what_nothing_supports() -> None:
    draft = (Paragraph(sentences=(Sentence(text="One."), Sentence(text="Two."))), Paragraph(sentences=(Sentence(text="Three."),)))
    question = SectionQuestion(
        query=QUERY, section=SectionPlan(id="s", title="S", facts=()), facts=(), validated=(), contradictions=(),
        other_sections=(), written=(), words=100, draft=draft,
        unsupported=(Verdict(sentence=0, supported=False), Verdict(sentence=2, supported=False)),
    )  # fmt: skip
    assert write(question).paragraphs == (Paragraph(sentences=(Sentence(text="Two."),)),)


def _verdict(text: str, quote: str) -> Verdict:
    source = fact(quote)
    (verdict,) = check(
        ClaimCheckQuestion(query=QUERY, sentences=(Sentence(text=text, facts=(source.id,)),), facts=(source,))
    ).verdicts
    return verdict


def test_a_quote_supports_itself_and_a_faithful_rewording() -> None:
    quote = "The cache takes 16 MB of memory on the server."
    assert _verdict(quote, quote).supported
    assert _verdict("On the server the cache takes 16 MB of memory.", quote).supported


def test_another_number_another_polarity_or_other_words_are_not_supported() -> None:
    quote = "The cache takes 16 MB of memory on the server."
    for text in (
        "The cache takes 64 MB of memory on the server.",
        "The cache takes not 16 MB of memory on the server.",
        "Trains run late.",
    ):
        verdict = _verdict(text, quote)
        assert not verdict.supported
        assert verdict.reason


def test_a_sentence_without_a_fact_is_not_supported() -> None:
    (verdict,) = check(ClaimCheckQuestion(query=QUERY, sentences=(Sentence(text="It is so."),), facts=())).verdicts
    assert not verdict.supported


def test_a_folded_memory_holds_the_best_facts_within_its_limit() -> None:
    best = fact("An append-only log survives a power cut by means of fsync.", relevance=1.0)
    question = FoldQuestion(
        query=QUERY, perspective=view(QUERY), facts=(*FACTS, best), searches=(), summary="An older line.", limit_tokens=60
    )
    summary = fold(question).summary
    assert summary.splitlines()[0] == best.claim
    assert tokens(summary) <= 60
