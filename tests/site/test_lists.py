"""Lists: the newest notes on the first page, one page a month; each note is found, and little is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.site.paths import SiteReport
from tests.site.scratch import Scratch, cold, note

SIZE = 3


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """A list with two notes a month, from January 2020 on, and first one without a day."""
    monkeypatch.setattr("pipeline.site.lists.PAGE_SIZE", SIZE)
    made = Scratch(tmp_path)
    _write(made, 0, day="unknown")
    for number in range(1, 25):
        _write(made, number)
    made.build()
    return made


def _write(scratch: Scratch, number: int, day: str = "", kind: str = "report", tags: str = "logs") -> None:
    months, half = divmod(number - 1, 2)
    created = day or f"20{20 + months // 12}-{1 + months % 12:02d}-{1 + half:02d}"
    scratch.write(f"r/{number:03d}.md", note(f"Number {number}", "x", kind, created=created, tags=f"[{tags}]"))


def _shown(scratch: Scratch, page: str) -> list[int]:
    return [int(link.text().removeprefix("Number ")) for link in scratch.page(page).css(".entries h2 a")]


def _written(report: SiteReport) -> set[str]:
    return {path.removeprefix("browse/") for path in report.written if path.startswith("browse/") and path != "browse/tags.html"}


def test_the_first_page_has_the_newest_and_leads_to_a_page_a_month_with_all_of_it(scratch: Scratch) -> None:
    for name in ("reports", "tags/logs"):
        assert _shown(scratch, f"browse/{name}.html") == [24, 23, 22]
        assert _shown(scratch, f"browse/{name}.2020-11.html") == [22, 21]
        assert _shown(scratch, f"browse/{name}.undated.html") == [0]
    page = scratch.page("browse/reports.html")
    assert [year.text() for year in page.css(".earlier h3")] == ["2020"]
    led = [(link.text(deep=False).strip(), link.attributes["href"]) for link in page.css(".earlier a")]
    assert led[0] == ("November", "../browse/reports.2020-11.html")
    assert led[-1] == ("without a day", "../browse/reports.undated.html")
    assert len(led) == 12
    assert (
        scratch.page("browse/reports.2020-11.html").css_first('.neighbours a[href="../browse/reports.html#earlier"]') is not None
    )


def test_one_more_note_changes_the_first_page_and_a_changed_one_the_pages_that_show_it(scratch: Scratch, tmp_path: Path) -> None:
    _write(scratch, 25)
    assert _written(scratch.build()) == {"reports.html", "tags/logs.html"}
    _write(scratch, 4, day="2020-02-20")
    assert _written(scratch.build()) == {"reports.2020-02.html", "tags/logs.2020-02.html"}
    scratch.remove("r/000.md")
    assert "browse/reports.undated.html" in scratch.build().removed
    assert scratch.files() == cold(scratch, tmp_path / "anew")


def test_few_notes_are_all_on_one_page_and_an_empty_list_says_so(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    for number in range(1, 9):
        _write(scratch, number)
    scratch.build()
    assert _shown(scratch, "browse/reports.html") == [*range(8, 0, -1)]
    assert not [path for path in scratch.files() if path.startswith("browse/reports.2")]
    page = scratch.page("browse/topics.html")
    assert "There is none yet." in page.css("main")[0].text()
    assert page.css(".filter, .entries") == []
    assert scratch.page("browse/reports.html").css_first(".filter") is not None


def test_tags_that_end_like_a_month_or_differ_in_letter_case_have_the_right_lists(scratch: Scratch, tmp_path: Path) -> None:
    _write(scratch, 30, kind="note", tags="logs.2020-11, a/../../up, topic//x")
    _write(scratch, 31, kind="note", tags="LOGS, topic/x")
    scratch.build()
    places = [link.attributes["href"] for link in scratch.page("r/030.html").css("a.tag")]
    assert places == [f"../browse/tags/{name}.html" for name in ("a/._._/._._/up", "logs._2020-11", "topic/x")]
    assert _shown(scratch, "browse/tags/logs._2020-11.html") == [30]
    assert _shown(scratch, "browse/tags/topic/x.html") == [31, 30]
    assert [title.text() for title in scratch.page("browse/tags/logs.html").css("h1")] == ["#LOGS"]
    assert scratch.files() == cold(scratch, tmp_path / "anew")
