"""Long tables, whose order is kept: that they show what a table made from nothing shows."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.site.cache.catalogue import Catalogue, Rest
from tests.site.scratch import Scratch, cold, note

_TABLE = """```base
filters: {{and: ['file.hasTag("t")', {filter}]}}
views:
  - {{type: table, limit: 3, order: [file.name, rating], sort: [{{property: rating, direction: {way}}}, {{property: title}}]}}
```"""
_FILTERS = ["'rating != 7'", "{not: ['file.hasLink(this)']}", "{or: ['rating > 0', 'file.inFolder(\"n\")']}"]


def _home(scratch: Scratch, filter: str = _FILTERS[0], way: str = "DESC") -> None:
    scratch.write("Home.md", note("Home", _TABLE.format(filter=filter, way=way)))


def _rows(scratch: Scratch) -> list[str]:
    return [row.text() for row in scratch.page("index.html").css("div.base tbody a")]


def _write(scratch: Scratch, number: int, rating: str, title: str = "", tag: str = "t", body: str = "x") -> None:
    scratch.write(f"n/{number}.md", note(title or f"N{number}", body, rating=f'"{rating}"', tags=f"[{tag}]"))


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tables count as long."""
    monkeypatch.setattr("pipeline.site.markdown.table_order_update.LONG", 1)


@pytest.mark.usefixtures("long")
def test_a_long_table_reads_of_its_candidates_only_those_that_changed_or_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = Scratch(tmp_path)
    _home(scratch)
    for number in range(40):
        _write(scratch, number, str(number))
    scratch.build()
    read: list[str] = []
    rest = Catalogue.rest

    def noted(self: Catalogue, path: str) -> Rest:
        read.append(path)
        return rest(self, path)

    monkeypatch.setattr(Catalogue, "rest", noted)
    _write(scratch, 4, "38.5")
    scratch.build()
    assert _rows(scratch) == ["N39", "N4", "N38"]
    assert len(set(read)) <= 6  # home, the one that changed, its neighbours, two more that are shown
    assert "n/20.md" not in read
    assert "36 more" in scratch.html("index.html")


_RATINGS = ["1", "-2", "-10", "0", "-0.0", "2.5", "b", "A", "", "nan", "7"]
_STEP = st.one_of(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(_RATINGS),
        st.sampled_from(["One", "Two", ""]),
        st.sampled_from(["t", "T/x", "other"]),
        st.sampled_from(["x", "[[Home]]"]),
    ),
    st.tuples(st.sampled_from([*_FILTERS, None]), st.sampled_from(["ASC", "DESC"])),
    st.integers(0, 7),
)


@pytest.mark.usefixtures("long")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(st.lists(_STEP, min_size=1, max_size=6), min_size=1, max_size=4))
def test_whatever_changed_a_kept_order_is_that_of_all_notes_sorted(
    history: list[list[tuple[int, str, str, str, str] | tuple[str | None, str] | int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = Scratch(tmp_path_factory.mktemp("site"))
    _home(scratch)
    for number, rating in enumerate(_RATINGS):
        _write(scratch, number, rating)
    scratch.build()
    for steps in history:
        for step in steps:
            _take(scratch, step)
        scratch.build()
    with patch("pipeline.site.markdown.table_order_update.LONG", 1_000_000):
        assert scratch.files() == cold(scratch, scratch.folder / "anew")


def _take(scratch: Scratch, step: tuple[int, str, str, str, str] | tuple[str | None, str] | int) -> None:
    if isinstance(step, int):
        (scratch.folder / "vault" / "n" / f"{step}.md").unlink(missing_ok=True)
    elif len(step) == 5:
        _write(scratch, *step)
    elif step[0] is None:
        (scratch.folder / "vault" / "Home.md").unlink(missing_ok=True)
    else:
        _home(scratch, step[0], step[1])
