"""Only what shows something new is made, and the vault is the same as if all of it had been made at once."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.errors import LogDamaged, TemplateInvalid
from pipeline.ports import Record
from pipeline.projection import build_vault
from pipeline.projection.catalogue import FILE
from pipeline.projection.notes import KINDS, Note, Rendered
from pipeline.projection.templates import Renderer
from tests.fakes import MemoryStore
from tests.projection.builders import PAGES, TEMPLATES, Story, Workplace, a_store, change, changed_templates, night

STAGES: tuple[Callable[[Story], Story], ...] = (Story.begin, Story.planned, Story.gathered, Story.analysed, Story.reported)
SHELF = (*PAGES, "https://logs.example/second", "https://logs.example/third")


def _afresh(place: Workplace, folder: Path) -> dict[str, bytes]:
    """What a build from nothing makes of the same log and templates."""
    shutil.rmtree(folder, ignore_errors=True)
    other = Workplace(folder, place.store, place.templates)
    other.build()
    return other.files()


@dataclass
class Life:
    """A workspace to which things happen: what is being researched, on which dates, and what became of it."""

    place: Workplace
    stories: list[Story] = field(default_factory=list)
    stages: dict[str, Iterator[Callable[[Story], Story]]] = field(default_factory=dict)
    nights: int = 0
    begun: int = 0
    words: dict[Path, list[bytes]] = field(default_factory=dict)

    def begin(self, number: int) -> None:
        query = number % 2
        self.begun += 1
        before = [story.id for story in self.stories if story.query_id == f"q{query}"]
        story = Story(
            self.place.store,
            id=f"2026-11-{10 + number % 7:02d}-q{query}-{self.begun:04x}",
            query=f"What of the question {query}?",
            query_id=f"q{query}",
            previous=before[-1] if before and number % 3 else "",
            date=f"2026-11-{10 + number % 7:02d}",
            pages=(SHELF[number % 5], SHELF[(number + 1) % 5], SHELF[(number + 2) % 5]),
            tags=(f"topic {number % 3}", "all"),
        )
        self.stories.append(story)
        self.stages[story.id] = iter(STAGES)
        self.go_on(len(self.stories) - 1)

    def go_on(self, number: int) -> None:
        if self.stories:
            story = self.stories[number % len(self.stories)]
            if stage := next(self.stages[story.id], None):
                stage(story)

    def sleep(self, number: int) -> None:
        self.nights += 1
        chosen = self.stories[number % 3 :: 2]
        night(self.place.store, *chosen, date=f"2026-{11 + self.nights // 28:02d}-{1 + self.nights % 28:02d}")

    def forget_session(self, number: int) -> None:
        names = list(self.place.store.session_ids())
        if names:
            gone = names[number % len(names)]
            del self.place.store.streams[gone]
            self.stories = [story for story in self.stories if story.id != gone]

    def edit_template(self, number: int) -> None:
        template = self.place.templates / f"{KINDS[number % len(KINDS)]}.md.j2"
        template.write_text(f"{template.read_text()}\nEdited {number}.\n")

    def edit_macros(self, number: int) -> None:
        macros = self.place.templates / "_macros.md.j2"
        macros.write_text(f"{macros.read_text()}{{# {number} #}}\n")

    def lose_cache(self, _number: int) -> None:
        """With nothing stale about: what is not remembered is not taken away."""
        self.build(0)
        (self.place.state / FILE).unlink()
        self.build(0)

    def lose_note(self, number: int) -> None:
        found = sorted(self.place.vault.rglob("*.*"))
        files = [path for path in found if path.is_file() and "attic" not in path.parts]
        if files:
            files[number % len(files)].unlink()
            self.words.pop(files[number % len(files)], None)

    def write(self, number: int) -> None:
        """A person writes into one of the notes."""
        notes = [path for path in sorted(self.place.vault.rglob("*.md")) if "attic" not in path.parts]
        if notes:
            note = notes[number % len(notes)]
            mine = f"my words {number}\r\n  — ünïcödé — [[link]] `code`\n".encode() + b"\xff\n"
            opening = re.search(rb"%% begin [a-z]+ %%\n", note.read_bytes())
            assert opening is not None
            note.write_bytes(note.read_bytes().replace(opening[0], opening[0] + mine, 1))
            self.words.setdefault(note, []).append(mine)

    def rename_block(self, _number: int) -> None:
        macros = self.place.templates / "_macros.md.j2"
        old, new = ("notes", "thoughts") if 'user_block("notes")' in macros.read_text() else ("thoughts", "notes")
        change(macros, f'user_block("{old}")', f'user_block("{new}")')

    def break_a_marker(self, number: int) -> None:
        """A note whose markers do not pair up stays as it is, and is named, until that is put right."""
        notes = [path for path in sorted(self.place.vault.rglob("*.md")) if "attic" not in path.parts]
        if notes:
            self.build(0)
            note = notes[number % len(notes)]
            if not note.exists():
                return
            before = note.read_bytes()
            note.write_bytes(before + b"%% begin notes %%\n")
            report = self.place.build()
            assert [note.name in problem for problem in report.problems] == [True]
            assert note.read_bytes() == before + b"%% begin notes %%\n"
            note.write_bytes(before)

    def build(self, number: int) -> None:
        report = build_vault(
            self.place.store,
            templates=self.place.templates,
            vault=self.place.vault,
            state_dir=self.place.state,
            mode="all" if number % 7 == 6 else "new",
        )
        assert report.problems == ()


ACTS = (
    Life.begin, Life.begin, Life.go_on, Life.go_on, Life.go_on, Life.go_on, Life.sleep, Life.forget_session, Life.edit_template,
    Life.edit_macros, Life.lose_cache, Life.lose_note, Life.build, Life.build, Life.build, Life.build,
)  # fmt: skip

OWN_ACTS = (Life.write, Life.write, Life.write, Life.write, Life.rename_block, Life.break_a_marker)


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 30)), min_size=5, max_size=25))
def test_whatever_happened_in_between_the_vault_is_what_a_build_from_nothing_makes(
    acts: list[tuple[Callable[[Life, int], None], int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Workplace(Path(folder) / "w", MemoryStore(), changed_templates(Path(folder) / "t")))
        for act, number in acts:
            act(life, number)
        life.build(0)
        files = {path: data for path, data in life.place.files().items() if not path.startswith("attic/")}
        assert files == _afresh(life.place, Path(folder) / "afresh")


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.sampled_from(ACTS + OWN_ACTS), st.integers(0, 30)), min_size=5, max_size=25))
def test_whatever_happens_no_word_that_a_person_wrote_is_lost(acts: list[tuple[Callable[[Life, int], None], int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Workplace(Path(folder) / "w", MemoryStore(), changed_templates(Path(folder) / "t")))
        for act, number in acts:
            act(life, number)
        life.build(0)
        attic = [path.read_bytes() for path in life.place.vault.glob("attic/*")]
        for note, texts in life.words.items():
            places = [note.read_bytes()] if note.exists() else attic
            assert all(any(text in data for data in places) for text in texts)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    built = Workplace(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))
    built.build()
    return built


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the notes that are rendered from now on."""
    seen: list[str] = []
    render = Renderer.render

    def noting(renderer: Renderer, note: Note) -> Rendered:
        seen.append(note.path)
        return render(renderer, note)

    monkeypatch.setattr(Renderer, "render", noting)
    return seen


