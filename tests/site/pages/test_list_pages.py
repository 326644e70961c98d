"""Lists in leaves: that each note is found, that little is made again, and that it is what a build from nothing makes."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.site.files import SiteReport
from tests.site.scratch import Scratch, cold, note

LEAF = 3
_LEAF_OF = re.compile(r"(?:\.(\d+))?\.html\Z")


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.site.pages.list_pages.PAGE_SIZE", LEAF)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def _write(scratch: Scratch, number: int, day: str = "", title: str = "", kind: str = "report", tags: str = "logs") -> None:
    created = day or f"20{20 + number // 120}-{1 + number // 10 % 12:02d}-{1 + number % 10:02d}"
    scratch.write(f"r/{number:03d}.md", note(title or f"Number {number}", "x", kind, created=created, tags=f"[{tags}]"))


def _leaves(scratch: Scratch, name: str) -> list[str]:
    """The leaves of a list as site paths, the newest notes first."""
    found = [path for path in scratch.files() if re.fullmatch(rf"browse/{name}(\.\d+)?\.html", path)]
    return sorted(found, key=lambda path: -int(_number(path) or 1_000))


def _number(path: str) -> str:
    found = _LEAF_OF.search(path)
    return (found[1] if found else "") or ""


def _shown(scratch: Scratch, leaf: str) -> list[str]:
    return [link.text() for link in scratch.page(leaf).css(".entries h2 a")]


def _led(scratch: Scratch, leaf: str, rel: str) -> list[str | None]:
    return [link.attributes["href"] for link in scratch.page(leaf).css(f'a[rel="{rel}"]')]


def _lists_written(report: SiteReport) -> set[str]:
    return {path.removeprefix("browse/") for path in report.written if path.startswith("browse/") and path != "browse/tags.html"}


@pytest.mark.parametrize("count", [1, LEAF, 2 * LEAF - 1, 2 * LEAF, 2 * LEAF + 1, 40])
def test_the_leaves_of_a_list_show_each_note_once_the_newest_first(scratch: Scratch, count: int) -> None:
    for number in range(count):
        _write(scratch, number)
    scratch.build()
    for name in ("reports", "tags/logs"):
        leaves = _leaves(scratch, name)
        assert [title for leaf in leaves for title in _shown(scratch, leaf)] == [f"Number {n}" for n in reversed(range(count))]
        assert all(len(_shown(scratch, leaf)) == LEAF for leaf in leaves[1:])


def test_older_and_newer_lead_through_all_leaves(scratch: Scratch) -> None:
    for number in range(40):
        _write(scratch, number)
    scratch.build()
    leaves = _leaves(scratch, "reports")
    assert len(leaves) == 13
    for leaf, other in pairwise(leaves):
        assert _led(scratch, leaf, "next") == ["../" + other]
        assert _led(scratch, other, "prev") == ["../" + leaf]
    assert _led(scratch, leaves[0], "prev") == _led(scratch, leaves[-1], "next") == []
    assert [title.text() for title in scratch.page(leaves[-2]).css("h1")] == ["Reports 4–6"]


def test_each_month_of_the_first_leaf_leads_to_its_newest_note_that_is_not_there(scratch: Scratch) -> None:
    for number in range(200):
        _write(scratch, number)
    _write(scratch, 200, day="unknown")
    scratch.build()
    page = scratch.page("browse/reports.html")
    assert [year.text() for year in page.css(".earlier h3")] == ["2021", "2020", ""]
    links = page.css(".earlier a")
    assert [link.text(deep=False).strip() for link in links[:2]] == ["August", "July"]
    assert links[-1].text(deep=False).strip() == "Without a day"
    for link, shown in zip(links, [196, 189, *range(179, 0, -10), 200], strict=True):
        path, _, anchor = (link.attributes["href"] or "").partition("#")
        entry = scratch.page(path.removeprefix("../")).css_first(f'[id="{anchor}"] h2')
        assert entry is not None
        assert entry.text() == f"Number {shown}"


def test_one_more_note_beside_many_makes_few_leaves(scratch: Scratch, tmp_path: Path) -> None:
    for number in range(90):
        _write(scratch, number)
    scratch.build()
    assert len(_leaves(scratch, "reports")) == 30
    for number in (90, 91, 92):
        _write(scratch, number)
        written = _lists_written(scratch.build())
        assert {"reports.html", "tags/logs.html"} <= written
        assert len(written) <= (2 * 4 if number == 92 else 2)
    assert scratch.files() == cold(scratch, tmp_path / "anew")


def test_a_changed_title_makes_the_leaf_alone_that_shows_it(scratch: Scratch) -> None:
    for number in range(30):
        _write(scratch, number)
    scratch.build()
    _write(scratch, 4, title="Other words")
    assert _lists_written(scratch.build()) == {"reports.2.html", "tags/logs.2.html"}
    assert "Other words" in _shown(scratch, "browse/reports.2.html")


def test_a_tag_spelt_otherwise_changes_the_title_of_all_its_leaves_and_back(scratch: Scratch, tmp_path: Path) -> None:
    for number in range(30):
        _write(scratch, number)
    scratch.build()
    whole = scratch.files()
    _write(scratch, 30, tags="LOGS")
    scratch.build()
    assert [title.text() for title in scratch.page("browse/tags/logs.1.html").css("h1")] == ["#LOGS 1–3"]
    assert scratch.files() == cold(scratch, tmp_path / "anew")
    scratch.remove("r/030.md")
    scratch.build()
    assert {path: data for path, data in scratch.files().items() if path in whole} == whole


def test_a_lost_leaf_is_made_again_and_no_other(scratch: Scratch) -> None:
    for number in range(30):
        _write(scratch, number)
    scratch.build()
    whole = scratch.files()
    (scratch.folder / "site" / "browse" / "reports.5.html").unlink()
    (scratch.folder / "site" / "browse" / "tags" / "logs.html").write_text("altered")
    assert scratch.build().written == ("browse/reports.5.html", "browse/tags/logs.html")
    assert scratch.files() == whole


def test_a_note_that_goes_closes_the_gap_and_takes_the_last_leaf_with_it(scratch: Scratch) -> None:
    for number in range(9):
        _write(scratch, number)
    scratch.build()
    scratch.remove("r/001.md")
    assert {"r/001.html", "browse/reports.2.html", "browse/tags/logs.2.html"} <= set(scratch.build().removed)
    assert not (scratch.folder / "site" / "browse" / "reports.2.html").exists()
    assert _shown(scratch, "browse/reports.1.html") == ["Number 3", "Number 2", "Number 0"]


def test_a_note_of_another_day_moves_those_between_and_no_other(scratch: Scratch, tmp_path: Path) -> None:
    for number in range(30):
        _write(scratch, number)
    scratch.build()
    _write(scratch, 10, day="2030-01-01")
    moved = _lists_written(scratch.build())
    assert {"reports.4.html", "reports.9.html", "reports.html"} <= moved
    assert not {"reports.1.html", "reports.2.html", "reports.3.html"} & moved
    assert scratch.files() == cold(scratch, tmp_path / "anew")


def test_a_tag_that_ends_like_a_leaf_has_a_list_of_its_own(scratch: Scratch) -> None:
    for number in range(9):
        _write(scratch, number, tags="v1")
    _write(scratch, 9, title="Dotted", kind="note", tags="v1.2, a/../../up")
    scratch.build()
    assert "Dotted" not in scratch.html("browse/tags/v1.2.html")
    places = [link.attributes["href"] for link in scratch.page("r/009.html").css("a.tag")]
    assert places == ["../browse/tags/a/._._/._._/up.html", "../browse/tags/v1._2.html"]
    assert "Dotted" in scratch.html("browse/tags/v1._2.html")


def test_tags_that_differ_in_empty_parts_are_one(scratch: Scratch, tmp_path: Path) -> None:
    _write(scratch, 1, tags="topic//x")
    _write(scratch, 2, tags="topic/x")
    scratch.build()
    assert "Number 1" in scratch.html("browse/tags/topic/x.html")
    scratch.remove("r/002.md")
    scratch.build()
    assert "Number 1" in scratch.html("browse/tags/topic/x.html")
    assert scratch.files() == cold(scratch, tmp_path / "anew")


_NOTES = st.tuples(
    st.integers(0, 11),
    st.sampled_from(["2020-01-01", "2020-01-02", "2020-02-01", "2021-02-01T10:00:00", "never"]),
    st.sampled_from(["One", "Two"]),
    st.sampled_from(["report", "source", "source", "source"]),
    st.sampled_from(["", "logs", "Logs", "Logs, topic/x", "topic/X, topic/x", "topic//x"]),
)
_STEPS = st.lists(st.one_of(_NOTES, st.integers(0, 11)), min_size=1, max_size=8)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(_STEPS, min_size=2, max_size=4))
def test_whatever_came_went_or_moved_the_lists_are_those_of_a_build_from_nothing(
    history: list[list[tuple[int, str, str, str, str] | int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = Scratch(tmp_path_factory.mktemp("site"))
    for number in range(12):
        _write(scratch, number, kind="source")
    scratch.build()
    for turn, steps in enumerate(history):
        for step in steps:
            if isinstance(step, int):
                (scratch.folder / "vault" / "r" / f"{step:03d}.md").unlink(missing_ok=True)
            else:
                _write(scratch, *step)
        scratch.build()
        assert scratch.files() == cold(scratch, scratch.folder / f"anew-{turn}")


def test_a_list_without_a_note_says_so_and_has_nothing_to_filter(scratch: Scratch) -> None:
    _write(scratch, 1)
    scratch.build()
    page = scratch.page("browse/topics.html")
    assert "There is none yet." in page.css("main")[0].text()
    assert page.css(".filter, .entries") == []
    assert scratch.page("browse/reports.html").css_first(".filter") is not None
