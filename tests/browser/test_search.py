"""The search finds what stands in the notes."""

from __future__ import annotations

import re

from tests.browser.visiting import Site, Visitor


def test_words_of_a_note_find_it(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"))
    page.get_by_role("searchbox").fill("torn record")
    page.keyboard.press("Enter")
    found = page.locator("#search-results a")
    found.first.wait_for()
    assert page.get_by_role("status").inner_text()
    found.first.click()
    assert "torn" in page.locator("main").inner_text().lower()
    assert visitor.happened == []


def test_an_address_with_words_shows_what_they_find(site: Site, visitor: Visitor) -> None:
    page = visitor.open(f"{site.address('search')}?q=fsync")
    page.locator("#search-results a").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == "fsync"


def test_what_nobody_wrote_is_not_found_and_does_nothing(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"))
    page.get_by_role("searchbox").fill("<img src=x onerror=alert(1)> xyzzy")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile(r"\w")).wait_for()
    assert page.locator("#search-results a, main img").count() == 0
    # A part of the index that does not exist is asked for in vain, since no word begins like that.
    assert {said for said in visitor.happened if "Failed to load resource" not in said} == set()
