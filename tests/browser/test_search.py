"""The search finds what stands in the notes."""

from __future__ import annotations

import re

import pytest

from tests.browser.visiting import Site, Visitor

NOTHING = re.compile("Failed to load resource|ERR_FILE_NOT_FOUND")
QUESTIONS = ("torn record", "power", "fsync", "re", "log 2026", "häufig", "a nobody")


def ask(visitor: Visitor, address: str, words: str, *, finished: bool = True) -> tuple[str, list[str]]:
    """Ask for words as a reader would; return what the page says of the number, and the titles found."""
    page = visitor.pass_by(address)
    page.get_by_role("searchbox").fill(words)
    if finished:
        page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile(r"\w")).wait_for()
    return page.get_by_role("status").inner_text(), page.locator("#search-results a").all_inner_texts()


def test_what_nobody_wrote_is_not_found_and_does_nothing(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"))
    page.get_by_role("searchbox").fill("<img src=x onerror=alert(1)> xyzzy")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile(r"\w")).wait_for()
    assert page.locator("#search-results a, main img").count() == 0
    # A part of the index that does not exist is asked for in vain, since no word begins like that.
    assert {said for said in visitor.happened if not NOTHING.search(said)} == set()


@pytest.mark.parametrize("finished", [True, False])
def test_in_a_folder_on_disk_the_same_is_found_in_the_same_order(site: Site, visitor: Visitor, finished: bool) -> None:
    on_disk = (site.folder / "search.html").as_uri()
    found = [ask(visitor, on_disk, words, finished=finished) for words in QUESTIONS]
    assert found == [ask(visitor, site.address("search"), words, finished=finished) for words in QUESTIONS]
    assert max(len(titles) for _, titles in found) > 2
    assert {said for said in visitor.happened if not NOTHING.search(said)} == set()


def test_one_search_loads_each_of_a_few_files_once(site: Site, visitor: Visitor) -> None:
    ask(visitor, site.address("search"), "torn record")
    loaded = [url.removeprefix(site.url) for url in visitor.requests if "/search/" in url]
    assert len(loaded) == len({*loaded})
    assert 0 < len([url for url in loaded if "/w-" in url]) <= 4


def test_of_several_reports_on_a_question_the_newest_is_shown_and_the_others_are_under_their_kind(
    site: Site, visitor: Visitor
) -> None:
    page = visitor.pass_by(f"{site.address('search')}?q=power+cut+log")
    page.locator("#search-results a").first.wait_for()
    kinds = page.locator(".results li .facts span").all_inner_texts()
    assert "report" in kinds
    assert "earlier report" not in kinds
    assert page.get_by_role("status").inner_text().endswith("; 2 earlier reports under the kind “earlier report”")
    page = visitor.pass_by(f"{site.address('search')}?q=power+cut+log&kind=earlier")
    page.locator("#search-results a").first.wait_for()
    assert page.locator(".results li .facts span").all_inner_texts() == ["earlier report"] * 2
    assert page.get_by_role("status").inner_text() == "2 notes found"
