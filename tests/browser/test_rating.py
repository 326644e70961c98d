"""Where the site is served, what is useful or wrong is told by a tick below a passage."""

from __future__ import annotations

from pathlib import Path

from pipeline.site.serve import Server
from tests.browser.visiting import Visitor
from tests.site.scratch import Scratch, note

PASSAGE = """> [!abstract] Nearest
> > The words.
> >
> > — [[sources/s#^q-1|¹]] [[sources/s#^q-1|A place]]
> >
> > - [ ] useful
> > - [ ] wrong

> Other words.
>
> — [[sources/s#^q-2|¹]] [[sources/s#^q-2|Another place]]
>
> - [ ] useful
> - [ ] wrong
"""


def test_a_tick_below_a_passage_is_heard_where_the_site_is_served_and_not_offered_elsewhere(
    visitor: Visitor, tmp_path: Path
) -> None:
    scratch, heard = Scratch(tmp_path), list[tuple[str, str, str]]()
    scratch.write("reports/2026/a.md", note("How deep?", PASSAGE, "report", status="passages"))
    scratch.write("sources/s.md", note("S", "> “The words.”\n\n^q-1\n\n> “Other words.”\n\n^q-2", "source"))
    scratch.build()
    page = visitor.open((tmp_path / "site" / "reports" / "2026" / "a.html").as_uri())
    assert page.locator("blockquote").first.is_visible()
    assert not page.locator(".task").first.is_visible()
    server = Server(tmp_path / "site", 0, rate=lambda *about: heard.append(about))
    server.start()
    try:
        page = visitor.open(f"{server.address}reports/2026/a.html")
        for name, number in (("useful", 0), ("wrong", 1), ("useful", 0)):
            with page.expect_response("**/-/rate"):
                page.get_by_role("checkbox", name=name).nth(number).click()
    finally:
        server.stop()
    about = "reports/2026/a.md"
    assert heard == [(about, "q-1", "useful"), (about, "q-2", "wrong"), (about, "q-1", "")]
    assert visitor.happened == []
