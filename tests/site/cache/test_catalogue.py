"""What the site remembers of the notes: what it costs to remember one more."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.site.cache import schema
from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face, Record
from tests.site.scratch import Scratch, note


def _effort(folder: Path, known: int) -> int:
    """How often the database looks up after every 100 of its steps while one note is put beside so many others."""
    steps: list[None] = []
    folder.mkdir()
    known_of = Catalogue(folder / "site.sqlite", writes=True)
    known_of.enter(f"notes/{number}.md" for number in range(known))
    known_of._db.set_progress_handler(lambda: steps.append(None), 100)
    record = Record(Face("notes/7.md", "note", "Seven"), "digest", links={"notes/8.md": False, "notes/none.md": False})
    known_of.put([(record, 1, 1, "")], fresh=True)
    assert [face.path for face in known_of.linkers("notes/8.md")] == ["notes/7.md"]
    known_of.close()
    return len(steps)


def test_one_more_note_costs_no_more_beside_many_others(tmp_path: Path) -> None:
    assert _effort(tmp_path / "few", 100) + 5 >= _effort(tmp_path / "many", 20_000)


# What may be gone through from one end to the other: it does not grow with the notes, or only with each hundredth of them.
FEW = (
    "pages_in_doubt",
    "pages_of_none",
    "json_each",
    "vault_folders",
    "site_folders",
    "watched",
    "tables",
    "counts",
    "COVERING INDEX notes_by_name",
)


def _followed(folder: Path, asked: set[str]) -> Scratch:
    """A site that follows a few changes, and what is asked of the database meanwhile."""
    scratch = Scratch(folder)
    for number in range(60):
        links = f"[[n{(number + 1) % 60}]] ![[n{(number + 2) % 60}#^q]] #topic/{number % 7}\n\nQuoted\n\n^q"
        scratch.write(f"s/n{number}.md", note(f"N {number}", links, "session", created=f"2026-01-{1 + number % 25:02d}"))
    scratch.write("Home.md", note("Home", "![[all.base]]"))
    scratch.write(
        "all.base",
        "filters: {and: ['file.hasTag(\"topic/3\")']}\nviews: [{type: table, name: All, order: [file.name], limit: 5}]",
    )
    scratch.build()
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("prepared", "connected"):
            monkeypatch.setattr(schema, name, _traced(getattr(schema, name), asked))
        monkeypatch.setattr("pipeline.site.markdown.table_order_update.LONG", 3)
        scratch.write("s/n1.md", note("N 1", "[[n2]] and other words #topic/1", "session", created="2026-01-02"))
        scratch.write("s/new.md", note("Another title", "[[n3]] #topic/3", "session", created="2030-01-01"))
        scratch.write(
            "all.base",
            "filters: {and: ['file.hasTag(\"topic/4\")']}\nviews: [{type: table, name: All, order: [file.name], limit: 6}]",
        )
        scratch.remove("s/n5.md")
        (scratch.folder / "site" / "s" / "n9.html").unlink()
        assert {"s/new.html", "s/n9.html", "index.html"} <= set(scratch.build().written)
    return scratch


def _traced(connect: Callable[[Path], sqlite3.Connection], asked: set[str]) -> Callable[[Path], sqlite3.Connection]:
    def connected(file: Path) -> sqlite3.Connection:
        base = connect(file)
        base.set_trace_callback(asked.add)
        return base

    return connected


def test_no_question_of_a_build_that_follows_changes_goes_through_all_notes(tmp_path: Path) -> None:
    asked: set[str] = set()
    scratch = _followed(tmp_path, asked)
    with closing(sqlite3.connect(scratch.folder / "state" / "site.sqlite")) as base:
        questions = [sql for sql in sorted(asked) if sql.startswith(("SELECT", "DELETE", "UPDATE", "INSERT"))]
        steps = [(row[3], sql) for sql in questions for row in base.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert len(steps) > 100
    assert [step for step in steps if step[0].startswith("SCAN") and not any(few in step[0] for few in FEW)] == []
