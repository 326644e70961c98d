"""Where the site is served, what is useful or wrong is told by a tick below a passage."""

from __future__ import annotations

from pipeline.site.serve import Server
from tests.browser.visiting import Site, Visitor

REPORT = "reports/2026/which-forms-has-a-report-0f0f"


def test_a_tick_below_a_passage_is_heard_where_the_site_is_served_and_not_offered_elsewhere(site: Site, visitor: Visitor) -> None:
    page = visitor.open((site.folder / f"{REPORT}.html").as_uri())
    assert page.locator("blockquote").first.is_visible()
    assert not page.locator(".task").first.is_visible()
    heard = list[tuple[str, str, str]]()
    server = Server(site.folder, 0, rate=lambda *about: heard.append(about))
    server.start()
    try:
        page = visitor.open(f"{server.address}{REPORT}.html")
        for name, number in (("useful", 0), ("wrong", 1), ("useful", 0)):
            with page.expect_response("**/-/rate"):
                page.get_by_role("checkbox", name=name).nth(number).click()
    finally:
        server.stop()
    about, (first, second) = f"{REPORT}.md", ("q-0483d70ebd14", "q-56500335648f")
    assert heard == [(about, first, "useful"), (about, second, "wrong"), (about, first, "")]
    assert visitor.happened == []
