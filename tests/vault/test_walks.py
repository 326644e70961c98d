"""A person renames, moves, deletes and writes, on two machines that meet by ``git merge``: nothing of theirs is lost.

Each word that a person writes is unique, so it can be looked for. Where a note is moved ``by_obsidian``, the links to it
change in all notes.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.upkeep_events import NoteShown
from pipeline.store.file_store import FileStore
from pipeline.vault import BuildReport
from pipeline.vault.build_cache import notes_in
from pipeline.vault.build_if_changed import Mode
from pipeline.vault.identity import read_decisions
from pipeline.vault.note import KINDS
from pipeline.vault.output.writer import as_bytes, as_text
from tests.vault.builders import OPEN, PAGES, TEMPLATES, Story, Workplace, night
from tests.vault.scanner import leading_nowhere

SHELF = (*PAGES, "https://logs.example/second", "https://logs.example/third", "corpus:tides.md")
_WORD = re.compile(rb"w\d{5}x")
_SPOILT = b"spoilt: [never closed\n"
_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "merge.renames=true")
# Where a person writes, and what: in the own block, among tags, aliases and properties.
_LINES = (
    *[(OPEN, "My own {}, and ünïcödé.")] * 4, ("\ntags:\n", "  - {}"), ("\naliases:\n", "  - {}"),
    *(("---\n", f"{name}: {{}}") for name in ("rating", "Mein Feld", "read_by")),
)  # fmt: skip


@dataclass
class Shared:
    """What both workspaces have in common: numbers that only grow, and the words that must be somewhere."""

    dice: random.Random
    last: int = 0
    written: set[str] = field(default_factory=set)
    newest: dict[int, str] = field(default_factory=dict)  # the last session on each question
    meeting: bool = False  # the build after a merge

    def number(self) -> int:
        self.last += 1
        return self.last

    def word(self) -> str:
        return f"w{self.number():05d}x"


class Walker(Workplace):
    """One workspace with its vault, and a person who works in it. Each act is given a note of the vault."""

    store: Any

    def __init__(self, root: Path, shared: Shared) -> None:
        super().__init__(root, FileStore(root / "events"), root / "templates")  # type: ignore[arg-type]
        self.shared = shared

    @property
    def state(self) -> Path:
        return self.root / "events" / "local"

    @property
    def dice(self) -> random.Random:
        return self.shared.dice

    def git(self, *args: str, check: bool = True) -> str:
        done = subprocess.run([*_GIT, *args], cwd=self.root, capture_output=True, text=True, check=False, errors="replace")
        assert not check or done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a")

    # what the program does

    def build(self, mode: Mode = "new") -> BuildReport:
        report = super().build(mode)
        for path in report.set_aside:
            data = (self.vault / path).read_bytes()
            mine = _WORD.search(data) is not None or b"publish: false" in data
            # After a merge git may have put lines of a third version into a note: then it looks edited, and a copy is kept.
            assert mine or self.shared.meeting, f"untouched, but set aside: {path}"
        spoilt = [path for path, data in self.files().items() if _SPOILT in data]
        assert report.problems == (), report
        assert [said for said in report.left_alone if not any(path in said for path in spoilt)] == [], report
        return report

    def record(self, drafts: Sequence[EventBase], number: int = 0) -> None:
        number = number or self.shared.number()
        super().record(drafts, number)
        self.store.release(f"vault-{number:04d}")

    def night(self, _note: Path | None = None) -> None:
        number, store = self.shared.number(), self.store
        date = f"{2026 + number // 336}-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}"  # no two alike
        query, pages = number % 5, tuple(self.dice.sample(SHELF, 3))
        story = Story(
            store, id=f"{date}-q{query}-{number:04x}", query=f"What of the question {query}?", query_id=f"q{query}",
            previous=self.shared.newest.get(query, ""), date=date, pages=pages, tags=(f"topic {number % 3}", "all"),
        )  # fmt: skip
        night(store, story.whole(), date=date)
        self.shared.newest[query] = story.id
        for name in [*store.ids("session"), *store.marks()]:
            store.release(name)

    def edit_template(self, _note: Path) -> None:
        path = self.root / "templates" / f"{self.dice.choice(KINDS)}.md.j2"
        lines = [line for line in path.read_text().split("\n") if not line.startswith("Edited ")]
        path.write_text("\n".join(lines).rstrip("\n") + f"\nEdited {self.dice.randrange(4)}.\n")

    def lose_vault(self, _note: Path) -> None:
        """Only what the log says comes back; so a person's words are elsewhere before."""
        self.build()
        if not any(_WORD.search(data) for data in self.files().values()):
            shutil.rmtree(self.vault)

    def clone(self, _note: Path) -> None:
        """A clone has neither caches nor times of files."""
        self.build()
        self.commit()
        other = self.root.with_name(f"{self.root.name}-clone")
        subprocess.run([*_GIT, "clone", "-q", str(self.root), str(other)], check=True, capture_output=True)
        shutil.rmtree(self.root)
        other.rename(self.root)

    # what a person does

    def notes(self) -> list[Path]:
        """The notes that the program knows, and that are there."""
        known = (self.vault / note.path for note in notes_in(self.root / "events" / "local") if note.path)
        return [path for path in known if path.is_file()]

    def move(self, note: Path, *, by_obsidian: bool = False) -> None:
        folder = self.dice.choice([note.parent.relative_to(self.vault).as_posix(), "Good", "Reading list/new", "."])
        name = f"{self.dice.choice(['Note', 'Über die Frage', 'x y', note.stem])} {self.dice.randrange(10_000)}.md"
        if not (self.vault / folder / name).exists():
            self.moved(note, f"{folder}/{name}", by_obsidian=by_obsidian)

    def delete(self, note: Path) -> None:
        """What a person throws away is not lost, unless it is elsewhere too."""
        gone = set(_WORD.findall(note.read_bytes()))
        note.unlink()
        kept = {word for data in self.files().values() for word in _WORD.findall(data)}
        self.shared.written -= {word.decode() for word in gone - kept}

    def write(self, note: Path) -> None:
        """A line with a new word; a property only where it is not there yet."""
        after, line = self.dice.choice(_LINES)
        name, is_property, _ = line.partition(": ")
        if after in (text := as_text(note.read_bytes())) and not (is_property and f"\n{name}:" in text):
            word = self.shared.word()
            note.write_bytes(as_bytes(text.replace(after, f"{after}{line.format(word)}\n", 1)))
            self.shared.written.add(word)

    def edit(self, note: Path) -> None:
        """A word in a generated line."""
        head, fence, body = as_text(note.read_bytes()).partition("\n---\n")
        lines, word = body.split("\n"), self.shared.word()
        places = [number for number, line in enumerate(lines) if re.fullmatch(r"#+ [^\n]*|> [A-Z][^\n]*\.", line)]
        if places:
            lines[self.dice.choice(places)] += f" {word}"
            note.write_bytes(as_bytes(head + fence + "\n".join(lines)))
            self.shared.written.add(word)

    def unpublish(self, note: Path) -> None:
        if "\npublish:" not in (text := as_text(note.read_bytes())):
            note.write_bytes(as_bytes(text.replace("---\n", "---\npublish: false\n", 1)))

    def rate(self, note: Path) -> None:
        """A tick, taken back where there is one; or the property of a report."""
        text, said = as_text(note.read_bytes()), self.dice.choice(["useful", "wrong"])
        empty, ticked = f"- [ ] {said}", f"- [x] {said}"
        if empty in text or ticked in text:
            note.write_bytes(as_bytes(text.replace(empty, ticked, 1) if empty in text else text.replace(ticked, empty, 1)))
        elif '\nkind: "report"\n' in text and "\nrating:" not in text:
            note.write_bytes(as_bytes(text.replace("---\n", f"---\nrating: {said}\n", 1)))

    def spoil(self, note: Path) -> None:
        """Properties that nothing can read: the note is left alone until they are mended."""
        note.write_bytes(note.read_bytes().replace(b"---\n", b"---\n" + _SPOILT, 1))

    def mend(self, _note: Path) -> None:
        for path, data in self.files().items():
            if _SPOILT in data:
                (self.vault / path).write_bytes(data.replace(_SPOILT, b""))

    def pipe(self, note: Path) -> None:
        """What blocks for ever whoever opens it."""
        os.mkfifo(note.with_name(f"{self.shared.word()}.md"))

    def unhide(self, _note: Path) -> None:
        if hidden := [note.id for note in notes_in(self.root / "events" / "local") if not note.path]:
            self.record([NoteShown(note=self.dice.choice(hidden))])

    # what must hold

    def check(self) -> None:
        """Look for everything that must be as it should after a build."""
        self.build()
        again = self.build().written
        assert again == (), f"written again: {again}"
        whole = self.build("check")
        assert whole.written == whole.removed == (), f"a build of everything differs: {whole.written} {whole.removed}"
        files = self.files()
        shown = {path: data for path, data in files.items() if not path.startswith("attic/")}
        marked = [path for path, data in shown.items() if b"<<<<<<< " in data and _SPOILT not in data]  # what is unreadable waits
        assert marked == [], "conflict marks"
        notes = {note.path: note.id for note in notes_in(self.root / "events" / "local") if note.path}
        ids = Counter(found[1] for data in shown.values() if (found := re.search(rb'(?m)^id: "?([^"\n]+)', data)))
        doubled_ids = [name for name, number in ids.items() if number > 1]
        assert doubled_ids == [], f"doubled: {doubled_ids}"
        strange = {name.decode() for name in ids} ^ set(notes.values())
        assert strange == set(), f"in a note or known, not both: {strange}"
        lost = {word for word in self.shared.written if not any(word.encode() in data for data in files.values())}
        assert lost == set(), f"lost: {lost}"
        for path, data in files.items():
            doubled = [word for word, number in Counter(_WORD.findall(data)).items() if number > 1]
            assert doubled == [], f"doubled in {path}: {doubled}"
        texts = {path: data.decode("utf-8", "replace") for path, data in shown.items()}
        spoilt = {path.removesuffix(".md") for path, data in files.items() if _SPOILT in data}  # they are as they were
        # A deleted note that a merge brought back stays until the report that takes over its words can be read.
        waiting = read_decisions(self.store).hidden if spoilt else set()
        dead = [
            (path, target)
            for path, target in leading_nowhere(texts)
            if path in notes
            and notes[path] not in waiting
            and spoilt.isdisjoint({path.removesuffix(".md"), target.partition("#")[0]})
        ]
        assert dead == [], f"leading nowhere: {dead}"


