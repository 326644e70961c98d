"""The site against the vault: what is made, left out or refused; and it is as made from nothing, whatever cut a build off."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.errors import ResearchError, TemplateInvalid
from pipeline.site import page_values, paths, stages
from pipeline.site.paths import encoded, file_of, page_of
from pipeline.vault.build_cache import Kept
from tests.site.scratch import TEMPLATES, VAULT, Scratch, cold, note, scratch_vault


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return scratch_vault(tmp_path)


def test_each_note_has_a_page_and_all_pages_lead_to_pages(scratch: Scratch) -> None:
    report = scratch.build()
    files = scratch.files()
    assert report.pages == 7
    assert {"img/p.png", "404.html", "search.html", "sitemap.xml", "browse/tags.html"} <= files.keys()
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


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_name_that_is_too_long_for_the_site_is_shortened(scratch: Scratch, letter: str) -> None:
    name = (letter * 249)[: 249 // len(letter.encode())]
    scratch.write(f"my/{name}.md", note("Long", "Its image is ![[long]]."))
    scratch.write(f"my/{name}.png", b"an image")
    scratch.write("my/short.md", note("Short", f"It links [[{name}]] and ![[my/{name}.png]]."))
    scratch.build()
    page, image = page_of(f"my/{name}.md"), file_of(f"my/{name}.png")
    assert "Its image is" in scratch.html(page)
    assert f"../{encoded(page)}" in scratch.html("my/short.html")
    assert f"../{encoded(image)}" in scratch.html("my/short.html")
    scratch.remove(f"my/{name}.md")
    assert page in scratch.build().removed


@pytest.mark.parametrize("cannot", ["folder", "note"])
def test_what_cannot_be_read_is_left_out_alone_and_named(scratch: Scratch, cannot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.write("closed/note.md", note("Closed", "Earlier."))
    scratch.build()
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
    assert "Words." in scratch.html("closed/note.html"), "though it looks as it did"


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


def test_publish_counts_in_the_properties_alone(scratch: Scratch) -> None:
    scratch.write("my/about.md", "---\ntitle: About\n---\n\npublish: false\n")
    scratch.write("my/about too.md", "publish: false\n---\n")
    scratch.build()
    assert {"my/about.html", "my/about too.html"} <= scratch.files().keys()


def test_without_a_home_note_in_its_place_the_first_page_leads_on(scratch: Scratch) -> None:
    home = scratch.folder / "vault" / "Home.md"
    text = home.read_text()
    scratch.build()
    home.unlink()
    scratch.build()
    assert "url=browse/reports.html" in scratch.html("index.html")
    scratch.write("Start here.md", f'---\ntags:\n  - "research/home"\n---\n{text}')
    scratch.build()
    assert "url=Start%20here.html" in scratch.html("index.html")
    home.write_text(text)
    scratch.build()
    assert "url=" not in scratch.html("index.html")


def test_every_template_and_each_name_that_it_is_given_is_told(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    told, pages = (TEMPLATES / "README.md").read_text(), list[dict[str, Any]]()

    def noting(_layout: object, _name: str, _site: object, page: dict[str, Any]) -> bytes:
        pages.append(page)
        return b""

    monkeypatch.setattr(page_values.Layout, "render", noting)
    scratch.build()
    names = {*(path.name for path in TEMPLATES.glob("*.j2")), *(name for page in pages for name in page)}
    names |= {field.name for value in (page_values.Counted, page_values.Site) for field in fields(value)}
    assert ("backlinks" in names, [name for name in names if f"`{name}`" not in told]) == (True, [])


@pytest.fixture
def made(scratch: Scratch) -> Scratch:
    scratch.build()
    return scratch


def test_a_changed_quote_changes_the_page_that_cites_it_and_a_changed_title_those_that_show_it(made: Scratch) -> None:
    made.write("sources/2026-11/s1.md", VAULT["sources/2026-11/s1.md"].replace("Word for word", "Other words"))
    written = set(made.build().written)
    assert {"reports/2026/r1.html", "sources/2026-11/s1.html"} <= written
    assert "reports/2026/r2.html" not in written
    assert "Other words." in made.html("reports/2026/r1.html")
    made.write("reports/2026/r1.md", VAULT["reports/2026/r1.md"].replace("First report", "New name"))
    written = set(made.build().written)
    assert {"sessions/2026/w1.html", "browse/reports.html"} <= written
    assert not {"my/mine.html", "reports/2026/r2.html"} & written


def test_a_page_that_was_lost_or_altered_is_made_again_and_no_other(made: Scratch) -> None:
    whole = made.files()
    lost = min(path for path in whole if path.startswith("search/w-"))
    for path in ("my/mine.html", "search/meta.js", lost):
        (made.folder / "site" / path).unlink()
    (made.folder / "site" / "browse" / "reports.html").write_text("altered")
    assert made.build().written == ("browse/reports.html", "my/mine.html", "search/meta.js", lost)
    assert made.files() == whole


def test_an_edited_template_costs_the_pages_of_its_kind_and_an_edited_asset_is_copied(made: Scratch) -> None:
    template = made.folder / "templates" / "source.html.j2"
    template.write_text(template.read_text() + "{% block head %}<!-- new -->{% endblock %}")
    assert set(made.build().written) == {"sources/2026-11/s1.html", "sources/2026-11/s2.html"}
    (made.folder / "templates" / "assets" / "site.css").write_text("body {}")
    assert made.build().written == ("assets/site.css",)
    assert made.build().written == ()


def test_another_address_or_program_renders_each_page_again_and_so_does_who_is_asked_for_all(
    made: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made.files()
    made.build(url="https://example.org/research")
    assert '<link rel="canonical" href="https://example.org/research/reports/' in made.html("reports/2026/r1.html")
    assert 'href="/research/assets/site.css"' in made.html("404.html")
    made.build()
    assert made.build(everything=True).written == ()
    assert made.files() == whole == cold(made, tmp_path / "other")
    monkeypatch.setattr(page_values, "Markup", lambda _html: Markup("another program's page"))
    made.write("my/more.md", "More.")
    made.build()
    assert "another program" not in made.html("reports/2026/r1.html")
    for module in ("build_if_changed", "stages"):
        monkeypatch.setattr(f"pipeline.site.{module}.program_id", lambda _room: "another")
    assert "my/mine.html" in made.build().written
    assert "another program" in made.html("reports/2026/r1.html")
    assert made.build().written == ()


def _cut(*_: object) -> None:
    raise KeyboardInterrupt  # the end of a process


def _amid(staged: stages.Staged) -> Any:
    staged.paths = random.Random(len(staged.paths)).sample(staged.paths, len(staged.paths) // 2)
    whole(staged)
    _cut()


whole = stages.Staged.put_in_place
CUTS: tuple[tuple[object, str, Callable[..., Any]], ...] = (
    (stages.Build, "_write_search", _cut),
    (stages.Staged, "put_in_place", _cut),
    (stages.Staged, "put_in_place", _amid),
    (Kept, "commit", _cut),
)


_TEXTS = ["x", "[[a]] and [[b|B]]", "![[c]]", "# Other\n\n#tag/one", "> “q”\n\n^q-1", "[[a#^q-1|¹]]", "![[p.svg]]", "one two"]
_NAMES = ["a.md", "b.md", "sub/c.md", "sub/a.md", "Home.md", "zoo.md", "p.svg"]
_STEPS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from([*_TEXTS, None]), st.sampled_from(["report", "source", ""])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(st.tuples(_STEPS, st.sampled_from([None, None, *range(len(CUTS))])), min_size=1, max_size=4))
@example(history=[([("a.md", "x", ""), ("b.md", "[[a]] and [[b|B]]", "")], None), ([("a.md", None, "")], None)])  # a whole path
def test_whatever_changed_and_was_cut_off_before_the_site_is_the_same_as_made_from_nothing(
    history: list[tuple[list[tuple[str, str | None, str]], int | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = Scratch(tmp_path_factory.mktemp("site"))
    scratch.write("own.md", "Own.")
    dice = random.Random(1)
    for turn, (steps, cut) in enumerate(history):
        for name, text, kind in steps:
            if text is None:
                (scratch.folder / "vault" / name).unlink(missing_ok=True)
            else:
                scratch.write(name, note(f"T{dice.randrange(3)}", text, kind, created=f"2026-01-0{1 + dice.randrange(3)}"))
        if cut is None:
            scratch.build()
        else:
            scratch.write("own.md", f"Own, {turn}.")
            with pytest.MonkeyPatch.context() as monkeypatch:
                monkeypatch.setattr(*CUTS[cut])
                with pytest.raises(KeyboardInterrupt):
                    scratch.build()
    scratch.build()
    # what a build that was cut off had not put in place yet is not of the site
    seen = {path: data for path, data in scratch.files().items() if not path.rpartition("/")[2].startswith(".")}
    assert seen == cold(scratch, scratch.folder / "other")


def test_a_file_that_is_not_what_it_seems_is_made_again_when_it_is_to_change(
    made: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "read", lambda root, path: b"other" if path.startswith("search/") else paths.read(root, path))
    made.remove("my/mine.md")
    made.build()
    assert not (made.folder / "site" / "my").exists()
    assert made.files() == cold(made, tmp_path / "other")


def test_what_a_killed_build_left_beside_the_pages_goes_also_of_a_page_that_no_build_finished(made: Scratch) -> None:
    whole = made.files()
    for page in ("mine", "never-finished"):
        (made.folder / "site" / "my" / f".{page}.html.tmp").write_text("half")
    (made.folder / "site" / "my" / ".own.tmp").write_text("somebody's own")
    made.build()
    assert made.files() == {**whole, "my/.own.tmp": b"somebody's own"}


def test_a_note_that_was_made_private_while_the_cache_was_lost_is_nowhere_in_the_site(made: Scratch) -> None:
    made.write("my/mine's.md", "Secret for a while")
    made.build()
    (made.folder / "site" / "own.html").write_text("somebody's own")
    shutil.rmtree(made.folder / "state")
    made.remove("my/mine's.md")
    made.build()
    own = made.files().pop("own.html")
    assert {**cold(made, made.folder / "other"), "own.html": own} == made.files()
