"""Whatever happens between builds, in whatever order: the vault is what a build from nothing makes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.vault.build_cache import FILE
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Failing, Story, Workplace, afresh, changed_templates, fact, night

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
        templates = sorted(self.place.templates.glob("*.j2"))
        template = templates[number % len(templates)]
        template.write_text(f"{template.read_text()}\nEdited {number}.\n")

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

    def build_while_one_is_damaged(self, number: int) -> None:
        """Whatever should go stays until all can be read again."""
        store, names = self.place.store, list(self.place.store.ids("session"))
        if len(names) > 1 and isinstance(store, Failing):
            del store.streams[names[(number + 1) % len(names)]]
            store.given_up.add(names[(number + 1) % len(names)])
            self.stories = [story for story in self.stories if story.id in store.streams]
            store.failing = names[number % len(names)]
            unread = any(record.type == "facts.observed" for record in MemoryStore.load(store, store.failing))
            assert self.place.build().removed == () or not unread
            store.failing = ""

    def build(self, number: int) -> None:
        report = self.place.build("all" if number % 7 == 6 else "new")
        assert report.problems == report.left_alone == ()


ACTS = (
    Life.begin, Life.begin, Life.go_on, Life.go_on, Life.go_on, Life.go_on, Life.sleep, Life.forget_session, Life.edit_template,
    Life.edit_template, Life.build_while_one_is_damaged, Life.lose_cache, Life.lose_note, Life.build, Life.build, Life.build,
    Life.build,
)  # fmt: skip


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
