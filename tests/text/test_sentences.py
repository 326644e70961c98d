"""Running text into sentences, each exactly as it stands there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.sentences import points_back, split_sentences

HARD_TEXT = st.text(alphabet=st.sampled_from("aB.!?…\"'()[]“” \n0e_`-"), max_size=300) | st.text(max_size=300)


@given(HARD_TEXT)
def test_no_character_of_a_sentence_is_lost_or_altered(text: str) -> None:
    place = 0
    for sentence in split_sentences(text):
        found = text.find(sentence, place)
        assert found >= 0
        assert not text[place:found].strip()
        place = found + len(sentence)
    assert not text[place:].strip()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It works. It does.", 2),
        ("Dr. Smith uses e.g. Python 3.11 and i.e. nothing else.", 1),
        ("See Fig. 3 and No. 7 of the U.S. report.", 1),
        ("He lives in the U.S. The house is old.", 2),
        ("It was J. R. Hartley who wrote it.", 1),
        ("The file is renamed. os.replace is atomic.", 2),
        ("The file (see below. It is long) is renamed. Done.", 2),
        ("Really? Yes! It is.", 3),
        ("It waits ... and then goes on.", 1),
        ("He said “Go. Now.” Then he left.", 2),
        ("The value is 3.14. 2 is even.", 2),
        ("Das Hochwasser vom 12. August 2002 war das schwerste. Danach kam eines im 21. Jahrhundert.", 2),
        ("Die Bahn, im Volksmund „Express“, fuhr bis 1967. Ihre Strecke war lang.", 2),
        ("Er sagte „Geh. Jetzt.“ Dann ging er.", 2),
        ("Gezählt wurden 24. Danach kam nichts.", 2),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize(
    "text", ["." * 200_000 + "a", "a. " * 70_000, "a." * 100_000, "x" * 200_000, "( " * 100_000, '". ' * 70_000]
)
def test_hostile_text_is_split_in_one_pass(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text", ["This holds.", "However, it fails.", "“It is loud.”", "They are loud.", "Otherwise it is lost."]
)
def test_what_points_back_leans_on_what_stands_before_it(text: str) -> None:
    assert points_back(text)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "Pumps are loud.", "There are two ways.", "It is important that it ends.", "Both pumps and valves are loud."],
)
def test_what_points_to_nothing_before_it_leans_on_nothing(text: str) -> None:
    assert not points_back(text)
