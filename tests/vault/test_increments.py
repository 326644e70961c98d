"""Only what shows something new is made, only what differs is written, as if made at once; nothing of a person is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from unittest import mock

import pytest

from pipeline.domain.events.stream_records import Record
from pipeline.domain.events.upkeep_events import NoteHidden
from pipeline.errors import ResearchError
from pipeline.system.files import connect_sqlite
from pipeline.system.manifest import Look, Tree
from pipeline.vault.build_cache import FILE
from pipeline.vault.note import KINDS
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Story, Workplace, a_store, afresh, change, looks, night


def test_a_second_build_writes_nothing_reads_nothing_and_renders_nothing(place: Workplace) -> None:
    before = looks(place.root)
    with mock.patch.object(place.store, "load") as load:
        report, rendered = place.build_and_note()
    assert (load.call_count, rendered) == (0, ())
    assert report.unchanged == len(place.files())
    assert report.written == report.removed == report.set_aside == report.problems == ()
    assert looks(place.root) == before


def test_a_new_session_costs_its_own_notes_and_those_that_show_it(place: Workplace) -> None:
    pages = ("https://other.example/1", "https://other.example/2", PAGES[0])
    story = Story(place.store, id="2026-12-01-bees-0b0b", query="Do bees dance?", query_id="bees", pages=pages).whole()
    with mock.patch.object(place.store, "load", wraps=place.store.load) as load:
        _, rendered = place.build_and_note()
    assert {call.args[0] for call in load.call_args_list} == {story.id}
    rooms = [note.path.removesuffix(".md").partition("/")[0] for note in rendered]
    assert {room: rooms.count(room) for room in sorted(set(rooms))} == {
        "Home": 1, "reports": 1, "sessions": 1, "sources": 3, "topics": 1, "workers": 2,
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_edit_writes_the_notes_of_its_kind_alone(place: Workplace, kind: str) -> None:
    template = place.templates / f"{kind}.md.j2"
    template.write_text(f"{template.read_text()}\nEdited.\n")
    rooms = {path.partition("/")[0] for path in place.build().written}
    assert rooms == {"Home.md" if kind == "home" else f"{kind}s"}
    assert place.build().written == ()


def test_the_first_notes_of_an_edited_template_are_written_before_the_others_are_rendered(place: Workplace) -> None:
    template = place.templates / "source.md.j2"
    template.write_text(f"{template.read_text()}\nEdited.\n")
    with mock.patch("pipeline.vault.stages.monotonic", side_effect=count(0, 0.15)):
        first = place.build(mode="first")
    rest = place.build(mode="first")
    sources = {f"sources/{file.relative_to(place.vault / 'sources')}" for file in (place.vault / "sources").rglob("*.md")}
    assert (first.waits, len(first.written), rest.waits) == (True, 1, False)
    assert {*first.written, *rest.written} == sources
    assert not place.build(mode="first").written


STAGES = (Story.begin, Story.planned, Story.gathered, Story.analysed, Story.reported)


def test_after_each_step_of_each_session_and_each_night_the_vault_is_as_made_anew(tmp_path: Path) -> None:
    store = MemoryStore()
    place = Workplace(tmp_path / "w", store)

    def build() -> None:
        assert place.build().problems == ()
        assert place.files() == afresh(place, tmp_path / "afresh")

    first = Story(store)
    again = Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28")
    other = Story(store, id="2026-11-29-tides-77aa", query="Why are there tides?", query_id="tides", date="2026-11-29")
    for story in (first, again, other):
        for stage in STAGES:
            stage(story)
            build()
        night(store, story, date=story.date, archived=(first.query_id,) if story is again else ())
        build()
        for room in ("reports/", "sessions/"):
            assert ("\narchived: true\n" in place.note(room).read_text()) == (story is again)
    del store.streams[again.id]
    store.given_up.add(again.id)
    build()


@pytest.mark.parametrize("stage", range(len(STAGES) - 1))
def test_what_a_run_records_while_its_notes_are_made_is_left_to_the_next_build(tmp_path: Path, stage: int) -> None:
    store = MemoryStore()
    place, story, load = Workplace(tmp_path / "w", store), Story(store), store.load
    for earlier in STAGES[: stage + 1]:
        earlier(story)
    waiting = [STAGES[stage + 1]]

    def load_and_go_on(session: str, after: int = 0) -> Sequence[Record]:
        found = tuple(load(session, after))
        while waiting:
            waiting.pop()(story)
        return found

    with mock.patch.object(store, "load", load_and_go_on):
        assert place.build().problems == ()
    assert place.build().problems == ()
    assert place.files() == afresh(place, tmp_path / "afresh")


def test_what_is_joined_to_a_log_while_its_notes_are_made_is_left_to_the_next_build(place: Workplace) -> None:
    store, load = place.store, place.store.load
    story = Story(store, id="2026-11-29-tides-77aa", query="Why are there tides?").begin()

    def load_and_join(session: str, after: int = 0) -> Sequence[Record]:
        found = tuple(load(session, after))
        if session == story.id:
            store.streams[session] = [one._replace(data=one.data.replace(b"-77aa-00", b"-77aa-90")) for one in found]
        return found

    with mock.patch.object(store, "load", load_and_join):
        assert "its log was changed while its notes were made" in "".join(place.build().problems)
    assert place.build().problems == ()
    assert place.files() == afresh(place, place.root.parent / "afresh")


def test_while_a_session_cannot_be_read_nothing_is_removed_and_then_the_vault_is_as_made_anew(place: Workplace) -> None:
    store, gone, name = place.store, "2026-11-28-tides-77aa", "2026-11-21-power-cut-3f2a"
    del store.streams[gone]
    store.given_up.add(gone)
    whole = store.streams[name]
    store.strike(name, lambda record: record._replace(data=b"{}"))
    report = place.build()
    assert report.removed == ()
    assert [name in problem for problem in report.problems] == [True]
    store.streams[name] = whole
    assert place.build().removed == ("sessions/2026/session-why-are-there-tides-77aa.md",)
    assert place.files() == afresh(place, place.root / "afresh")


def _check(place: Workplace) -> tuple[str, ...]:
    before = looks(place.root)
    report = place.build("check")
    assert looks(place.root) == before
    return (*report.written, *report.removed, *report.problems)


def test_check_tells_what_would_differ_and_writes_nothing_and_a_build_makes_that_note_alone_again(place: Workplace) -> None:
    assert _check(place) == ()
    note = place.note("sources/")
    data, stat, path = note.read_bytes(), note.stat(), note.relative_to(place.vault).as_posix()
    note.write_bytes(data.replace(b"fsync", b"FSYNC"))
    os.utime(note, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert _check(place) == (path,)
    note.touch()
    report, rendered = place.build_and_note()
    assert report.written == (path,)
    assert [one.path for one in rendered] == [path]
    assert note.read_bytes() == data
    del place.store.streams["batch-2026-11-21t020000-ab12"]
    assert "nights/2026-11-21.md" in _check(place)


@pytest.mark.parametrize("which", ["the one that is written", "another in its folder"])
def test_what_is_edited_while_a_build_is_under_way_is_noticed_by_the_next(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    folder = place.note("sources/").parent
    lost, other = sorted(folder.glob("*.md"))[:2]
    edited = lost if which == "the one that is written" else other
    lost.write_text(lost.read_text().replace("## ", "### ", 1))
    write = Tree.write

    def and_someone_writes_too(tree: Tree, path: str, data: bytes, *, durable: bool = False) -> Look:
        how = write(tree, path, data, durable=durable)
        edited.write_text(f"{edited.read_text()}mine\n")
        return how

    monkeypatch.setattr(Tree, "write", and_someone_writes_too)
    place.build()
    monkeypatch.undo()
    assert edited.name.removesuffix(".md") in " ".join(place.build().set_aside)


def test_a_note_that_an_editor_saves_meanwhile_keeps_its_words(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    note = place.note("sources/")
    saved = note.read_text().replace("%% begin notes %%\n", "%% begin notes %%\nmine\n")
    monkeypatch.setattr("pipeline.vault.output.writer.sleep", lambda _: note.write_text(saved))
    note.write_text("")
    assert place.build().set_aside == ()
    assert note.read_text() == saved


def test_a_foreign_file_at_a_notes_path_is_left_alone_and_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    (place.vault / "nights").mkdir(parents=True)
    (place.vault / "nights/2026-11-21.md").write_text("my diary")
    report = place.build()
    assert (place.vault / "nights/2026-11-21.md").read_text() == "my diary"
    assert [problem.partition(":")[0] for problem in report.left_alone] == ["nights/2026-11-21.md"]
    assert len(report.written) == len(place.files()) - 1


@pytest.mark.parametrize("content", [None, b"", b"{", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_lost_or_unreadable_catalogue_adopts_what_is_as_it_would_be_made(place: Workplace, content: bytes | None) -> None:
    (place.state / FILE).unlink() if content is None else (place.state / FILE).write_bytes(content)
    report = place.build()
    assert report.written == report.set_aside == report.removed == report.problems == ()
    assert place.build().unchanged == report.unchanged


def test_a_summary_that_was_damaged_is_made_again(place: Workplace) -> None:
    sqlite3.connect(place.state / FILE, isolation_level=None).execute("UPDATE summaries SET value = '{'")
    (place.templates / "topic.md.j2").write_text("Other words.\n")
    assert {path.partition("/")[0] for path in place.build().written} == {"topics"}


def test_while_another_build_is_under_way_nothing_is_done(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.vault.build_cache.connect_sqlite", partial(connect_sqlite, timeout_s=0.01))
    base = place.vault / "bases" / "reports.base"
    base.unlink()
    other = sqlite3.connect(place.state / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ResearchError, match="locked"):
        place.build()
    assert not base.exists()
    other.rollback()
    assert place.build().written == ("bases/reports.base",)


@pytest.mark.parametrize(
    ("path", "template"), [("bases/reports.base", "bases/reports.base"), (".obsidian/snippets/research.css", "research.css")]
)
def test_a_base_or_style_sheet_is_renewed_until_somebody_edits_it_also_where_nothing_is_known_of_it(
    place: Workplace, path: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, made_from = place.vault / path, place.templates / template
    file.write_text("zero: true\n# generated: Botz\n")  # as an earlier version signed it
    for new in ("one: true\n", "two: true\n"):
        made_from.write_text(new)
        shutil.rmtree(place.state)
        assert place.build().written == (path,)
        assert file.read_text().startswith(new)
    file.write_text(mine := f"mine: true\n{file.read_text()}")
    made_from.write_text("three: true\n")
    assert place.build().set_aside == ()
    monkeypatch.setattr("pipeline.vault.stages.Build", None)  # a build with nothing to do does without it
    assert place.build().written == ()
    assert file.read_text() == mine


def test_notes_that_are_no_longer_made_go_away_with_their_folders(place: Workplace) -> None:
    del place.store.streams["batch-2026-11-21t020000-ab12"], place.store.streams["batch-2026-11-28t020000-ab12"]
    (place.vault / "nights" / "2026-11-21.md").unlink()  # as git does, with what another machine forgot
    report = place.build()
    assert report.removed == ("nights/2026-11-28.md", "nights/thirty-nights.svg")
    assert not (place.vault / "nights").exists()
    assert report.set_aside == report.hidden == ()


@pytest.mark.parametrize("is_hidden", [False, True])
@pytest.mark.parametrize("mine", ["%% begin notes %%\nmine\n", "loose words\n%% begin notes %%\n"])
def test_a_stale_or_hidden_note_that_someone_wrote_in_moves_to_the_attic(place: Workplace, mine: str, is_hidden: bool) -> None:
    note = place.vault / "nights/2026-11-21.md"
    change(note, "%% begin notes %%\n", mine)
    edited = note.read_bytes()
    if is_hidden:
        place.record([NoteHidden(note="night:2026-11-21")])  # on another machine, while it was moved on this one
        note = note.rename(note.with_name("moved.md"))
    else:
        del place.store.streams["batch-2026-11-21t020000-ab12"]
    report = place.build()
    assert not note.exists()
    assert place.build().written == ()
    assert [(place.vault / copy).read_bytes() for copy in report.set_aside] == [edited]


@pytest.mark.parametrize("put", [Path.symlink_to, lambda note, _: note.mkdir(), lambda note, _: os.mkfifo(note)])
def test_a_link_a_folder_or_a_pipe_in_the_way_is_left_alone_and_named(
    place: Workplace, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    canary, note = tmp_path / "canary", place.note("reports/")
    canary.write_text("untouched")
    note.unlink()
    put(note, canary)
    how = note.lstat().st_ino
    report = place.build()
    assert (len(report.left_alone), report.hidden) == (1, ())
    assert canary.read_text() == "untouched"
    assert note.lstat().st_ino == how


def test_a_linked_folder_is_not_entered(place: Workplace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(place.vault / "reports")
    (place.vault / "reports").symlink_to(outside)
    report = place.build()
    assert list(outside.iterdir()) == []
    assert len(report.left_alone) == 2
