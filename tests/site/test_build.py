"""The site against the vault: what is made and read of it, what is left out or refused, what its templates are given."""

from __future__ import annotations

import os
import re
from dataclasses import is_dataclass
from inspect import getmembers, signature
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from pipeline.errors import ResearchError, TemplateInvalid
from pipeline.site import page_values
from pipeline.site.paths import encoded, file_of, page_of
from tests.site.scratch import TEMPLATES, Scratch, note, scratch_vault


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


def test_the_address_of_the_site_makes_links_whole(scratch: Scratch) -> None:
    scratch.build(url="https://example.org/research")
    address = "https://example.org/research/reports/2026/r1.html"
    assert f'<link rel="canonical" href="{address}">' in scratch.html("reports/2026/r1.html")
    assert address in scratch.html("sitemap.xml")
    assert 'href="/research/assets/site.css"' in scratch.html("404.html")
    scratch.build()
    assert "example.org" not in scratch.html("reports/2026/r1.html")


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


@pytest.mark.parametrize(
    "value", [one for _, one in getmembers(page_values, is_dataclass) if one.__module__ == page_values.__name__]
)
def test_every_name_that_a_template_is_given_is_told(value: type) -> None:
    told = (TEMPLATES / "README.md").read_text()
    assert [name for name in signature(value).parameters if f"`{name}`" not in told] == []


def test_every_template_is_told() -> None:
    told = (TEMPLATES / "README.md").read_text()
    assert [path.name for path in TEMPLATES.glob("*.j2") if f"`{path.name}`" not in told] == []
