"""Scores of reports beside plain passages."""

from __future__ import annotations

from bench.quality.scoring import by_chance, facets_in, score_broad, score_narrow
from bench.quality.sets import Broad, Facet, Narrow


def narrow(name: str, *expected: str) -> Narrow:
    return Narrow(name, "dev", f"What of {name}?", expected, "page.html", " ".join(expected))


BROAD = Broad(
    "b", "dev", "How?", (Facet("one", ("alpha", "first"), "p"), Facet("two", ("re:b+eta",), "p"), Facet("three", ("gamma",), "p"))
)


def test_an_answer_counts_only_within_the_summary_s_length() -> None:
    question = narrow("limit", "five seconds")
    late = "word " * 149 + "five seconds"
    assert score_narrow(question, "It is five seconds.", late).own == "five seconds"
    assert score_narrow(question, "It is five seconds.", late).plain == ""
    assert score_narrow(question, late, "").own == ""


def test_the_plain_passages_are_cut_to_the_report_s_words() -> None:
    score = score_broad(BROAD, "alpha bbeta end", "nothing here yet gamma")
    assert (score.own, score.plain) == (("one", "two"), ())
    assert (score.own_words, score.plain_words) == (3, 3)


def test_a_report_past_its_limit_is_cut_before_it_is_scored() -> None:
    assert score_broad(BROAD, "word " * 1_500 + "alpha", "").own == ()


def test_a_facet_counts_once_by_any_of_its_names() -> None:
    assert facets_in(BROAD, "first, then alpha, then BETA") == ("one", "two")


def test_chance_is_the_share_of_other_questions_summaries_that_match() -> None:
    questions = [narrow("a", "red"), narrow("b", "blue")]
    assert by_chance(questions, {"a": "red blue", "b": "blue"}) == 0.5
    assert by_chance(questions, {"a": "red", "b": "blue"}) == 0.0
    assert by_chance(questions, {"a": "", "b": ""}) == 0.0
