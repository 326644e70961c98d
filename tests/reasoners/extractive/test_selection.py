"""Which facts a report of so many words is made of."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reasoners.extractive.selection import length, select, worth
from pipeline.reasoners.extractive.topic import subject_weights, subject_words
from pipeline.values import Fact, Hit
from tests.reasoners.extractive.builders import fact

FLUSH = fact("A flush sends the buffered records to the disk.", "corpus:a", relevance=0.8)
AGAIN = fact("A flush sends the buffered records to the drive.", "corpus:b", relevance=0.8)
SUM = fact("A checksum tells a torn record from a whole one.", "corpus:a", relevance=0.5)
HITS = (
    Hit(url="corpus:a", title="Logs", snippet="A log is flushed. The log has records, and the log has checksums."),
    Hit(url="corpus:b", title="Logs", snippet="The log writer flushes its log before it answers to anybody else."),
)


def _even(facts: Sequence[Fact]) -> dict[str, float]:
    return {entry.id: 1.0 for entry in facts}


def test_what_repeats_a_chosen_fact_is_not_chosen() -> None:
    facts = (FLUSH, AGAIN, SUM)
    chosen = select(facts, _even(facts), 100)
    assert len(chosen) == 2
    assert SUM in chosen


def test_what_bears_out_a_chosen_fact_is_cited_with_it_and_not_told_again() -> None:
    other = fact("Torn records are found by their checksums alone.", "corpus:c")
    support = {SUM.id: (other.id,), other.id: (SUM.id,)}
    assert len(select((SUM, other), _even((SUM, other)), 100, support=support)) == 1
    assert len(select((SUM, other), _even((SUM, other)), 100)) == 2


def test_what_the_summary_says_is_not_said_again() -> None:
    assert select((AGAIN, SUM), _even((AGAIN, SUM)), 100, said=(FLUSH,)) == [SUM]


def test_a_fact_far_from_the_topic_is_left_out_even_where_there_is_room() -> None:
    far = fact("Vinegar keeps cucumbers for a whole winter.", "corpus:z")
    assert select((SUM, far), {SUM.id: 1.0, far.id: 0.05}, 100) == [SUM]


def test_a_fact_about_the_subject_is_worth_more_than_one_that_only_shares_a_passing_word() -> None:
    near = fact("Each log keeps a checksum in every record.", "corpus:a", relevance=0.5)
    passing = fact("Anybody else may keep a diary in winter.", "corpus:z", relevance=0.5)
    value = worth("What does a log do that anybody needs?", (near, passing), {near.id: 0.5, passing.id: 0.5}, HITS)
    assert value[near.id] > 2 * value[passing.id]


def test_a_question_is_about_the_words_that_its_passages_dwell_on() -> None:
    about = subject_weights("Which answer does the log give?", HITS)
    assert about["log"] > 4 * about.get("answer", 0.0)
    assert subject_words("Which answer does the log give?", HITS) == ("log",)


def test_without_hits_all_words_of_a_question_count_as_they_weigh() -> None:
    assert set(subject_words("How does a log survive a power cut?", ())) >= {"log", "survive", "power", "cut"}


CLAIMS = st.lists(st.text("ab c", min_size=1, max_size=40), unique=True, max_size=12)


@settings(deadline=None)
@given(CLAIMS, st.integers(0, 30))
def test_no_more_words_than_wanted_and_the_same_choice_in_whatever_order(claims: list[str], words: int) -> None:
    facts = list({entry.id: entry for entry in (fact(claim) for claim in claims)}.values())
    chosen = select(facts, _even(facts), words)
    assert sum(map(length, chosen)) <= words
    assert chosen == select(facts[::-1], _even(facts), words)


def test_a_fact_that_only_points_elsewhere_is_worth_less() -> None:
    told = fact("Each log keeps a checksum in every record.", "corpus:a")
    pointers = (
        fact("See the chapter on log records for more details.", "corpus:a"),
        fact("A log is opened as follows:", "corpus:a"),
    )
    value = worth("What does a log keep?", (told, *pointers), dict.fromkeys((entry.id for entry in (told, *pointers)), 0.5), HITS)
    assert all(value[told.id] > 2 * value[pointer.id] for pointer in pointers)


def test_a_page_whose_facts_dwell_on_the_topic_lends_them_worth() -> None:
    near = [fact(f"The log keeps its record number {number}.", "corpus:a") for number in range(6)]
    far = [fact(f"The boat carries passenger number {number}.", "corpus:b") for number in range(6)]
    passing = fact("The boat also keeps a log in the cabin.", "corpus:b")
    facts = (*near, *far, passing)
    value = worth("What does a log keep?", facts, dict.fromkeys((entry.id for entry in facts), 0.5), HITS)
    assert value[near[0].id] > 2 * value[passing.id]
