"""Segments: what a note that comes, goes or changes its day does to them."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pipeline.site.search_index import segments
from pipeline.site.search_index.segments import FIRST, NotePosition, Segments

PATHS = [f"n/{number}.md" for number in range(12)]
DAYS = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["", "2026-01-01", "2026-01-02T10:00:00"]))
SMALL = mock.patch.object(segments, "SIZE", 3)


def places(days: dict[str, str]) -> set[NotePosition]:
    return {NotePosition(created, path) for path, created in days.items()}


@given(before=DAYS, after=DAYS)
def test_segments_depend_on_the_notes_alone(before: dict[str, str], after: dict[str, str]) -> None:
    with SMALL:
        old, new = (Segments().changed((), places(days)) for days in (before, after))
        assert old.changed(places(before) - places(after), places(after) - places(before)) == new


@given(days=DAYS)
def test_each_note_stands_in_the_extent_of_its_segment(days: dict[str, str]) -> None:
    with SMALL:
        found = Segments().changed((), places(days))
    for place in places(days):
        start, end = found.extents[found.name_at(place)]
        assert start <= place < end


def test_a_note_that_begins_a_segment_splits_one_and_leaves_the_others_as_they_are() -> None:
    with SMALL:
        beginning = [path for path in PATHS if segments.begins(path)]
        assert 3 <= len(beginning) < len(PATHS)
        most = Segments().changed((), {NotePosition("", path) for path in beginning if path != beginning[1]})
        more = most.changed((), {NotePosition("", beginning[1])})
    assert len(more.extents) == len(most.extents) + 1
    kept = {name for name, extent in most.extents.items() if more.extents[name] == extent}
    assert len(kept) == len(most.extents) - 1


def test_a_few_notes_are_one_segment() -> None:
    assert list(Segments().changed((), {NotePosition("", path) for path in PATHS}).extents) == [FIRST]
