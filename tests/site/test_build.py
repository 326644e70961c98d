"""The site against the vault: what is made, what is made again, and that both are the same."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.errors import ResearchError, TemplateInvalid
from pipeline.site.paths import encoded
from pipeline.site.rendering import render_task
from tests.site.scratch import Scratch, cold, note

VAULT = {
    "Home.md": note("Research", "Newest: [[reports/2026/r1|First]].\n\n![[bases/sources.base#All]]"),
    "reports/2026/r1.md": note(
        "First report",
        "> [!abstract] In short\n> It is so.[[sources/2026-11/s1#^q-1|¹]]\n\n## Part\n\nMore.[[sources/2026-11/s2#^q-2|²]]",
        "report",
        created="2026-11-20T02:00:00",
        tags='["research/report", "topic/logs"]',
        sources="2",
        session='"[[sessions/2026/w1|how]]"',
    ),
    "reports/2026/r2.md": note("Second report", "See [[r1]] and [[nowhere]].", "report", created="2026-11-21T02:00:00"),
    "sessions/2026/w1.md": note(
        "Session one", "![[canvas/w1.canvas]]\n\n![[sources/2026-11/s1#^q-1]]", "session", created="2026-11-20T02:00:00"
    ),
    "sources/2026-11/s1.md": note(
        "A source",
        "> “Word for word.”\n\n^q-1\n\n[[reports/2026/r1|cited]]",
        "source",
        tags='["research/source"]',
        quotes="1",
    ),
    "sources/2026-11/s2.md": note("Another", "> “Quoted too.”\n\n^q-2", "source", tags='["research/source"]', quotes="3"),
    "canvas/w1.canvas": """{"nodes": [
        {"id": "a", "type": "file", "file": "sources/2026-11/s1.md", "x": 0, "y": 0, "width": 300, "height": 80},
        {"id": "b", "type": "text", "text": "**Bold** words", "x": 400, "y": 0, "width": 300, "height": 80, "color": "4"}],
        "edges": [{"id": "e", "fromNode": "a", "toNode": "b", "label": "leads"}]}""",
    "bases/sources.base": """
