"""Each kind of page can be used with a keyboard, a screen reader and weak eyes, in both colour schemes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from pypdfium2 import PdfDocument

from tests.browser.visiting import KINDS, Scheme, Site, Visitor

PHONE, TABLET, DESKTOP = 390, 768, 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_any_kind_of_page(site: Site, visitor: Visitor, scheme: Scheme) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visitor.open(site.address("home"), scheme=scheme)
    for kind, width in [*((kind, DESKTOP) for kind in KINDS), *product(("home", "report", "session"), (PHONE, TABLET))]:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(site.address(kind))
        violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
        assert [(found["id"], [node["target"] for node in found["nodes"]]) for found in violations] == [], (kind, width)


@pytest.mark.parametrize("width", [320, TABLET])
def test_no_page_is_wider_than_a_phone_or_a_tablet(site: Site, visitor: Visitor, width: int) -> None:
    page = visitor.open(site.address("home"), width=width)
    for kind in KINDS:
        page.goto(site.address(kind))
        assert page.evaluate("document.documentElement.scrollWidth") == width, kind


def test_the_first_stop_of_the_keyboard_skips_to_the_text(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
    box = page.locator(":focus").bounding_box()
    assert box
    assert box["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_the_keyboard_goes_through_a_page_in_the_order_of_its_text_and_shows_where_it_is(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"), width=DESKTOP)
    stops = page.locator("a[href], button, summary, input").count()
    earlier = -1
    for _ in range(min(stops, 25)):
        page.keyboard.press("Tab")
        here = page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        assert here > earlier
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        earlier = here


@pytest.mark.parametrize("width", [PHONE, 768, DESKTOP])
def test_a_few_links_are_in_the_header_and_the_menu_holds_the_others(site: Site, visitor: Visitor, width: int) -> None:
    page = visitor.open(site.address("home"), width=width, scripts=False)
    assert page.locator(".site-header nav .first a").first.is_visible()
    assert not page.locator(".site-header .menu a").first.is_visible()
    page.locator(".site-header summary").focus()
    page.keyboard.press("Enter")
    boxes = [link.bounding_box() for link in page.locator(".site-header nav a").all() if link.is_visible()]
    assert len(boxes) > 5
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)


def test_paper_shows_the_text_alone_with_all_that_is_folded_up(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"))
    page.emulate_media(media="print")
    assert page.locator(".body").is_visible()
    assert page.locator(".citations q").first.is_visible()
    for left_out in (".site-header", ".toc", ".around", ".site-footer"):
        assert not any(found.is_visible() for found in page.locator(left_out).all()), left_out


def test_a_reader_with_dark_colours_prints_dark_on_white(site: Site, visitor: Visitor) -> None:
    page = visitor.open(site.address("report"), scheme="dark")
    paper = PdfDocument(page.pdf(format="A4"))
    for sheet in paper:
        dots = bytes(sheet.render(scale=0.5, grayscale=True).buffer)
        assert dots[0] == 255
        assert sum(dot > 200 for dot in dots) > 0.8 * len(dots)
    assert "Contents:" not in "".join(sheet.get_textpage().get_text_range() for sheet in paper)