ACTS: tuple[tuple[Callable[[Walker, Path], object], int], ...] = (
    (Walker.move, 5), (lambda walker, note: walker.move(note, by_obsidian=True), 6), (Walker.delete, 3), (Walker.unhide, 2),
    (Walker.edit, 5), (Walker.write, 17), (Walker.unpublish, 1), (lambda walker, _note: walker.build(), 5), (Walker.rate, 4),
    (Walker.spoil, 1), (Walker.mend, 2), (Walker.pipe, 1), (Walker.night, 2), (Walker.edit_template, 3), (Walker.lose_vault, 1),
    (Walker.clone, 2),
)  # fmt: skip


class Walk:
    """Two workspaces of one person, laptop and server, that part and meet again by ``git merge``."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.shared = Shared(random.Random(seed))
        self.one, self.two = Walker(folder / "one", self.shared), Walker(folder / "two", self.shared)
        shutil.copytree(TEMPLATES, self.one.root / "templates")
        (self.one.root / ".gitignore").write_text("events/local/\n")
        self.one.git("init", "-q", "-b", "main")
        self.one.night()
        self.one.commit()
        subprocess.run([*_GIT, "clone", "-q", str(self.one.root), str(self.two.root)], check=True, capture_output=True)
        self.one.build()
        self.one.commit()
        self.two.build()

    def go(self, acts: int, *, meet_every: int) -> None:
        """Do so many acts in either workspace; they meet in between, and at the end."""
        weights = [weight for _act, weight in ACTS]
        for number in range(1, acts + 1):
            ((act, _weight),) = self.shared.dice.choices(ACTS, weights)
            walker = self.shared.dice.choice((self.one, self.two))
            if notes := walker.notes():
                act(walker, self.shared.dice.choice(notes))
            if number % meet_every == 0 or number == acts:
                self.meet()

    def meet(self) -> None:
        """Each builds and commits; one takes in the other's work, conflicts and all, and hands the result back."""
        for walker in (self.one, self.two):
            if self.shared.dice.random() < 0.7:
                walker.build()
            walker.commit()
        self.one.git("fetch", "-q", str(self.two.root), "main")
        self.one.git("merge", "-q", "--no-edit", "FETCH_HEAD", check=False)
        self._resolve()
        self.one.commit()
        self.shared.meeting = True
        self.one.build()
        self.shared.meeting = False
        self.one.check()
        self.one.commit()
        self.two.git("fetch", "-q", str(self.one.root), "main")
        self.two.git("reset", "-q", "--hard", "FETCH_HEAD")
        self.two.check()
        self.two.commit()

    def _resolve(self) -> None:
        """What git cannot put into one file: templates are one side's, of a removed note the changed version stays."""
        for line in self.one.git("status", "--porcelain", "-z").split("\0"):
            path, state = line[3:], line[:2]
            if state in {"UU", "AA"} and path.startswith("templates/"):
                self.one.git("checkout", "--ours", "--", path)
            if state == "DD":
                self.one.git("rm", "-q", "--cached", "--ignore-unmatch", "--", path)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", [3, 4])
def test_whatever_a_person_does_no_word_is_lost_no_note_doubled_and_every_link_leads_somewhere(tmp_path: Path, seed: int) -> None:
    Walk(tmp_path, seed).go(50, meet_every=25)
