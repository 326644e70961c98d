from __future__ import annotations

from pathlib import Path

from pipeline.vault.said import AskedLine, asked_lines

HEAD = '---\ntitle: "A report"\nid: "report:s1"\n---\n\n# A report\n\n'


def note(folder: Path, own: str, *, head: str = HEAD, body: str = "", name: str = "reports/a.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}{body}\n%% begin notes %%\n{own}%% end notes %%\n")
    return folder


def texts(folder: Path) -> list[str]:
    return [line.text for line in asked_lines(folder)]


def test_lines_of_a_persons_block_that_begin_with_ask_are_questions(tmp_path: Path) -> None:
    own = "my words\nask: How deep is it?\n- ask: Since when?\n- [ ] Ask: Who built it?\nI ask: myself\n"
    assert asked_lines(note(tmp_path, own)) == [
        AskedLine("report:s1", "How deep is it?"),
        AskedLine("report:s1", "Since when?"),
        AskedLine("report:s1", "Who built it?"),
    ]


def test_a_line_outside_of_the_persons_block_asks_nothing(tmp_path: Path) -> None:
    assert texts(note(tmp_path, "", body="ask: What does a page want?\n")) == []


def test_a_note_without_our_id_and_the_persons_own_folder_ask_nothing(tmp_path: Path) -> None:
    note(tmp_path, "ask: Why?\n", head="# Mine\n\n")
    note(tmp_path, "ask: Why?\n", name="my/b.md")
    assert texts(note(tmp_path, "ask: Why?\n", name="attic/c.md")) == []


def test_a_note_with_broken_markers_or_bytes_is_left_to_the_build(tmp_path: Path) -> None:
    (note(tmp_path, "ask: Why?\n") / "reports" / "a.md").write_text(HEAD + "%% begin notes %%\nask: Why?\n")
    (tmp_path / "reports" / "b.md").write_bytes(b"\xff\xfe ask: Why?")
    assert texts(tmp_path) == []
