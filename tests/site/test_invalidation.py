"""A site that is built again: what is made again, and that it is the same as one made from nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.site import stages
from pipeline.vault.kept import FILE
from tests.site.scratch import VAULT, Scratch, cold, note, scratch_vault


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return scratch_vault(tmp_path)


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_build_writes_nothing(scratch: Scratch) -> None:
    scratch.build()
    before = _times(scratch.folder)
    again = scratch.build()
    assert (again.written, again.removed) == ((), ())
    assert _times(scratch.folder) == before, "not even what is remembered"


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
    assert {"reports/2026/r2.html", "sources/2026-11/s1.html", "browse/reports.html"} <= set(report.written)
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
    (scratch.folder / "state" / FILE).write_bytes(damage)
    scratch.build()
    assert scratch.files() == whole


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
    monkeypatch.setattr(stages, "filled", lambda *_given: Markup("another program's page"))
    scratch.build()
    assert "another program" not in scratch.html("reports/2026/r1.html")
    scratch.build(everything=True)
    assert "another program" in scratch.html("reports/2026/r1.html")


def test_another_program_renders_each_page_again_without_being_asked(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.build()
    monkeypatch.setattr(stages, "filled", lambda *_given: Markup("another program's page"))
    for module in ("build", "stages"):
        monkeypatch.setattr(f"pipeline.site.{module}.program_id", lambda _room: "another")
    assert "my/mine.html" in scratch.build().written
    assert "another program" in scratch.html("reports/2026/r1.html")
    assert scratch.build().written == ()


_TABLE = """```base
filters: {and: ['file.hasTag("tag/one")']}
views: [{type: table, order: [file.name, note.created]}]
```"""
_TEXTS = ["x", "[[a]] and [[b|B]]", "![[c]]", "# Other\n\n#tag/one", "> “q”\n\n^q-1", "[[a#^q-1|¹]]", _TABLE]
_NAMES = ["a.md", "b.md", "sub/c.md", "sub/a.md", "Home.md"]
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
                scratch.write(name, note(f"T{dice.randrange(3)}", text, kind, created=f"2026-01-0{1 + dice.randrange(3)}"))
        scratch.build()
    assert scratch.files() == cold(scratch, scratch.folder / "other")


def test_made_anew_or_not_the_bytes_are_the_same(scratch: Scratch, tmp_path: Path) -> None:
    scratch.build()
    whole = scratch.files()
    assert scratch.build(everything=True).written == ()
    assert scratch.files() == whole == cold(scratch, tmp_path / "other")