@dataclass
class Counting(MemoryStore):
    """A store that tells which streams were read."""

    read: list[str] = field(default_factory=list)

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        self.read.append(session_id)
        return super().load(session_id, after)


def test_without_news_nothing_is_read_and_nothing_rendered(place: Workplace, rendered: list[str]) -> None:
    store = Counting()
    store.streams = place.store.streams
    place.store = store
    report = place.build()
    assert store.read == rendered == []
    assert set(report.unchanged) == place.files().keys() - {".obsidian/types.json"}


def test_a_new_session_costs_its_own_notes_and_those_that_show_it(place: Workplace, rendered: list[str]) -> None:
    store = Counting()
    store.streams = place.store.streams
    place.store = store
    pages = ("https://other.example/1", "https://other.example/2", PAGES[0])
    story = Story(store, id="2026-12-01-bees-0b0b", query="Do bees dance?", query_id="bees", date="2026-12-01", pages=pages)
    story.whole()
    place.build()
    assert set(store.read) == {story.id}
    rooms = [path.partition("/")[0] for path in rendered]
    assert {room: rooms.count(room) for room in sorted(set(rooms))} == {
        "Home": 1, "reports": 1, "sessions": 1, "sources": 3, "topics": 1, "workers": 2,
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_edit_renders_the_notes_of_its_kind_alone(place: Workplace, rendered: list[str], kind: str) -> None:
    template = place.templates / f"{kind}.md.j2"
    template.write_text(f"{template.read_text()}\nEdited.\n")
    report = place.build()
    room = "Home" if kind == "home" else f"{kind}s"
    assert rendered
    assert all(path.startswith(room) for path in rendered)
    assert report.written == tuple(sorted(f"{path}.md" for path in rendered))


def test_a_macro_that_all_templates_draw_on_renders_all(place: Workplace, rendered: list[str]) -> None:
    change(place.templates / "_macros.md.j2", "{% macro", "{# edited #}{% macro")
    place.build()
    assert {f"{path}.md" for path in rendered} == {path for path in place.files() if path.endswith(".md")}


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text(f"{path.read_text()}x")])
def test_a_note_that_was_deleted_or_altered_is_made_again_and_no_other(
    place: Workplace, rendered: list[str], harm: Callable[[Path], object]
) -> None:
    before = place.files()
    note = place.note("sources/")
    harm(note)
    report = place.build()
    path = note.relative_to(place.vault).as_posix()
    assert report.written == (path,)
    assert rendered == [path.removesuffix(".md")]
    assert place.files()[path] == before[path]


