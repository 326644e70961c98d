"""Pages are read without scripts; scripts only add to them."""

from __future__ import annotations

from tests.browser.visiting import Site, Visitor


def test_a_report_can_be_read_and_followed_to_its_quotes_and_back_without_scripts(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"), scripts=False)
    assert page.locator("h1").is_visible()
    assert len(page.locator(".body").inner_text()) > 200
    page.locator(".cite a").first.click()
    assert page.locator(":target q").is_visible()
    page.locator(":target a.back").click()
    assert page.locator("sup.cite:target").is_visible()
    page.locator(".cite a").first.click()
    visitor.follow(page.locator(":target a").first)
    assert "source" in (page.locator("body").get_attribute("class") or "")
    assert page.locator(":target").is_visible()


def test_every_list_leads_on_without_scripts(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("list"), scripts=False)
    assert not page.locator(".filter").is_visible()
    visitor.follow(page.locator(".entries a").first)
    assert page.locator("article h1").is_visible()


def test_without_scripts_the_search_says_how_to_find_things(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"), scripts=False)
    assert "JavaScript" in page.locator("main").inner_text()


def test_the_policy_holds_for_a_site_in_a_folder_as_well(site: Site, visitor: Visitor) -> None:
    for kind in ("home", "report", "session", "search"):
        path = site.address(kind).removeprefix(site.url)
        page = visitor.pass_by(f"file://{site.folder}{path}")
        assert page.evaluate("getComputedStyle(document.body).display") == "flex", "the style sheet was not used"
    assert visitor.happened == []


def test_a_list_can_be_narrowed_down(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("list"))
    entries = page.locator(".entries > li")
    title = entries.first.locator("a").inner_text()
    page.get_by_label("Show only those with").fill(title.upper())
    assert entries.first.is_visible()
    page.get_by_label("Show only those with").fill("no note says this")
    assert not any(entry.is_visible() for entry in entries.all())
    assert page.locator(".filter output").inner_text() == f"0 of {entries.count()} on this page"


def test_the_answer_of_a_report_begins_in_the_upper_half_of_a_phone(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"), width=390)
    place = page.locator('[data-callout="abstract"] .callout-body').bounding_box()
    assert place is not None
    assert place["y"] < 400


def test_the_card_of_a_citation_shows_its_source_and_the_quote_and_goes_with_escape(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"))
    page.locator(".cite a").first.hover()
    card = page.get_by_role("tooltip")
    card.wait_for()
    assert card.locator("strong").inner_text() in page.locator(".citations .source").all_inner_texts()
    assert "read 2026-" in card.locator(".place").inner_text()
    quote = page.locator(page.locator(".cite a").first.get_attribute("href") or "").locator("q").text_content() or ""
    assert quote.strip()
    assert quote.strip()[:40] in card.inner_text()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert visitor.happened == []
