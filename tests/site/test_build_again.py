"""A site that is built again: what is made again, and that it is the same as one made from nothing, whatever cut a build off."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.site import page_values, paths, stages
from pipeline.vault.build_cache import Kept
from tests.site.scratch import VAULT, Scratch, cold, note, scratch_vault


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    made = scratch_vault(tmp_path)
    made.build()
    return made


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_build_writes_nothing(scratch: Scratch) -> None:
    before = _times(scratch.folder)
    again = scratch.build()
    assert (again.written, again.removed) == ((), ())
    assert _times(scratch.folder) == before, "not even what is remembered"


def test_a_changed_quote_changes_the_page_that_cites_it_and_a_changed_title_those_that_show_it(scratch: Scratch) -> None:
    scratch.write("sources/2026-11/s1.md", VAULT["sources/2026-11/s1.md"].replace("Word for word", "Other words"))
    written = set(scratch.build().written)
    assert {"reports/2026/r1.html", "sources/2026-11/s1.html"} <= written
    assert "reports/2026/r2.html" not in written
    assert "Other words." in scratch.html("reports/2026/r1.html")
    scratch.write("reports/2026/r1.md", VAULT["reports/2026/r1.md"].replace("First report", "New name"))
    written = set(scratch.build().written)
    assert {"sessions/2026/w1.html", "browse/reports.html"} <= written
    assert not {"my/mine.html", "reports/2026/r2.html"} & written


def test_a_note_that_appears_mends_the_links_to_it(scratch: Scratch) -> None:
    assert '<span class="internal broken">nowhere</span>' in scratch.html("reports/2026/r2.html")
    scratch.write("my/nowhere.md", "Here.")
    scratch.build()
    assert '<a class="internal" href="../../my/nowhere.html">nowhere</a>' in scratch.html("reports/2026/r2.html")
    scratch.remove("my/nowhere.md")
    assert scratch.build().removed[:1] == ("my/nowhere.html",)
    assert '<span class="internal broken">nowhere</span>' in scratch.html("reports/2026/r2.html")


def test_a_page_that_was_lost_or_altered_is_made_again_and_no_other(scratch: Scratch) -> None:
    whole = scratch.files()
    lost = min(path for path in whole if path.startswith("search/w-"))
    for path in ("my/mine.html", "search/meta.js", lost):
        (scratch.folder / "site" / path).unlink()
    (scratch.folder / "site" / "browse" / "reports.html").write_text("altered")
    assert scratch.build().written == ("browse/reports.html", "my/mine.html", "search/meta.js", lost)
    assert scratch.files() == whole


def test_an_edited_template_costs_the_pages_of_its_kind_and_an_edited_asset_is_copied(scratch: Scratch) -> None:
    template = scratch.folder / "templates" / "source.html.j2"
    template.write_text(template.read_text() + "{% block head %}<!-- new -->{% endblock %}")
    assert set(scratch.build().written) == {"sources/2026-11/s1.html", "sources/2026-11/s2.html"}
    (scratch.folder / "templates" / "assets" / "site.css").write_text("body {}")
    assert scratch.build().written == ("assets/site.css",)
    assert scratch.build().written == ()


def test_another_program_renders_each_page_again_and_so_does_who_is_asked_for_all(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scratch.files()
    assert scratch.build(everything=True).written == ()
    assert scratch.files() == whole == cold(scratch, tmp_path / "other")
    monkeypatch.setattr(page_values, "Markup", lambda _html: Markup("another program's page"))
    scratch.write("my/more.md", "More.")
    scratch.build()
    assert "another program" not in scratch.html("reports/2026/r1.html")
    for module in ("build_if_changed", "stages"):
        monkeypatch.setattr(f"pipeline.site.{module}.program_id", lambda _room: "another")
    assert "my/mine.html" in scratch.build().written
    assert "another program" in scratch.html("reports/2026/r1.html")
    assert scratch.build().written == ()


class Cut(BaseException):
    """The end of a process."""


def _cut(*_: object) -> None:
    raise Cut


def _amid(staged: stages.Staged) -> Any:
    staged.paths = random.Random(len(staged.paths)).sample(staged.paths, len(staged.paths) // 2)
    whole(staged)
    raise Cut


whole = stages.Staged.put_in_place
CUTS: tuple[tuple[object, str, Callable[..., Any]], ...] = (
    (stages.Build, "_write_search", _cut),
    (stages.Staged, "put_in_place", _cut),
    (stages.Staged, "put_in_place", _amid),
    (Kept, "commit", _cut),
)


def _cut_off(scratch: Scratch, number: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(*CUTS[number])
        with pytest.raises(Cut):
            scratch.build()


def _seen(scratch: Scratch) -> dict[str, bytes]:
    """The site without what a build that was cut off had not put in place yet."""
    return {path: data for path, data in scratch.files().items() if not path.rpartition("/")[2].startswith(".")}


_TEXTS = ["x", "[[a]] and [[b|B]]", "![[c]]", "# Other\n\n#tag/one", "> “q”\n\n^q-1", "[[a#^q-1|¹]]", "![[p.svg]]", "one two"]
_NAMES = ["a.md", "b.md", "sub/c.md", "sub/a.md", "Home.md", "zoo.md", "p.svg"]
_STEPS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from([*_TEXTS, None]), st.sampled_from(["report", "source", ""])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(st.tuples(_STEPS, st.sampled_from([None, None, *range(len(CUTS))])), min_size=1, max_size=4))
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
            _cut_off(scratch, cut)
    scratch.build()
    assert _seen(scratch) == cold(scratch, scratch.folder / "other")


def test_a_file_that_is_not_what_it_seems_is_made_again_when_it_is_to_change(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "read", lambda root, path: b"other" if path.startswith("search/") else paths.read(root, path))
    scratch.remove("my/mine.md")
    scratch.build()
    assert scratch.files() == cold(scratch, tmp_path / "other")


def test_what_a_killed_build_left_beside_the_pages_goes_also_of_a_page_that_no_build_finished(scratch: Scratch) -> None:
    whole = scratch.files()
    for page in ("mine", "never-finished"):
        (scratch.folder / "site" / "my" / f".{page}.html.tmp").write_text("half")
    (scratch.folder / "site" / "my" / ".own.tmp").write_text("somebody's own")
    scratch.build()
    assert scratch.files() == {**whole, "my/.own.tmp": b"somebody's own"}


def test_a_note_that_was_made_private_while_the_cache_was_lost_is_nowhere_in_the_site(scratch: Scratch) -> None:
    scratch.write("my/mine's.md", "Secret for a while")
    scratch.build()
    (scratch.folder / "site" / "own.html").write_text("somebody's own")
    shutil.rmtree(scratch.folder / "state")
    scratch.remove("my/mine's.md")
    scratch.build()
    own = scratch.files().pop("own.html")
    assert {**cold(scratch, scratch.folder / "other"), "own.html": own} == scratch.files()


def test_a_note_that_may_not_be_read_is_tried_again(scratch: Scratch) -> None:
    scratch.write("my/mine.md", "Secret for a while")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.site.public.read", lambda root, path: None if path == "my/mine.md" else paths.read(root, path))
        scratch.build()
    assert "Secret for a while" not in scratch.html("my/mine.html")
    scratch.build()
    assert "Secret for a while" in scratch.html("my/mine.html"), "though it looks as it did"
