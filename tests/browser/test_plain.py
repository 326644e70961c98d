"""Pages are read without scripts, which only add to them; whatever text a page shows, nothing happens or is asked elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from pipeline.site.serve import Server
from tests.browser.visiting import KINDS, Site, Visitor, served
from tests.site.test_hostile import hostile_site
from tests.site.test_serve import started


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


def test_every_list_leads_on_without_scripts_and_the_search_says_how_to_find_things(site: Site, visitor: Visitor) -> None:
    assert "JavaScript" in visitor.open(site.address("search"), scripts=False).locator("main").inner_text()
    page = visitor.open(site.address("list"), scripts=False)
    assert not page.locator(".filter").is_visible()
    visitor.follow(page.locator(".entries a").first)
    assert page.locator("article h1").is_visible()


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


def test_what_nobody_wrote_is_not_found_and_does_nothing(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("search"))
    page.get_by_role("searchbox").fill("<img src=x onerror=alert(1)> xyzzy")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile(r"\w")).wait_for()
    assert page.locator("#search-results a, main img").count() == 0
    assert visitor.happened == []


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
    kinds = page.locator(".results li .facts span").all_inner_texts()
    assert {*kinds} == {"earlier report"}
    assert page.get_by_role("status").inner_text() == f"{len(kinds)} notes found"


REPORT = "reports/2026/which-forms-has-a-report-0f0f"


def test_a_tick_below_a_passage_is_heard_where_the_site_is_served_and_not_offered_elsewhere(site: Site, visitor: Visitor) -> None:
    page = visitor.open((site.folder / f"{REPORT}.html").as_uri())
    assert page.locator("blockquote").first.is_visible()
    assert not page.locator(".task").first.is_visible()
    heard = list[tuple[str, str, str]]()
    with started(Server(site.folder, 0, rate=lambda *about: heard.append(about))) as server:
        page = visitor.open(f"{server.address}{REPORT}.html")
        for name, number in (("useful", 0), ("wrong", 1), ("useful", 0)):
            with page.expect_response("**/-/rate"):
                page.get_by_role("checkbox", name=name).nth(number).click()
    about = f"{REPORT}.md"
    first, second = re.findall(r"— \[\[[^#]+#\^(q-\w+)", (site.folder.parent / "vault" / about).read_text())[:2]
    assert heard == [(about, first, "useful"), (about, second, "wrong"), (about, first, "")]
    assert visitor.happened == []


def test_no_page_complains_or_asks_elsewhere_whatever_text_it_shows(site: Site, visitor: Visitor, tmp_path: Path) -> None:
    for kind in KINDS:
        visitor.pass_by(site.address(kind))
    pages = [path for path in hostile_site(tmp_path).files() if path.endswith(".html")]
    pages.sort(key="index.html".__eq__)  # last: it leads on by itself, which would interrupt the way to the next
    with served(tmp_path / "site") as url:
        for path in pages:
            visitor.pass_by(f"{url}/{quote(path)}")
    assert visitor.happened == []
    # the plain site's icon may be asked for late, after its last page was left
    assert [address for address in visitor.requests if not address.startswith((url, site.url))] == []
