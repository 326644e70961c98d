"""Which passages stand in the summary and which in the body, within their words and each once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.adapters.reasoners.extractive.report_passages import ChosenPassages, choose_passages, stemmed_fact
from pipeline.domain.values import Fact
from pipeline.text.ranking.scoring import statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from tests.adapters.reasoners.extractive.builders import fact

BROAD = "How does an append-only log survive a power cut?"
NUMBER = "How many records does the log hold by default?"
PARTS = "How does a log survive a power cut, and how is the pump cooled?"
PIECES = ["log", "survives", "power", "cut", "record", "pump", "cooled", "holds", "default", "five", "checksum", "disk"]
BACKGROUND = tuple(fact(f"Background{number} tells of matter{number}.", f"corpus:b{number}.md") for number in range(60))
TEXTS = st.lists(st.sampled_from(PIECES), min_size=3, max_size=70).map(" ".join)
SENTENCES = st.lists(TEXTS, min_size=1, max_size=14, unique=True)


def known_of(facts: tuple[Fact, ...]) -> TermStatistics:
    texts = [stemmed_fact(one, "english") for one in (*facts, *BACKGROUND)]
    return statistics_of(texts).model_copy(update={"language": "english"})


def picked(query: str, facts: tuple[Fact, ...], summary_words: int = 150, words: int = 1_350) -> ChosenPassages:
    return choose_passages(query, facts, known_of(facts), summary_words, words)


def words_of(facts: tuple[Fact, ...]) -> int:
    return sum(len(f"{one.lead} {one.quote}".split()) for one in facts)


def from_texts(texts: list[str]) -> tuple[Fact, ...]:
    return tuple(fact(f"{text} number {place}.", f"corpus:{place % 3}.md") for place, text in enumerate(texts))


@settings(deadline=None)
@given(SENTENCES, st.sampled_from([BROAD, NUMBER, PARTS]), st.integers(20, 200))
def test_the_summary_keeps_to_its_words_unless_its_first_passage_alone_is_longer(texts: list[str], query: str, most: int) -> None:
    found = picked(query, from_texts(texts), summary_words=most).summary
    assert len(found) <= 1 or words_of(found) <= most


@settings(deadline=None)
@given(SENTENCES, st.sampled_from([BROAD, NUMBER, PARTS]))
def test_no_passage_stands_twice_unless_there_is_but_one(texts: list[str], query: str) -> None:
    found = picked(query, from_texts(texts))
    names = [one.id for one in found.body]
    assert len(set(names)) == len(names)
    assert len({one.id for one in found.summary}) == len(found.summary)
    assert not {one.id for one in found.summary} & set(names) or len(names) == 1


@settings(deadline=None)
@given(SENTENCES, st.sampled_from([BROAD, NUMBER, PARTS]), st.integers(0, 2**16))
def test_the_order_in_which_facts_were_found_changes_nothing(texts: list[str], query: str, seed: int) -> None:
    facts = from_texts(texts)
    shuffled = tuple(random.Random(seed).sample(facts, len(facts)))
    known = known_of(facts)
    assert choose_passages(query, facts, known, 150, 1_350) == choose_passages(query, shuffled, known, 150, 1_350)


def test_a_question_for_a_number_has_a_report_of_four_hundred_words_at_most() -> None:
    filler = "and that is said of the log in other words of no great interest " * 4
    facts = tuple(fact(f"The log holds {number} records by default {filler}.", f"corpus:{number}.md") for number in range(40))
    found = picked(NUMBER, facts)
    assert 0 < words_of(found.body) <= 400


def test_a_report_is_long_if_no_passage_covers_the_question_for_a_number() -> None:
    filler = "and this is told in many more words than would be needed for it " * 4
    facts = tuple(
        fact(f"The append-only log survives power cut {number} by its checksum{number % 7} {filler}.", f"corpus:{number}.md")
        for number in range(40)
    )
    number = "How many power cuts does the append-only log survive?"
    found = words_of(picked(number, facts).body)
    assert found <= 400 < words_of(picked("What number of ships and sailors will sink by power?", facts).body)


def test_the_same_stretch_in_two_documents_is_chosen_once() -> None:
    text = "An append-only log survives a power cut by its checksum."
    facts = (fact(text, "corpus:a.md"), fact(text.upper(), "corpus:b.md"), fact("The log is on a disk.", "corpus:c.md"))
    found = picked(BROAD, facts)
    assert len([one for one in (*found.summary, *found.body) if one.quote.casefold() == text.casefold()]) == 1


def test_the_summary_of_a_question_in_parts_has_the_best_passage_of_each() -> None:
    filler = "which is told at length in the book about it "
    facts = (
        fact(f"A log survives a power cut by its checksum, {filler}.", "corpus:a.md"),
        fact(f"The pump is cooled with water from the river, {filler}.", "corpus:b.md"),
        *(fact(f"The weather of day {number} was good, {filler}.", f"corpus:{number}.md") for number in range(5)),
    )
    found = picked(PARTS, facts)
    assert {facts[0].id, facts[1].id} <= {one.id for one in found.summary}
    assert set(found.part) == {one.id for one in found.body}


def test_the_summary_consists_of_the_best_passages_by_rank() -> None:
    filler = "as the first page of the manual says in so many words to its readers"
    facts = (
        fact(f"The log holds five records by default, {filler}.", "corpus:a.md"),
        fact(f"By default the log also holds ten older records, {filler}.", "corpus:b.md"),
        *(fact(f"The log of day {number} was long, {filler}.", f"corpus:{number}.md") for number in range(9)),
    )
    assert {one.id for one in picked(NUMBER, facts).summary[:2]} == {facts[0].id, facts[1].id}


def test_without_facts_nothing_is_chosen() -> None:
    assert picked(BROAD, ()) == ChosenPassages((), (), {})


def test_a_sentence_stands_once_even_if_two_passages_contain_it() -> None:
    same = "The append-only log survives a power cut because each record has a checksum."
    facts = (
        fact(f"{same} It is written at once.", "corpus:a.md"),
        fact(f"{same} Nobody reads it at night.", "corpus:b.md"),
        fact("A power cut can tear the last record of the append-only log.", "corpus:c.md"),
        fact("The log is on a disk, and a power cut is a rare event there.", "corpus:d.md"),
    )
    found = picked(BROAD, facts)
    assert sum(same in one.quote for one in (*found.summary, *found.body)) == 1


def test_a_sentence_stands_once_even_if_a_line_or_an_address_stands_beside_it_in_one_passage() -> None:
    said = "The append-only log is licensed to you, and you may obtain a copy of the licence of the log at"
    other = fact(f"Copyright 2014 by the pilots\n\n{said}\n\n```\nhttp://example.org/licence\n```", "corpus:b.md")
    found = picked("What does the licence of the append-only log say?", (fact(f"{said}", "corpus:a.md"), other))
    assert len({one.id for one in (*found.summary, *found.body)}) == 1


def test_an_introduction_without_its_list_is_not_chosen() -> None:
    facts = (
        fact("An append-only log survives a power cut in these ways:", "corpus:a.md"),
        fact("An append-only log survives a power cut by its checksum.", "corpus:b.md"),
        fact("The log is on a disk, and a power cut is a rare event there.", "corpus:c.md"),
    )
    found = picked(BROAD, facts)
    assert all(not one.quote.endswith(":") for one in (*found.summary, *found.body))


def test_only_passages_that_name_the_subject_are_chosen_if_it_is_mentioned_in_passing() -> None:
    others = tuple(
        fact(f"Snapshots of day {number} are kept on the tape of that day.", f"corpus:{number}.md") for number in range(90)
    )
    listed = fact("Linux knows ext4, btrfs, and vfat; snapshots work in some of them.", "corpus:list.md")
    known = statistics_of([stemmed_fact(one, "english") for one in (*others, listed)], "english")
    found = choose_passages("How do snapshots work in Btrfs?", (*others, listed), known, 150, 1_000)
    assert [one.id for one in (*found.summary, *found.body)] == [listed.id, listed.id]


def test_each_side_of_a_comparison_has_passages_of_its_own_in_turn() -> None:
    facts = (
        fact("Zstd decompresses at a rate that is faster than its compression.", "corpus:zstd.md"),
        fact("The better xz compresses, the faster it decompresses.", "corpus:xz.md"),
        fact("Nobody decompresses faster than the wind.", "corpus:wind.md"),
        *(
            fact(f"Paragraph {number} says nothing of note about its own subject {number}.", f"corpus:{number}.md")
            for number in range(60)
        ),
    )
    known = statistics_of([stemmed_fact(one, "english") for one in facts], "english")
    found = choose_passages("xz or zstd: which decompresses faster?", facts, known, 150, 1_000)
    assert {one.url for one in found.summary} == {"corpus:zstd.md", "corpus:xz.md"}


OUTPUT = "```\nqdisc fq_codel 8002: dev eth0 root limit 10240p drops packets\nfq_codel decides: dropped 0, ecn_mark 0\n```"
PROSE = "A packet is dropped when fq_codel has held the queue above the target for an interval."


@pytest.mark.parametrize(
    ("question", "first"),
    [("When does fq_codel decide to drop packets?", PROSE), ("Which command shows that fq_codel drops packets?", OUTPUT)],
)
def test_a_summary_begins_with_prose_unless_the_question_is_after_code(question: str, first: str) -> None:
    chosen = picked(question, (fact(OUTPUT, "corpus:a.8"), fact(PROSE, "corpus:b.md")))
    assert chosen.summary[0].quote == first