def test_a_broken_template_changes_nothing_and_is_forgotten_when_mended(place: Workplace) -> None:
    before = place.files()
    good = (place.templates / "worker.md.j2").read_text()
    (place.templates / "worker.md.j2").write_text("{{ nothing_of_that_name }}")
    Story(place.store, id="2026-12-01-bees-0b0b", query="Do bees dance?", query_id="bees", date="2026-12-01").whole()
    for _ in range(2):
        with pytest.raises(TemplateInvalid, match="nothing_of_that_name"):
            place.build()
        assert place.files() == before
    (place.templates / "worker.md.j2").write_text(good)
    place.build()
    assert place.files() == _afresh(place, place.root / "afresh")


def test_another_version_of_the_program_makes_all_anew(
    place: Workplace, rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.projection.vault.layout_id", lambda: "another")
    report = place.build()
    assert len(rendered) == sum(path.endswith(".md") for path in place.files())
    assert report.written == report.set_aside == report.removed == ()


def _check(place: Workplace) -> tuple[str, ...]:
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in place.root.rglob("*")}
    report = build_vault(place.store, templates=place.templates, vault=place.vault, state_dir=place.state, mode="check")
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in place.root.rglob("*")} == before
    return (*report.written, *report.removed, *report.problems)


def test_check_tells_what_would_differ_and_writes_nothing(place: Workplace) -> None:
    assert _check(place) == ()
    note = place.note("workers/")
    data, stat = note.read_bytes(), note.stat()
    note.write_bytes(data.replace(b"fsync", b"FSYNC"))
    os.utime(note, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert _check(place) == (note.relative_to(place.vault).as_posix(),)
    del place.store.streams["batch-2026-11-21t020000-ab12"]
    assert "nights/2026-11-21.md" in _check(place)
    assert place.build().written != ()


def test_check_reads_a_damaged_catalogue_as_none_and_leaves_it(place: Workplace) -> None:
    (place.state / FILE).write_bytes(b"no database" * 1000)
    assert _check(place) == ()


def test_check_before_the_first_build_leaves_no_trace(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "w", a_store())
    report = build_vault(place.store, templates=TEMPLATES, vault=place.vault, state_dir=place.state, mode="check")
    assert "Home.md" in report.written
    assert not place.root.exists()


class Failing(MemoryStore):
    """A store one of whose sessions has an event that cannot be read, unlike its outline."""

    failing = ""

    def marks(self) -> Mapping[str, str]:
        return {name: f"{mark}?{self.failing == name}" for name, mark in super().marks().items()}

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        found = super().load(session_id, after)
        if session_id != self.failing:
            return found
        return [record._replace(data=b"{}") if record.type == "facts.observed" else record for record in found]


def test_a_session_that_proves_unreadable_late_is_left_out_like_any_damaged_one(tmp_path: Path) -> None:
    store = Failing()
    store.streams = a_store().streams
    place = Workplace(tmp_path, store)
    place.build()
    before = place.files()
    store.failing = "2026-11-28-power-cut-9c01"
    for _ in range(2):
        report = place.build()
        assert report.removed == ()
        assert before.keys() == place.files().keys()
        assert [store.failing in problem for problem in report.problems] == [True]
    store.failing = ""
    assert place.build().problems == ()
    assert place.files() == before


def test_processes_side_by_side_make_the_same_and_name_the_same_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Failing()
    store.streams = a_store().streams
    alone = Workplace(tmp_path / "alone", store)
    alone.build()
    monkeypatch.setattr("pipeline.projection.crew.WORTH_IT", 1)
    place = Workplace(tmp_path / "w", store, changed_templates(tmp_path / "t"))
    place.build()
    assert place.files() == alone.files()
    change(place.templates / "worker.md.j2", "| sentence", "| shout")
    with pytest.raises(TemplateInvalid, match=r"worker\.md\.j2, line \d+: No filter named 'shout'"):
        place.build()
    change(place.templates / "worker.md.j2", "| shout", "| sentence")
    store.failing = "2026-11-28-power-cut-9c01"
    assert [store.failing in problem for problem in place.build().problems] == [True]


def test_a_damaged_session_that_goes_away_takes_its_notes_with_it(tmp_path: Path) -> None:
    store = Failing()
    store.streams = a_store().streams
    place = Workplace(tmp_path / "w", store)
    store.failing = "2026-11-28-power-cut-9c01"
    place.build()
    del store.streams[store.failing]
    place.build()
    assert place.files() == _afresh(place, tmp_path / "afresh")


def test_a_hundred_builds_keep_a_persons_words_whatever_becomes_of_template_and_log(place: Workplace) -> None:
    mine = "my own words, 🖋\r\n  %% no marker %%\n```\n%% end notes %%\n```\n".encode()
    notes = [place.note(room) for room in ("reports/", "sessions/", "workers/", "sources/", "nights/", "topics/", "Home")]
    for note in notes:
        opening = b"%% begin notes %%\n"
        note.write_bytes(note.read_bytes().replace(opening, opening + mine))
    names = itertools.cycle(["notes", "thoughts", "notes", ""])
    macros = place.templates / "_macros.md.j2"
    original = macros.read_text()
    for number, name in zip(range(100), names, strict=False):
        block = f'{{{{ user_block("{name}") }}}}' if name else "none"
        macros.write_text(original.replace('{{ user_block("notes") }}', f"{block} {number}" if not name else block))
        if number % 10 == 0:
            Story(
                place.store, id=f"2026-12-{1 + number // 10:02d}-n-{number:04x}", date=f"2026-12-{1 + number // 10:02d}"
            ).whole()
        if number % 25 == 24:
            (place.state / FILE).unlink()
        report = place.build()
        assert report.problems == ()
        assert all(mine in note.read_bytes() for note in notes)
        assert all(note.read_bytes().count(mine) == 1 for note in notes)


def test_a_damaged_stream_is_named_in_each_build_until_it_is_mended(tmp_path: Path) -> None:
    class Damaged(MemoryStore):
        def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
            if session_id.startswith("batch-2026-11-28"):
                raise LogDamaged("line 3: the hash does not fit")
            return super().load(session_id, after)

    store = Damaged()
    store.streams = a_store().streams
    place = Workplace(tmp_path, store)
    first, second = place.build(), place.build()
    assert first.problems == second.problems != ()
    assert second.written == ()
