"""What the site remembers of the notes: what it costs to remember one more."""

from __future__ import annotations

from pathlib import Path

from pipeline.site.catalogue import Catalogue
from pipeline.site.notes import Face, Record


def _effort(folder: Path, known: int) -> int:
    """How often the database looks up after every 100 of its steps while one note is put beside so many others."""
    steps: list[None] = []
    folder.mkdir()
    catalogue = Catalogue(folder / "site.sqlite", writes=True)
    catalogue.enter(f"notes/{number}.md" for number in range(known))
    catalogue._db.set_progress_handler(lambda: steps.append(None), 100)
    record = Record(Face("notes/7.md", "note", "Seven"), "digest", links={"notes/8.md": False, "notes/none.md": False})
    catalogue.put([(record, 1, 1, "")], fresh=True)
    assert [face.path for face in catalogue.linkers("notes/8.md")] == ["notes/7.md"]
    catalogue.close()
    return len(steps)


def test_one_more_note_costs_no_more_beside_many_others(tmp_path: Path) -> None:
    assert _effort(tmp_path / "few", 100) + 5 >= _effort(tmp_path / "many", 20_000)
