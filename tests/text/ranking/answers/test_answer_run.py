"""What the runs of a passage's sentences are worth."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.answers.answer_run import NO_RUN, PassageRuns, SourcePassage, best_worth
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.term_statistics import TermStatistics

BITS = parse_question("How many bits does an RSA key have by default?")


def worth(quote: str, headings: str = "", *, opens: bool = False) -> float:
    return best_worth(SourcePassage(quote, headings, opens), BITS, TermStatistics(), 320)


def test_a_word_that_is_in_the_heading_need_not_be_repeated() -> None:
    assert worth("The default is 3072 bits here.", "RSA key") > worth("The default is 3072 bits here.")


def test_what_opens_a_section_on_the_question_is_worth_more() -> None:
    said = "The default is 3072 bits here."
    assert worth(said, "RSA key", opens=True) > worth(said, "RSA key")


def test_a_passage_without_a_unit_is_worth_less_than_any_run() -> None:
    assert worth("") == NO_RUN < worth("Licensed under the (see")


@given(st.lists(st.text("abc RSA.:\n-|", max_size=60), max_size=8), st.integers(10, 100))
def test_a_run_is_of_adjacent_units_and_short_unless_one_is_too_long_or_announces_another(said: list[str], longest: int) -> None:
    cut = PassageRuns(SourcePassage("\n".join(said), ""), "english", longest)
    runs = cut.runs()
    assert len(runs) == len(cut.worths(BITS, TermStatistics()))
    for run in runs:
        alone = len(run.units) == 1 or any(unit.announces for unit in run.units)
        assert alone or run.length <= longest
        assert cut.extended(run, BITS).units[: len(run.units)] == run.units
