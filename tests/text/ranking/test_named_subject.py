"""A question's named subject must be treated by the passages, not only be one name of a list."""

from __future__ import annotations

import pytest

from pipeline.text.ranking.answerability import judgement_of
from pipeline.text.ranking.named_subject import names_of, passing_names
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText, statistics_of

OTHERS = [f"Paragraph {number} says nothing of note about its own subject {number}." for number in range(80)]


def passing(question: str, *texts: str, headings: str = "") -> tuple[str, ...]:
    """The names that these passages mention in passing, among 80 others."""
    passages = [StemmedText.of(text, headings, "english") for text in texts]
    known = statistics_of([*passages, *(StemmedText.of(text, "", "english") for text in OTHERS)], "english")
    return passing_names(parse_question(question), passages, known)


@pytest.mark.parametrize(
    "text",
    [
        "Linux supports many file systems: ext4, xfs, btrfs, f2fs, vfat and many more.",
        "Some file systems (e.g. btrfs) keep snapshots of their own.",
        "Use a file system such as btrfs or zfs which supports read-only snapshots.",
        "```\nbtrfs subvolume snapshot\n```",
        "| ext4 | the usual one |\n| btrfs | the same with snapshots |",
    ],
)
@pytest.mark.parametrize("question", ["How do snapshots work in Btrfs?", "how do snapshots work in btrfs"])
def test_a_name_in_a_list_in_brackets_in_code_or_in_a_row_is_mentioned_in_passing(text: str, question: str) -> None:
    assert [name.lower() for name in passing(question, text)] == ["btrfs"]


@pytest.mark.parametrize(
    "texts",
    [
        ("Btrfs shares the blocks of a snapshot until one of them is written.",),  # covers the question, about the name
        ("Btrfs keeps its trees in chunks.", "A subvolume of it is a tree.", "Btrfs never overwrites a block in place."),
        ("- btrfs: shares blocks between a snapshot and its origin.", "Btrfs needs no journal."),
    ],
)
def test_a_name_that_sentences_are_about_is_treated(texts: tuple[str, ...]) -> None:
    assert passing("How do snapshots work in Btrfs?", *texts) == ()


def test_a_name_in_a_title_or_heading_is_treated() -> None:
    assert (
        passing("How do snapshots work in Btrfs?", "A snapshot shares all blocks.", headings="btrfs(5): the b-tree file system")
        == ()
    )


def test_a_sentence_that_answers_a_narrow_question_treats_its_names() -> None:
    assert passing("Does rsync keep the labels of SELinux?", "With -X, rsync keeps the labels of SELinux.") == ()


def test_a_name_that_no_passage_mentions_is_not_mentioned_in_passing() -> None:
    assert passing("How do snapshots work in Btrfs?", "A snapshot shares all blocks.") == ()


def test_usual_words_compounds_and_numbers_are_no_names() -> None:
    known = statistics_of([StemmedText.of(text, "", "english") for text in OTHERS], "english")
    assert names_of(parse_question("How does an append-only log survive a power cut since 3.0?"), known) == ()


def test_the_judgement_names_what_is_mentioned_in_passing_and_is_no_full_answer() -> None:
    passages = [StemmedText.of("Linux knows ext4, btrfs, and vfat; snapshots work there.", "", "english")]
    known = statistics_of([*passages, *(StemmedText.of(text, "", "english") for text in OTHERS)], "english")
    found = judgement_of(parse_question("How do snapshots work in Btrfs?"), passages, known)
    assert (found.outcome, found.passing) == ("partly", ("Btrfs",))


def test_of_a_name_whose_passages_hold_nothing_else_of_the_question_the_judgement_says_so() -> None:
    own = ["Lzip writes files of version one.", "Files of lzip have a suffix of their own.", "Lzip is seldom met."]
    other = "A damaged archive is recovered block by block."
    passages = [StemmedText.of(text, "", "english") for text in (*own, other)]
    known = statistics_of([*passages, *(StemmedText.of(text, "", "english") for text in OTHERS)], "english")
    found = judgement_of(parse_question("How does lzip recover damaged archives?"), passages, known)
    assert (found.outcome, found.missing, found.passing) == ("partly", ("lzip",), ())


def test_a_question_whose_other_words_are_all_light_is_answered_by_what_names_its_subject() -> None:
    passages = [StemmedText.of("The values yes and no forbid and allow to add a key.", "StrictHostKeyChecking", "english")]
    known = statistics_of([*passages, *(StemmedText.of(text, "", "english") for text in OTHERS)], "english")
    assert judgement_of(parse_question("What values can StrictHostKeyChecking take?"), passages, known).outcome == "answered"


def test_a_word_with_the_stem_of_a_name_is_not_the_name() -> None:
    listed = "Backups are made by bacula, duplicity, and others; some encrypt them."
    assert passing(
        "How does Duplicity encrypt backups?", listed, "Duplicated keys are refused.", "A duplicated file is kept."
    ) == ("Duplicity",)


def test_a_paragraph_that_opens_with_a_name_as_its_subject_is_about_it() -> None:
    """The sentences after the first need not repeat the name."""
    said = "Btrfs is the odd one. Snapshots share blocks with their origin. A write takes a new block."
    assert passing("How do snapshots work in Btrfs?", said) == ()
    assert passing("How do snapshots work in Btrfs?", "Some have more. Btrfs is the odd one. A write takes a new block.") == (
        "Btrfs",
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "Welche Folgen hatte die Begradigung der Erla?",
            "Der Fluss wurde nach Plänen des Baurats begradigt und um elf Kilometer verkürzt.",
        ),
        ("Wie funktioniert ein Kohlenmeiler?", "Ein Meiler ist ein Haufen aus Holz, in dem die Kohlen ohne Flamme entstehen."),
    ],
)
def test_a_german_word_that_a_passage_has_in_another_form_is_not_mentioned_in_passing(question: str, text: str) -> None:
    passages = [StemmedText.of(text, "", "german")]
    known = statistics_of([*passages, *(StemmedText.of(one, "", "german") for one in OTHERS)], "german")
    assert passing_names(parse_question(question, "german"), passages, known) == ()
