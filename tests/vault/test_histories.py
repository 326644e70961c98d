"""Whatever happens between builds, in whatever order: the vault is what a build from nothing makes, and no word is lost."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.vault.kept import FILE
from pipeline.vault.note import KINDS
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Failing, Story, Workplace, afresh, change, changed_templates, fact, night

STAGES: tuple[Callable[[Story], Story], ...] = (Story.begin, Story.planned, Story.gathered, Story.analysed, Story.reported)
SHELF = (*PAGES, "https://logs.example/second", "https://logs.example/third")


@dataclass
class Life:
    """A workspace to which things happen: what is being researched, on which dates, and what became of it."""

    place: Workplace
    stories: list[Story] = field(default_factory=list)
    stages: dict[str, Iterator[Callable[[Story], Story]]] = field(default_factory=dict)
    nights: int = 0
    begun: int = 0
    words: dict[Path, list[bytes]] = field(default_factory=dict)
    gone: set[Path] = field(default_factory=set)  # notes that a build removed; one that comes back has its words in the attic

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
        story.facts = (fact(story.pages[0], f"The fee is {number} EUR per night."), *story.facts[1:])
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
        names = list(self.place.store.ids("session"))
        if names:
            gone = names[number % len(names)]
            del self.place.store.streams[gone]
            self.place.store.given_up.add(gone)
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
            assert [note.name in problem for problem in report.left_alone] == [True]
            assert note.read_bytes() == before + b"%% begin notes %%\n"
            note.write_bytes(before)

    def build_while_one_is_damaged(self, number: int) -> None:
        """Whatever should go stays until all can be read again."""
        store, names = self.place.store, list(self.place.store.ids("session"))
        if len(names) > 1 and isinstance(store, Failing):
            del store.streams[names[(number + 1) % len(names)]]
            store.given_up.add(names[(number + 1) % len(names)])
            self.stories = [story for story in self.stories if story.id in store.streams]
            store.failing = names[number % len(names)]
            assert self.place.build().removed == () or not _has_facts(store)
            store.failing = ""

    def build(self, number: int) -> None:
        report = self.place.build_as("all" if number % 7 == 6 else "new")
        assert report.problems == report.left_alone == ()
        self.gone |= {note for note in self.words if not note.exists()}


def _has_facts(store: Failing) -> bool:
    """Tell whether there is what cannot be read."""
    return any(record.type == "facts.observed" for record in MemoryStore.load(store, store.failing))


ACTS = (
    Life.begin, Life.begin, Life.go_on, Life.go_on, Life.go_on, Life.go_on, Life.sleep, Life.forget_session, Life.edit_template,
    Life.edit_macros, Life.build_while_one_is_damaged, Life.lose_cache, Life.lose_note, Life.build, Life.build, Life.build,
    Life.build,
)  # fmt: skip

OWN_ACTS = (Life.write, Life.write, Life.write, Life.write, Life.rename_block, Life.break_a_marker)


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 30)), min_size=5, max_size=25))
def test_whatever_happened_in_between_the_vault_is_what_a_build_from_nothing_makes(
    acts: list[tuple[Callable[[Life, int], None], int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Workplace(Path(folder) / "w", Failing(), changed_templates(Path(folder) / "t")))
        for act, number in acts:
            act(life, number)
        life.build(0)
        files = {path: data for path, data in life.place.files().items() if not path.startswith("attic/")}
        assert files == afresh(life.place, Path(folder) / "afresh")


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.sampled_from(ACTS + OWN_ACTS), st.integers(0, 30)), min_size=5, max_size=25))
def test_whatever_happens_no_word_that_a_person_wrote_is_lost(acts: list[tuple[Callable[[Life, int], None], int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Workplace(Path(folder) / "w", Failing(), changed_templates(Path(folder) / "t")))
        for act, number in acts:
            act(life, number)
        life.build(0)
        attic = [path.read_bytes() for path in life.place.vault.glob("attic/*")]
        for note, texts in life.words.items():
            places = ([note.read_bytes()] if note.exists() else []) + (attic if note in life.gone else [])
            assert all(any(text in data for data in places) for text in texts)
