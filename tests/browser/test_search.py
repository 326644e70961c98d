"""The search finds what stands in the notes."""

from __future__ import annotations

import re

from tests.browser.visiting import Site, Visitor

NOTHING = re.compile("Failed to load resource|ERR_FILE_NOT_FOUND")


def test_what_nobody_wrote_is_not_found_and_does_nothing(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"))
    page.get_by_role("searchbox").fill("<img src=x onerror=alert(1)> xyzzy")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile(r"\w")).wait_for()
    assert page.locator("#search-results a, main img").count() == 0
    # A part of the index that does not exist is asked for in vain, since no word begins like that.
    assert {said for said in visitor.happened if not NOTHING.search(said)} == set()


def test_of_several_reports_on_a_question_the_newest_is_shown_and_the_others_and_the_work_are_under_their_kinds(
    site: Site, visitor: Visitor
) -> None:
    page = visitor.pass_by(f"{site.address('search')}?q=power+cut+log")
    page.locator("#search-results a").first.wait_for()
    kinds = page.locator(".results li .facts span").all_inner_texts()
    assert "report" in kinds
    assert not {"earlier report", "worker"} & set(kinds)
    assert page.get_by_role("status").inner_text().endswith(" more under the kinds “earlier report” and “worker”")
    page = visitor.pass_by(f"{site.address('search')}?q=power+cut+log&kind=earlier")
    page.locator("#search-results a").first.wait_for()
    assert page.locator(".results li .facts span").all_inner_texts() == ["earlier report"] * 2
    assert page.get_by_role("status").inner_text() == "2 notes found"
