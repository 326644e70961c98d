"""What the site shows of recurring questions, and of the quotes behind a report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.site.scratch import Scratch
from tests.vault.builders import a_store, built

ATOM = "{http://www.w3.org/2005/Atom}"
OLDER = "reports/2026/how-does-an-append-only-log-survive-a-power-cut-3f2a.html"
NEWER = "reports/2026/how-does-an-append-only-log-survive-a-power-cut-9c01.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mornings")
    built(root, a_store())
    Scratch(root).build(url="https://notes.example/")
    return root / "site"


def _page(site: Path, path: str) -> LexborHTMLParser:
    return LexborHTMLParser((site / path).read_text())


def test_the_list_of_reports_has_only_the_newest_report_on_a_question(site: Path) -> None:
    listed = [link.attributes["href"] for link in _page(site, "browse/reports.html").css(".entries a.internal")]
    assert [path for path in listed if path and path.endswith(("3f2a.html", "9c01.html"))] == [f"../{NEWER}"]
    entries = [entry.text() for entry in _page(site, "browse/reports.html").css(".entries > li")]
    assert any("3 changes" in entry and "1 earlier" in entry for entry in entries)
    assert sum("earlier" in entry for entry in entries) == 1
    earlier = _page(site, "browse/earlier.html").css_first(".entries a.internal")
    assert earlier is not None
    assert earlier.attributes["href"] == f"../{OLDER}"


def test_a_superseded_report_looks_like_a_report_and_leads_to_the_newer_one(site: Path) -> None:
    page = _page(site, OLDER)
    assert page.css_first("body.kind-report .citations") is not None
    notice = page.css_first('.callout[data-callout="info"] a')
    assert notice is not None
    assert (notice.attributes["href"] or "").endswith("9c01.html")


def test_the_feed_has_one_entry_a_night_with_what_was_found_and_what_failed(site: Path) -> None:
    entries = ElementTree.parse(site / "feed.xml").getroot().findall(f"{ATOM}entry")  # noqa: S314 - our own file
    links = [entry.find(f"{ATOM}link").attrib["href"] for entry in entries]  # type: ignore[union-attr]
    assert links == [f"https://notes.example/nights/2026-11-{day}.html" for day in (28, 21)]
    night = next(entry for entry in entries if entry.findtext(f"{ATOM}title") == "Night of 28 November 2026")
    content = night.findtext(f"{ATOM}content") or ""
    assert "An append is durable after fsync returned." in content
    assert "Why are there tides?" in content.partition("Failed")[2]
    assert f'href="https://notes.example/{NEWER}"' in content


def test_a_quote_names_its_place_and_its_address_on_the_web(site: Path) -> None:
    citation = _page(site, NEWER).css_first(".citations details")
    assert citation is not None
    assert any("logs.example" in place.text() for place in citation.css(".place"))
    there = citation.css_first("a.external")
    assert there is not None
    assert (
        there.attributes["href"]
        == "https://logs.example/handbook/#:~:text=An%20append%20is%20durable%20after%20fsync%20returned."
    )
    back = citation.css_first("a.back")
    assert back is not None
    assert _page(site, NEWER).css_first(f'[id="{(back.attributes["href"] or "")[1:]}"]') is not None