filters: {and: ['file.hasTag("research/source")']}
formulas: {source: file.asLink(title)}
properties: {formula.source: {displayName: Source}}
views: [{type: table, name: All, order: [formula.source, note.quotes], sort: [{property: note.quotes, direction: DESC}]}]
""",
    "my/mine.md": "# Mine\n\n#idea about [[Home]]\n",
    "img/p.png": "no real picture",
}


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    made = Scratch(tmp_path)
    made.write_all(VAULT)
    return made


def test_each_note_has_a_page_and_all_pages_lead_to_pages(scratch: Scratch) -> None:
    report = scratch.build()
    files = scratch.files()
    assert report.pages == 7
    assert {
        "index.html",
        "reports/2026/r1.html",
        "my/mine.html",
        "img/p.png",
        "404.html",
        "search.html",
        "feed.xml",
    } <= files.keys()
    assert {
        "sitemap.xml",
        "browse/reports.html",
        "browse/tags.html",
        "browse/tags/topic/logs.html",
        "browse/tags/idea.html",
    } <= files.keys()
    for page in [path for path in files if path.endswith(".html") and path != "404.html"]:
        for node in scratch.page(page).css("[href], [src]"):
            _assert_leads_somewhere(scratch, page, node.attributes.get("href") or node.attributes.get("src") or "")


def _assert_leads_somewhere(scratch: Scratch, page: str, address: str) -> None:
    if re.match(r"https?:|mailto:", address):
        return
    path, _, fragment = address.partition("#")
    site = (scratch.folder / "site").resolve()
    target = ((site / page).parent / unquote(path)).resolve() if path else site / page
    assert target.is_file(), f"{page} leads to {address}"
    if fragment:
        wanted = unquote(fragment)
        ids = {node.attributes.get("id") for node in scratch.page(target.relative_to(site).as_posix()).css("[id]")}
        assert wanted in ids, f"{page} leads to {address}"


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_build_writes_nothing(scratch: Scratch) -> None:
    scratch.build()
    before = _times(scratch.folder)
    again = scratch.build()
    assert (again.written, again.removed) == ((), ())
    assert _times(scratch.folder) == before, "not even what is remembered"


def test_a_report_has_its_quotes_at_hand(scratch: Scratch) -> None:
    scratch.build()
    page = scratch.page("reports/2026/r1.html")
    quote = page.css_first('[id="quote-q-1"]')
    assert quote is not None
    assert "Word for word." in quote.text()
    assert page.css_first('a[href="../../sources/2026-11/s1.html#%5Eq-1"]') is not None
    beside = page.css_first("div.side")
    assert beside is not None
    assert "Word for word." in beside.text()


def test_a_changed_quote_changes_the_page_that_cites_it(scratch: Scratch) -> None:
    scratch.build()
    scratch.write("sources/2026-11/s1.md", VAULT["sources/2026-11/s1.md"].replace("Word for word", "Other words"))
    report = scratch.build()
    assert {"reports/2026/r1.html", "sessions/2026/w1.html", "sources/2026-11/s1.html"} <= set(report.written)
    assert "reports/2026/r2.html" not in report.written
    assert "Other words." in scratch.html("reports/2026/r1.html")
    assert "Other words." in scratch.html("sessions/2026/w1.html")


def test_a_changed_title_changes_the_pages_that_show_it(scratch: Scratch) -> None:
    scratch.build()
    scratch.write("reports/2026/r1.md", VAULT["reports/2026/r1.md"].replace("First report", "New name"))
    report = scratch.build()
    assert {"reports/2026/r2.html", "sources/2026-11/s1.html", "browse/reports.html", "feed.xml"} <= set(report.written)
    assert "my/mine.html" not in report.written


def test_a_note_that_appears_mends_the_links_to_it(scratch: Scratch) -> None:
    scratch.build()
    assert '<span class="internal broken">nowhere</span>' in scratch.html("reports/2026/r2.html")
    scratch.write("my/nowhere.md", "Here.")
    scratch.build()
    assert '<a class="internal" href="../../my/nowhere.html">nowhere</a>' in scratch.html("reports/2026/r2.html")
    scratch.remove("my/nowhere.md")
    assert scratch.build().removed[:1] == ("my/nowhere.html",)
    assert '<span class="internal broken">nowhere</span>' in scratch.html("reports/2026/r2.html")


def test_a_table_follows_the_notes_that_it_shows(scratch: Scratch) -> None:
    scratch.build()
    rows = [row.text(deep=True) for row in scratch.page("index.html").css("div.base tbody tr")]
    assert rows == ["Another3", "A source1"]
    scratch.write("sources/2026-11/s3.md", note("Third", "x", "source", tags='["research/source"]', quotes="2"))
    assert "index.html" in scratch.build().written
    assert "Third" in scratch.html("index.html")


def test_a_canvas_is_a_drawing_with_links(scratch: Scratch) -> None:
    scratch.build()
    svg = scratch.page("sessions/2026/w1.html").css_first("figure.canvas svg")
    assert svg is not None
    assert svg.css_first('a[href="../../sources/2026-11/s1.html"]') is not None
    assert "Bold words" in svg.text()
    assert "leads" in svg.text()


def test_a_page_that_was_lost_or_altered_is_made_again(scratch: Scratch) -> None:
    scratch.build()
    whole = scratch.files()
    (scratch.folder / "site" / "my" / "mine.html").unlink()
    (scratch.folder / "site" / "browse" / "reports.html").write_text("altered")
    (scratch.folder / "site" / "search" / "meta.js").unlink()
    report = scratch.build()
    assert {"my/mine.html", "browse/reports.html", "search/meta.js"} <= set(report.written)
    assert scratch.files() == whole


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\0" + bytes(4096)])
def test_a_lost_or_damaged_cache_costs_time_and_nothing_else(scratch: Scratch, damage: bytes) -> None:
    scratch.build()
    whole = scratch.files()
    (scratch.folder / "state" / "site.sqlite").write_bytes(damage)
    scratch.build()
    assert scratch.files() == whole


def test_many_notes_are_made_by_several_processes_and_look_the_same(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch.build()
    whole = scratch.files()
    monkeypatch.setattr("pipeline.site.rendering.render_pool.WORTH_IT", 1)
    monkeypatch.setattr("pipeline.site.rendering.render_pool.processors", lambda _most: 2)
    assert cold(scratch, tmp_path / "side-by-side") == whole
    with (scratch.folder / "templates" / "source.html.j2").open("a") as template:
        template.write("{% block head %}{{ page.nonsense }}{% endblock %}")
    with pytest.raises(TemplateInvalid, match="nonsense") as caught:
        scratch.build()
    assert "templates/site/README.md" in caught.value.hint
    assert scratch.files() == whole


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_name_that_is_too_long_for_the_site_is_shortened_and_named(scratch: Scratch, letter: str) -> None:
    name = (letter * 249)[: 249 // len(letter.encode())]
    scratch.write(f"my/{name}.md", note("Long", "Its image is ![[long]]."))
    scratch.write(f"my/{name}.png", b"an image")
    scratch.write("my/short.md", note("Short", f"It links [[{name}]] and ![[my/{name}.png]]."))
    report = scratch.build()
    assert [notice.split()[0] for notice in sorted(report.notices)] == [f"my/{name}.md", f"my/{name}.png"]
    page, image = (notice.split()[-1] for notice in sorted(report.notices))
    assert "Its image is" in scratch.html(page)
    html = scratch.html("my/short.html")
    assert f"../{encoded(page)}" in html
    assert f"../{encoded(image)}" in html
    assert scratch.build().written == ()
    scratch.remove(f"my/{name}.md")
    assert page in scratch.build().removed


@pytest.mark.parametrize("cannot", ["folder", "note"])
def test_what_cannot_be_read_is_left_out_alone_and_named(scratch: Scratch, cannot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.write("closed/note.md", note("Closed", "Words."))
    scandir, opened = os.scandir, os.open

    def refuse(place: Any, *given: Any, **more: Any) -> Any:
        if str(place).endswith("vault/closed" if cannot == "folder" else "closed/note.md"):
            raise PermissionError(13, "Permission denied", str(place))
        return (scandir if cannot == "folder" else opened)(place, *given, **more)

    monkeypatch.setattr(os, "scandir" if cannot == "folder" else "open", refuse)
    named = {"folder": "closed: the folder cannot be read", "note": "closed/note.md: the file cannot be read"}[cannot]
    assert [scratch.build().problems for _ in range(2)] == [(named,)] * 2
    assert (scratch.folder / "site" / "index.html").exists()
    monkeypatch.undo()
    assert scratch.build().problems == ()
    assert (scratch.folder / "site" / "closed" / "note.html").exists()


def test_only_what_a_build_made_is_removed(scratch: Scratch) -> None:
    scratch.build()
    (scratch.folder / "site" / "CNAME").write_text("research.example.org")
    scratch.remove("my/mine.md")
    report = scratch.build()
    assert "my/mine.html" in report.removed
    assert "browse/tags/idea.html" in report.removed
    assert not (scratch.folder / "site" / "my").exists()
    assert (scratch.folder / "site" / "CNAME").exists()


def test_a_faulty_template_leaves_the_site_as_it_was_and_says_where(scratch: Scratch) -> None:
    scratch.build()
    whole = scratch.files()
    template = scratch.folder / "templates" / "source.html.j2"
    sound = template.read_text()
    template.write_text(sound + "\n{% if %}")
    with pytest.raises(TemplateInvalid, match=r"source\.html\.j2, line \d+"):
        scratch.build()
    template.write_text(sound + "{% block head %}{{ page.nonsense }}{% endblock %}")
    scratch.write("my/mine.md", "# Changed")
    with pytest.raises(TemplateInvalid, match=r"nonsense.*while writing sources/"):
        scratch.build()
    assert scratch.files() == whole
    template.write_text(sound)
    assert "my/mine.html" in scratch.build().written


def test_an_edited_template_costs_the_pages_of_its_kind(scratch: Scratch) -> None:
    scratch.build()
    template = scratch.folder / "templates" / "source.html.j2"
    template.write_text(template.read_text() + "{% block head %}<!-- new -->{% endblock %}")
    written = set(scratch.build().written)
    assert written == {"sources/2026-11/s1.html", "sources/2026-11/s2.html"}


def test_an_edited_asset_is_copied_even_when_no_note_changed(scratch: Scratch) -> None:
    scratch.write("a.md", "A")
    scratch.build()
    assert scratch.build().written == ()
    asset = min((scratch.folder / "templates" / "assets").glob("*.css"))
    asset.write_text("body {}")
    assert scratch.build().written == (f"assets/{asset.name}",)
    assert scratch.build().written == ()


def test_the_address_of_the_site_makes_links_whole(scratch: Scratch) -> None:
    scratch.build(url="https://example.org/research")
    address = "https://example.org/research/reports/2026/r1.html"
    assert f'<link rel="canonical" href="{address}">' in scratch.html("reports/2026/r1.html")
    assert address in scratch.html("feed.xml")
    assert address in scratch.html("sitemap.xml")
    assert 'href="/research/assets/site.css"' in scratch.html("404.html")
    scratch.build()
    assert "example.org" not in scratch.html("reports/2026/r1.html")


def test_long_lists_come_in_leaves_of_which_a_new_note_changes_the_first(scratch: Scratch) -> None:
    for number in range(250):
        scratch.write(
            f"reports/2026/n{number:03d}.md",
            note(f"Number {number}", "x", "report", created=f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}"),
        )
    scratch.build()
    shown = [scratch.page(page).css("main li a") for page in ("browse/reports.html", "browse/reports.1.html")]
    assert sum("reports/2026" in (link.attributes["href"] or "") for link in shown[1]) == 100
    scratch.write("reports/2026/new.md", note("New", "x", "report", created="2026-12-01T00:00:00"))
    written = scratch.build().written
    assert "browse/reports.html" in written
    assert "browse/reports.1.html" not in written


def test_building_everything_renders_each_page_again(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.write("reports/2026/r1.md", note("One", "x", "report"))
    scratch.build()
    monkeypatch.setattr(render_task, "filled", lambda *_given: Markup("another program's page"))
    scratch.build()
    assert "another program" not in scratch.html("reports/2026/r1.html")
    scratch.build(everything=True)
    assert "another program" in scratch.html("reports/2026/r1.html")


def test_links_and_hidden_files_and_the_attic_are_left_alone(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret")
    (scratch.folder / "vault" / "my" / "link.md").symlink_to(tmp_path / "secret.md")
    (scratch.folder / "vault" / "linked").symlink_to(tmp_path)
    scratch.write(".obsidian/hidden.md", "# Hidden")
    scratch.write("attic/old.md", "# Old")
    assert scratch.build().pages == 7


def test_nothing_is_written_through_a_link(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "reports").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResearchError, match="a link to elsewhere"):
        scratch.build()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_note_with_the_name_of_a_page_of_ours_moves_aside(scratch: Scratch) -> None:
    scratch.write("index.md", "# My index")
    scratch.write("search.md", "# My search")
    scratch.build()
    assert "My index" in scratch.html("notes/index.html")
    assert 'id="search"' in scratch.html("search.html")


def test_a_canvas_shows_a_note_that_came_after_it_and_changed_since(scratch: Scratch) -> None:
    scratch.write("x.canvas", _CANVAS)
    scratch.build()
    scratch.write("a.md", note("T1", "x", "report"))
    scratch.write("b.md", "![[x.canvas]]")
    scratch.build()
    assert "T1" in scratch.html("b.html")
    scratch.write("a.md", note("T2", "x", "report"))
    scratch.build()
    assert "T2" in scratch.html("b.html")


_TABLE = """```base
filters: {and: ['file.hasTag("tag/one")']}
views: [{type: table, order: [file.name, note.created]}]
```"""
_TEXTS = ["x", "[[a]] and [[b|B]]", "![[c]]", "# Other\n\n#tag/one", "> “q”\n\n^q-1", "[[a#^q-1|¹]]", "![[x.canvas]]", _TABLE]
_NAMES = ["a.md", "b.md", "sub/c.md", "sub/a.md", "Home.md", "x.canvas"]
_CANVAS = '{"nodes": [{"id": "1", "type": "file", "file": "a.md", "x": 0, "y": 0, "width": 9, "height": 9}]}'
_STEPS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from([*_TEXTS, None]), st.sampled_from(["report", "source", ""])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=st.lists(_STEPS, min_size=1, max_size=3))
def test_whatever_changed_before_the_site_is_the_same_as_made_from_nothing(
    changes: list[list[tuple[str, str | None, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = Scratch(tmp_path_factory.mktemp("site"))
    dice = random.Random(1)
    for steps in changes:
        for name, text, kind in steps:
            if text is None:
                (scratch.folder / "vault" / name).unlink(missing_ok=True)
            else:
                scratch.write(
                    name,
                    _CANVAS
                    if name.endswith(".canvas")
                    else note(f"T{dice.randrange(3)}", text, kind, created=f"2026-01-0{1 + dice.randrange(3)}"),
                )
        scratch.build()
    assert scratch.files() == cold(scratch, scratch.folder / "other")


def test_made_anew_or_not_the_bytes_are_the_same(scratch: Scratch, tmp_path: Path) -> None:
    scratch.build()
    whole = scratch.files()
    assert scratch.build(everything=True).written == ()
    assert scratch.files() == whole == cold(scratch, tmp_path / "other")
