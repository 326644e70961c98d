"""Text from outside is only read: on the site, and in the vault's notes even where a program shows them with all HTML allowed."""

from __future__ import annotations

import re
from pathlib import Path

import pyromark

from tests.browser.visiting import Site, Visitor, served
from tests.vault.scanner import body_of

# All that could act in a page: elements and attributes by name; classes show whether text became a link, tag or callout.
CENSUS = """() => {
  const seen = new Set();
  for (const element of document.querySelectorAll("*")) {
    const name = element.tagName.toLowerCase();
    seen.add(name);
    for (const attribute of element.attributes) seen.add(`${name} ${attribute.name}`);
    for (const item of element.classList) seen.add(`${name}.${item}`);
  }
  return [...seen];
}"""
ADDRESSES = """() => [...document.querySelectorAll("[href], [src], [action], [data], [srcset]")].flatMap((element) =>
  ["href", "src", "action", "data", "srcset"].map((name) => element.getAttribute(name)).filter((value) => value !== null))"""
PLAIN_HEAD = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Note</title>'
ALLOWED = re.compile(r"(?:https?:|mailto:|\.\.?/|/(?!/)|#|[a-z0-9]+[a-z0-9/.-]*(?:[?#]|$))", re.IGNORECASE)


def test_no_page_complains_or_asks_elsewhere_and_hostile_text_becomes_no_element_no_script_and_no_address(
    hostile_site: Site, site: Site, visitor: Visitor
) -> None:
    usual = {seen for path in site.pages for seen in visitor.pass_by(f"{site.url}/{path}").evaluate(CENSUS)}
    usual.add("span.math")  # a harmless formula is text in an element of its own
    for path in hostile_site.pages:
        page = visitor.pass_by(f"{hostile_site.url}/{path}")
        assert set(page.evaluate(CENSUS)) - usual == set(), path
        assert [address for address in page.evaluate(ADDRESSES) if not ALLOWED.match(address)] == [], path
    assert visitor.happened == []
    # the plain site's icon may be asked for late, after its last page was left
    assert [url for url in visitor.requests if not url.startswith((hostile_site.url, site.url))] == []


def test_nothing_in_a_note_runs_where_all_html_is_allowed(hostile_vault: Path, visitor: Visitor, tmp_path: Path) -> None:
    options = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
    notes = sorted(hostile_vault.rglob("*.md"))
    for number, note in enumerate(notes):
        shown = pyromark.html(body_of(note.read_text()), options=options)
        (tmp_path / f"{number}.html").write_text(f"{PLAIN_HEAD}<body>{shown}")
    with served(tmp_path) as url:
        for number, note in enumerate(notes):
            seen = visitor.pass_by(f"{url}/{number}.html").evaluate(CENSUS)
            assert {
                one for one in seen if re.match(r"\w+ on|(script|style|iframe|img|object|svg|form|input|b|div)\b", one)
            } == set(), note
    assert visitor.happened == []
    assert [address for address in visitor.requests if not address.startswith(url)] == []
