"""Text from outside is only read: on the site, and in the vault's notes even where a program shows them with all HTML allowed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.browser.visiting import KINDS, Site, Visitor, served
from tests.site.test_hostile import hostile_site

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
ALLOWED = re.compile(r"(?:https?:|mailto:|\.\.?/|/(?!/)|#|[a-z0-9]+[a-z0-9/.-]*(?:[?#]|$))", re.IGNORECASE)


def test_no_page_complains_or_asks_elsewhere_and_hostile_text_becomes_no_element_no_script_and_no_address(
    site: Site, visitor: Visitor, tmp_path: Path
) -> None:
    shown = ("reports/", "browse/reports", "browse/tags.html", "search.html", "my/signs")
    plain = [*map(site.address, KINDS), *(f"{site.url}/{path}" for path in site.pages if path.startswith(shown))]
    usual = {seen for address in plain for seen in visitor.pass_by(address).evaluate(CENSUS)}
    pages = [path for path in hostile_site(tmp_path).files() if path.startswith(shown)]
    with served(tmp_path / "site") as url:
        for path in pages:
            page = visitor.pass_by(f"{url}/{path}")
            assert set(page.evaluate(CENSUS)) - usual == set(), path
            assert [address for address in page.evaluate(ADDRESSES) if not ALLOWED.match(address)] == [], path
    assert visitor.happened == []
    # the plain site's icon may be asked for late, after its last page was left
    assert [address for address in visitor.requests if not address.startswith((url, site.url))] == []
