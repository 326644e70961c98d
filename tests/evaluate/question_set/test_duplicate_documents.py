"""Documents that are byte for byte the same."""

from __future__ import annotations

from pathlib import Path

from pipeline.evaluate.question_set.duplicate_documents import first_copies, without_copies


def test_copies_are_known_by_the_first_of_them(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name, text in (("b.md", "same"), ("deep/a.md", "same"), ("c.md", "else"), ("d.md", "another")):
        (tmp_path / name).write_text(text)
    copies = first_copies(tmp_path)
    assert copies == {"b.md": "b.md", "deep/a.md": "b.md"}
    assert without_copies(["deep/a.md", "c.md"], copies) == {"b.md", "c.md"}
