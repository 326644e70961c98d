"""Whatever text a page shows, nothing happens on it: no message, no dialog, nothing is asked for elsewhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from tests.browser.visiting import KINDS, Site, Visitor, served
from tests.site.test_hostile import hostile_site


def test_no_page_complains_or_asks_elsewhere_whatever_text_it_shows(site: Site, visitor: Visitor, tmp_path: Path) -> None:
    for kind in KINDS:
        visitor.pass_by(site.address(kind))
    pages = [path for path in hostile_site(tmp_path).files() if path.endswith(".html")]
    with served(tmp_path / "site") as url:
        for path in pages:
            visitor.pass_by(f"{url}/{quote(path)}")
    assert visitor.happened == []
    # the plain site's icon may be asked for late, after its last page was left
    assert [address for address in visitor.requests if not address.startswith((url, site.url))] == []
