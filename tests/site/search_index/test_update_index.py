"""The search index and the site map: what a build makes of them, and that it is right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.site import files, stages
from pipeline.site.search_index import index_shards
from pipeline.system.folder_fingerprint import Look
from tests.site.scratch import Scratch, note

NOTES = {f"my/{number:02d}.md": f"Words of note {number}, word{number}" for number in range(24)}
LOCATION = re.compile(r"<loc>(.*?)</loc>")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.site.pages.feeds.LIMIT", 6)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    made = Scratch(tmp_path)
    for path, text in NOTES.items():
        made.write(path, note(path, text, created="2026-01-01"))
    made.build()
    return made


def cold(scratch: Scratch) -> dict[str, bytes]:
    """The site of the same vault, made from nothing in another folder."""
    other = Scratch(scratch.folder / "other")
    other.folder.mkdir()
    (other.folder / "vault").symlink_to(scratch.folder / "vault")
    (other.folder / "templates").symlink_to(scratch.folder / "templates")
    other.build()
    return other.files()


def index_of(paths: Iterable[str]) -> set[str]:
    """The files of the search index among these, without the one about all segments."""
    return {path for path in paths if path.startswith("search/")} - {"search/meta.js"}


def test_every_note_is_found_in_the_files(scratch: Scratch) -> None:
    held = {path: index_shards.loaded(data) for path, data in scratch.files().items() if path.startswith("search/")}
    assert held.pop("search/meta.js")["notes"] == len(NOTES)
    shown = [one[0] for path, notes in held.items() if "/n-" in path for same in notes.values() for one in same]
    assert sorted(shown) == [path.replace(".md", ".html") for path in NOTES]
    codes = "".join(file.get("word7", "") for file in held.values())
    assert codes[:-1] == index_shards.note_id("my/07.md")


def test_a_changed_note_costs_some_files_and_no_map(scratch: Scratch) -> None:
    scratch.write("my/07.md", note("my/07.md", "Other words: seven", created="2026-01-01"))
    written = scratch.build().written
    assert index_of(written) < index_of(scratch.files())
    assert not [path for path in written if path.startswith("sitemap")]
    assert scratch.files() == cold(scratch)


@pytest.mark.parametrize("file", ["meta.js", "some"])
@pytest.mark.parametrize("altered", [True, False])
def test_a_file_that_was_lost_or_altered_is_made_again(scratch: Scratch, file: str, altered: bool) -> None:
    whole = scratch.files()
    path = f"search/{file}" if file == "meta.js" else max(index_of(whole))
    place = scratch.folder / "site" / path
    place.write_text("altered") if altered else place.unlink()
    assert scratch.build().written == (path,)
    assert scratch.files() == whole


def test_a_file_that_is_not_what_it_seems_is_made_again_when_it_is_to_change(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files.read

    def altered(root: Path, path: str) -> bytes | None:
        return b"altered, of the same size and time" if path.startswith("search/") else whole(root, path)

    monkeypatch.setattr(stages, "read", altered)
    scratch.remove("my/07.md")
    scratch.build()
    assert scratch.files() == cold(scratch)


def test_more_addresses_than_a_file_may_hold_come_in_several_that_one_names(scratch: Scratch) -> None:
    scratch.build(url="https://example.org/")
    maps = {path: LOCATION.findall(data.decode()) for path, data in scratch.files().items() if path.startswith("sitemap")}
    assert sorted(maps.pop("sitemap.xml")) == sorted(f"https://example.org/{path}" for path in maps)
    assert max(map(len, maps.values())) <= 6
    found = sorted(address for addresses in maps.values() for address in addresses)
    lists = {path for path in scratch.files() if re.fullmatch(r"browse/(?!tags\.html).*html", path)}
    pages = {"index.html", *lists, *(path.replace(".md", ".html") for path in NOTES)}
    assert found == sorted(f"https://example.org/{page}" for page in pages)


def test_few_addresses_come_in_one_file(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.site.pages.feeds.LIMIT", 1000)
    report = scratch.build(everything=True)
    assert {path for path in scratch.files() if path.startswith("sitemap")} == {"sitemap.xml"}
    assert "sitemap-1.xml" in report.removed
    assert "<loc>my/07.html</loc><lastmod>2026-01-01</lastmod>" in scratch.html("sitemap.xml")


def test_a_note_with_the_name_of_a_map_moves_aside(scratch: Scratch) -> None:
    scratch.write("sitemap-first.xml/mine.md", "# Mine")
    scratch.build()
    assert "Mine" in scratch.html("notes/sitemap-first.xml/mine.html")


class _PowerCutError(Exception):
    pass


def _cut_off(scratch: Scratch, placed: int) -> None:
    """A build that ends when it has put so many files in place; -1: before all are made."""

    def cut(site: Path, paths: list[str]) -> dict[str, Look]:
        whole(site, paths[:placed])
        raise _PowerCutError

    whole = files.put_in_place
    early = mock.patch.object(stages.Build, "_write_search", side_effect=_PowerCutError)
    where = early if placed < 0 else mock.patch.object(files, "put_in_place", cut)
    with where, pytest.raises(_PowerCutError):
        scratch.build()


@pytest.mark.parametrize("placed", [-1, 0, 3])
def test_what_a_build_was_cut_off_from_is_made_by_the_next(scratch: Scratch, placed: int) -> None:
    scratch.write("my/07.md", note("my/07.md", "Other words: seven", created="2026-01-03"))
    _cut_off(scratch, placed)
    scratch.build()
    assert _seen(scratch) == cold(scratch)


def test_files_of_a_build_that_was_cut_off_go_when_they_are_not_needed(scratch: Scratch) -> None:
    scratch.write("my/zebra.md", note("Zebra", "zoological", created="2026-01-02"))
    _cut_off(scratch, 1000)
    assert any(path == "search/w-zo.js" for path in scratch.files())
    scratch.remove("my/zebra.md")
    scratch.build()
    assert _seen(scratch) == cold(scratch)


def _seen(scratch: Scratch) -> dict[str, bytes]:
    """The site without what a build that was cut off had not put in place yet."""
    return {path: data for path, data in scratch.files().items() if not path.rpartition("/")[2].startswith(".")}


_NAMES = sorted(NOTES)[:14]
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(_NAMES),
        st.sampled_from(["one", "one two", "", None]),
        st.sampled_from(["", "2026-01-01", "2026-01-02T10:00:00", "2026-01-02T11:00:00"]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(st.tuples(_STEPS, st.sampled_from([None, None, -1, 7])), min_size=2, max_size=5))
def test_whatever_came_went_and_was_cut_off_the_site_is_the_same_as_made_from_nothing(
    history: list[tuple[list[tuple[str, str | None, str]], int | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = Scratch(tmp_path_factory.mktemp("site"))
    for name in _NAMES[::2]:
        scratch.write(name, note("T", "one", created="2026-01-01"))
    scratch.build()
    for steps, placed in history:
        for name, text, created in steps:
            if text is None:
                (scratch.folder / "vault" / name).unlink(missing_ok=True)
            else:
                scratch.write(name, note(f"T {text[:3]}", text, created=created))
        if placed is None:
            scratch.build()
        else:
            scratch.write("my/also.md", note("Also", f"{placed}"))
            _cut_off(scratch, placed)
    scratch.build()
    assert _seen(scratch) == cold(scratch)
