"""The answer to a question in a line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.answers.answer_run import SourcePassage
from pipeline.text.ranking.answers.short_answer import short_answer
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.term_statistics import TermStatistics

KEYS = (
    "Everybody makes a key pair on the first day of the month.\n\nThe default of an RSA key is 3072 bits.\n\n"
    "Keep the private half of it to yourself, always."
)
BITS = "How many bits does an RSA key have by default?"
RAILWAY = (
    "Die Erlatalbahn ist eine eingleisige Nebenbahn. Am 1. Oktober 1893 wurde die Erlatalbahn gebaut und eingeweiht. "
    "Der Landtag hatte das Geld lange nicht bewilligt, und der Ingenieur musste mehrmals in die Hauptstadt reisen, um dort für "
    "seine Pläne zu werben und die Zweifler zu überzeugen.\n\n"
    "Sie wurde 1976 stillgelegt, weil kaum noch jemand mit der Erlatalbahn fuhr."
)


def line(question: str, *quotes: str, longest: int = 320, headings: str = "", opens: bool = False) -> str:
    passages = [SourcePassage(quote, headings, opens) for quote in quotes]
    found = short_answer(passages, parse_question(question), TermStatistics(), longest)
    return found.text if found else ""


def test_the_sentence_that_covers_the_question_is_the_answer() -> None:
    assert line(BITS, KEYS) == "The default of an RSA key is 3072 bits."


def test_the_answer_may_be_in_a_later_passage() -> None:
    first = "An RSA key is made by everybody on the first day, by default."
    passages = [SourcePassage(first, ""), SourcePassage(KEYS, "")]
    found = short_answer(passages, parse_question(BITS), TermStatistics(), 320)
    assert found is not None
    assert (found.text, found.places) == ("The default of an RSA key is 3072 bits.", (1,))


def test_the_sentences_after_it_in_its_paragraph_follow_while_there_is_room() -> None:
    said = "The default of an RSA key is 3072 bits. It was 2048 until last year."
    assert line(BITS, said) == said
    assert line(BITS, said, longest=50) == "The default of an RSA key is 3072 bits."


def test_a_sentence_that_points_back_comes_with_the_one_before_it() -> None:
    said = "The gate opens at seven. It closes when the last visitor has left the garden."
    assert line("When does the gate to the garden close?", said) == said


@pytest.mark.parametrize(
    "beginning",
    [
        "Let us suppose that an RSA key by default has 17 bits for now.",
        "See the chapter on the default bits of an RSA key for the 12 sizes.",
        "openssl - an RSA key with 3072 bits by default",
        "Licensed under the RSA key licence by default, in 2048 bits.",
        "In that case an RSA key has 1024 bits by default.",
    ],
)
def test_examples_pointers_name_lines_licences_and_what_leans_are_passed_over(beginning: str) -> None:
    assert line(BITS, f"{beginning}\n\nThe default of an RSA key is 3072 bits.") == "The default of an RSA key is 3072 bits."


def test_a_question_of_two_parts_gets_a_sentence_for_each() -> None:
    found = line("Wann wurde die Erlatalbahn gebaut und warum wurde sie stillgelegt?", RAILWAY, longest=200)
    assert "1893" in found
    assert " … " in found
    assert found.endswith("Sie wurde 1976 stillgelegt, weil kaum noch jemand mit der Erlatalbahn fuhr.")


def test_one_run_that_answers_both_parts_stands_alone() -> None:
    said = "Die Mühle wurde 1890 gebaut und 1950 stillgelegt, weil das Wasser fehlte."
    assert line("Wann wurde die Mühle gebaut und warum wurde sie stillgelegt?", said) == said


def test_a_list_that_goes_on_ends_with_a_mark_and_full_items_get_no_semicolon() -> None:
    items = "- To recover the space of old rows.\n- To update the statistics\n- To protect the data"
    said = f"VACUUM is needed for these reasons:\n{items}"
    why = "Why is VACUUM needed?"
    assert line(why, said) == (
        "VACUUM is needed for these reasons: To recover the space of old rows. To update the statistics; To protect the data"
    )
    assert (
        line(why, said, longest=100)
        == "VACUUM is needed for these reasons: To recover the space of old rows. To update the statistics …"
    )


def test_a_list_begins_with_the_line_above_the_passage_that_introduces_it() -> None:
    passage = SourcePassage("- at least 5 days in unstable;\n- no new bugs", "", lead="A package moves to testing after this:")
    found = short_answer([passage], parse_question("When does a package move to testing?"), TermStatistics(), 320)
    assert found is not None
    assert found.text == "A package moves to testing after this: at least 5 days in unstable; no new bugs"


def test_what_holds_the_kind_of_answer_further_down_follows() -> None:
    said = (
        "Die Varroamilbe ist eine Gefahr für alle Völker. Im Winter starben viele Völker, und der Vorstand war ratlos.\n\n"
        "Drei Schritte sind nötig, damit die Völker überleben."
    )
    found = line("Warum stirbt die Varroamilbe der Völker?", said, longest=120)
    assert found == "Die Varroamilbe ist eine Gefahr für alle Völker. … Drei Schritte sind nötig, damit die Völker überleben."


def test_a_short_first_sentence_names_the_subject_of_its_paragraph() -> None:
    named = (
        "Grant of Patent License. Each contributor hereby grants to you all that is needed for it, without any charge, for ever."
    )
    other = "The garden has a gate. Every visitor of the garden is given all that is needed for it, without any charge, for ever."
    assert line("What does the patent license grant?", f"{other}\n\n{named}", longest=110).startswith("Each contributor")


def test_how_it_was_before_is_no_answer_to_a_question_on_how_it_is() -> None:
    said = (
        "Das Wasserwerk versorgt die Stadt mit Trinkwasser. Es wurde 1908 gebaut. "
        "Bis dahin hatten die Leute ihr Trinkwasser aus der Sorne geholt."
    )
    assert line("Woher kommt das Trinkwasser?", said) == "Das Wasserwerk versorgt die Stadt mit Trinkwasser."
    assert "Sorne" in line("Woher kam das Trinkwasser?", said)


def test_a_sentence_that_breaks_off_above_code_has_the_code_behind_it() -> None:
    said = "The copyright sign is encoded in UTF-8 as\n```\n0xc2 0xa9\n```"
    assert line("How does UTF-8 encode the copyright sign?", said) == "The copyright sign is encoded in UTF-8 as 0xc2 0xa9"


def test_an_option_that_the_answer_does_not_name_stands_before_it() -> None:
    passage = SourcePassage("This is useful to catch up on missed runs of a timer.", "timers / Persistent=", lead="Persistent=")
    found = short_answer([passage], parse_question("How does a timer catch up on missed runs?"), TermStatistics(), 320)
    assert found is not None
    assert found.text == "Persistent=: This is useful to catch up on missed runs of a timer."


def test_what_is_between_two_sentences_of_a_passage_is_shown_where_there_is_room() -> None:
    said = "The gate was built in 1893. It is made of oak. It was closed because nobody used the gate."
    assert line("When was the gate built, and why was the gate closed?", said) == said


def test_the_sentence_that_answers_the_second_part_has_the_word_that_only_this_part_has() -> None:
    water = "The works supply the town with drinking water in all its streets."
    treated = "Sand filters clean it before ultraviolet light kills what is left."
    passages = [SourcePassage(water, "The works"), SourcePassage(treated, "The works / How the water is treated")]
    question = "Where does the drinking water of the town come from, and how is it treated?"
    found = short_answer(passages, parse_question(question), TermStatistics(), 320)
    assert found is not None
    assert found.places == (0, 1)


def test_without_a_passage_there_is_none() -> None:
    assert short_answer([], parse_question(BITS), TermStatistics(), 320) is None
    assert line(BITS, "") == ""


WORDS = st.lists(
    st.sampled_from(["abc", "RSA", "It.", "is.", "key:", "- a", "\n\n", "\n- b", "(x)", "1893"]), min_size=1, max_size=30
)


@given(st.lists(WORDS, max_size=4), st.integers(20, 120))
def test_it_is_made_of_the_passages_words_and_has_the_same_result_twice(said: Sequence[Sequence[str]], longest: int) -> None:
    quotes = [" ".join(one) for one in said]
    question = "What is RSA and when was the key made?"
    found = line(question, *quotes, longest=longest)
    assert found == line(question, *quotes, longest=longest)
    assert set(found.replace("…", " ").replace(";", " ").replace("·", " ").split()) <= set(" ".join(quotes).split())
