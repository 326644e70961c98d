"""What changed between two readings of a source."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.source_diff import LENGTH, SHOWN, Change, change, texts_of
from tests.fakes import MemoryStore

passages = st.lists(st.text(alphabet="abc", min_size=1, max_size=3), max_size=12)


def _text(blocks: list[str]) -> str:
    return "# Title\n\n" + "".join(f"{block}\n\n" for block in blocks)


def test_what_went_and_what_came_stand_in_the_order_of_their_texts() -> None:
    found = change(_text(["one", "two", "three"]), _text(["zero", "three", "four"]))
    assert found == Change(("one", "two"), ("zero", "four"), 0)


def test_a_passage_that_moved_did_not_change() -> None:
    assert change(_text(["one", "two"]), _text(["two", "one"])) == Change((), (), 0)


def test_a_passage_that_stood_twice_and_stands_once_is_gone_once() -> None:
    assert change(_text(["one", "one"]), _text(["one"])) == Change(("one",), (), 0)


def test_little_is_shown_of_a_page_that_changed_throughout() -> None:
    found = change(_text([f"{n} " + "old " * 200 for n in range(50)]), _text([f"{n} new" for n in range(50)]))
    assert (len(found.gone), len(found.come), found.more) == (SHOWN, SHOWN, 100 - 2 * SHOWN)
    assert all(len(passage) <= LENGTH for passage in found.gone)


@settings(deadline=None)
@given(passages, passages)
def test_nothing_that_both_hold_is_told_and_the_rest_is_counted(before: list[str], after: list[str]) -> None:
    found = change(_text(before), _text(after))
    told = len(found.gone) + len(found.come) + found.more
    both = sum(min(before.count(block), after.count(block)) for block in set(before))
    assert told == len(before) + len(after) - 2 * both


def test_a_text_that_is_stored_no_more_is_none() -> None:
    store = MemoryStore()
    read = texts_of(store)
    assert read(store.put("ä".encode())) == "ä"
    assert read("0" * 64) is None
