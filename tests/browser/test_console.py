"""No page breaks its own policy, asks another host for anything, or complains."""

from __future__ import annotations

from tests.browser.visiting import Site, Visitor


def test_every_page_loads_without_a_word_on_the_console_and_without_a_request_elsewhere(site: Site, visitor: Visitor) -> None:
    for path in site.pages:
        visitor.pass_by(f"{site.url}/{path}")
    assert visitor.happened == []
    assert [url for url in visitor.requests if not url.startswith(site.url)] == []


def test_the_policy_holds_for_a_site_in_a_folder_as_well(site: Site, visitor: Visitor) -> None:
    for kind in ("home", "report", "session", "search"):
        path = site.address(kind).removeprefix(site.url)
        page = visitor.pass_by(f"file://{site.folder}{path}")
        assert page.evaluate("getComputedStyle(document.body).display") == "flex", "the style sheet was not used"
    assert visitor.happened == []
