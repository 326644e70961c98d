"""Pages sent in place of the page asked for, and good pages about such things, in many languages: ``soft_pages/``.

Each page begins with a line ``=== language soft|good kind note``. The pages of ``kept_aside.txt`` were first tried when the
detection was complete; 28 of its 29 were judged rightly.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents.extract import extract
from pipeline.errors import ReadFailed
from pipeline.net.soft_pages import no_page_reason

FOLDER = Path(__file__).with_name("soft_pages")
WORDS = {
    "missing": "no such page",
    "login": "log-in",
    "paywall": "log-in",
    "consent": "consent",
    "script": "JavaScript",
    "captcha": "captcha",
    "error": "error or a block",
    "parked": "parked",
}


def pages(name: str) -> list[tuple[str, str]]:
    """Return the head line and the HTML of each page in the file ``name``."""
    parts = (FOLDER / name).read_text("utf-8").split("=== ")[1:]
    return [(head, html) for head, _, html in (part.partition("\n") for part in parts)]


def refusal(html: str) -> str:
    source = f"<!doctype html><html><head><meta charset=utf-8></head>{html}</html>"
    try:
        found = extract(source.encode(), content_type="text/html; charset=utf-8", url="https://example.org/a/page")
    except ReadFailed as error:
        return error.message
    return no_page_reason(found.title, found.text)


ALL = [*pages("shown.txt"), *pages("kept_aside.txt")]


@pytest.mark.parametrize(("head", "html"), [entry for entry in ALL if " soft " in entry[0]])
def test_what_is_sent_in_place_of_a_page_is_refused_with_its_kind(head: str, html: str) -> None:
    assert WORDS[head.split()[2]] in refusal(html)


@pytest.mark.parametrize(("head", "html"), [entry for entry in ALL if " good " in entry[0]])
def test_a_page_about_errors_and_walls_is_read(head: str, html: str) -> None:
    assert refusal(html) == ""


def test_a_tiny_page_that_says_something_is_a_page() -> None:
    constant = "<h1>Constant core::arch::NEGATIVE_POLARITY</h1><p>Negates results.</p><script src=a.js></script>"
    assert refusal(f"<title>NEGATIVE_POLARITY in core::arch</title><body>{constant}" + "<script src=b.js></script>" * 50) == ""


def test_a_long_page_about_captchas_is_a_page() -> None:
    assert no_page_reason("What a captcha is", "captcha access denied 404 " * 250) == ""
