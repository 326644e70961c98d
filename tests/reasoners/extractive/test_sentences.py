from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reasoners.extractive.sentences import is_usable, split

HARD_TEXT = st.text(alphabet=st.sampled_from("aB.!?…\"'()[]“” \n0e_`-"), max_size=300) | st.text(max_size=300)


@given(HARD_TEXT)
def test_no_character_of_a_sentence_is_lost_or_altered(text: str) -> None:
    place = 0
    for sentence in split(text):
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
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, count: int) -> None:
    assert len(split(text)) == count


@pytest.mark.parametrize(
    "text", ["." * 200_000 + "a", "a. " * 70_000, "a." * 100_000, "x" * 200_000, "( " * 100_000, '". ' * 70_000]
)
def test_hostile_text_is_split_in_one_pass(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "sentence",
    [
        "The call returns only after the data has reached the disk.",
        "os.replace() renames a file and replaces the target if it exists.",
        "Changed in version 3.8: The default value is now min(32, os.cpu_count() + 4).",
    ],
)
def test_a_whole_statement_is_usable(sentence: str) -> None:
    assert is_usable(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Too short.",
        "the sentence begins somewhere in the middle of another one.",
        "The sentence ends nowhere and so it is only a fragment",
        "Is this really a statement that anybody could ever quote?",
        "Copyright 2020 by the authors of this page, who reserve everything.",
        "We use cookies to improve your experience, please accept our policy.",
        "The bracket (is never closed in this sentence of ten words.",
        "x = foo(a, b); y == bar[c]; print(x, y); return {x: y} end.",
        "The Best Of All Possible Titles For A Chapter In Books.",
        " ".join(["word"] * 60) + ".",
    ],
)
def test_what_is_no_statement_is_not_usable(sentence: str) -> None:
    assert not is_usable(sentence)


def test_a_list_item_may_lack_the_full_stop_but_not_the_verb() -> None:
    assert is_usable("The checksum is compared with that of the record", item=True)
    assert not is_usable("The checksum of the last record in file", item=True)
