"""Questions in the vault: which lines ask one, and what the way back writes into them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.queue_schema import Query
from pipeline.config.vault_queue import QUEUE_NOTE, linked, questions_in, tasks_in
from pipeline.config.workspace_settings import load_workspace


def vault_of(folder: Path, queue: str) -> Path:
    (folder / "my").mkdir(parents=True)
    (folder / QUEUE_NOTE).write_bytes(queue.encode())
    return folder


def asked(folder: Path, queue: str) -> list[Query]:
    found, faults = questions_in(vault_of(folder, queue))
    assert not faults
    return list(found)


def test_an_open_task_is_a_question_with_tags_and_fields(tmp_path: Path) -> None:
    (found,) = asked(tmp_path, "# Queue\n\n  * [ ] Is C# older than #Java? mode:fast #lang/c every:7d priority:3 ^c-1\n")
    assert (found.text, found.id, found.line) == ("Is C# older than #Java?", "my-c-1", 3)
    assert (found.tags, found.mode, found.every, found.priority) == (("lang/c",), "fast", timedelta(days=7), 3)
    assert found.file == f"vault/{QUEUE_NOTE}"
    (found,) = asked(tmp_path / "lists", "- [ ] Why [so]? search:[local, brave] sources:{deny: [a.example, b/]} #a\n")
    assert (found.text, found.search, found.sources.deny) == ("Why [so]?", ("local", "brave"), ("a.example", "b/"))


@pytest.mark.parametrize(
    "line",
    ["- [x] buy milk", "- [ ] ", "- [-] not any more", "just words", "\ufeff```\n- [ ] code\n```", "> - [ ] q", "- [ ]no blank"],
)
def test_other_lines_ask_nothing(tmp_path: Path, line: str) -> None:
    assert asked(tmp_path, line) == []


def test_a_task_that_this_program_checked_is_still_in_the_queue(tmp_path: Path) -> None:
    (found,) = asked(tmp_path, "- [x] When does fsync fail? every:7d → [[reports/2026/when-3f2a|Report, 2026-11-21]]\n")
    assert (found.text, found.every) == ("When does fsync fail?", timedelta(days=7))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- [ ] What? mode:quick", 'Queue.md:1:1: "quick" is not known here'),
        ("- [ ] What? search:[locl]", "did you mean local?"),
        ("- [ ] What? search:[local", "Queue.md:1:"),
        ("- [ ] What? sources:[a.example]", "a list where a mapping belongs → write {allow: …}"),
        ("- [ ] What? mod:fast", '"mod:fast" is no field of a question'),
        ("- [ ] What? #2024", '"2024" is no tag'),
        ("- [ ] ???", "has no letter and no digit"),
        (f"- [ ] {'long ' * 300}", "characters"),
    ],
)
def test_a_bad_line_is_told_and_the_others_are_asked(tmp_path: Path, line: str, said: str) -> None:
    found, faults = questions_in(vault_of(tmp_path, f"{line}\n- [ ] What is a torn write?\n"))
    assert [query.text for query in found] == ["What is a torn write?"]
    assert len(faults) == 1
    assert said in str(faults[0])


def test_what_queries_yaml_asks_already_is_asked_once(tmp_path: Path) -> None:
    vault_of(tmp_path / "vault", "- [ ] what is a  torn write?\n- [ ] What is fsync?\n- [ ] What is fsync?\n")
    (tmp_path / "queries.yaml").write_text("queries:\n  - What is a torn write?\n")
    assert [query.text for query in load_workspace(tmp_path).queue.queries] == ["What is a torn write?", "What is fsync?"]


def found(path: str = "reports/2026/a-3f2a") -> object:
    return lambda _text, _id: (path, "Report, 2026-11-21")


def test_the_link_stands_before_the_block_id_and_every_other_byte_stays() -> None:
    text = "\ufeff# Q\r\n- [ ] What is fsync? #a mode:fast  ^b1  \r\n- [x] buy milk\r\n\t1. [ ] Why?"
    fresh = linked(text, found())  # type: ignore[arg-type]
    link = " → [[reports/2026/a-3f2a|Report, 2026-11-21]]"
    assert fresh == (f"\ufeff# Q\r\n- [x] What is fsync? #a mode:fast{link}  ^b1  \r\n- [x] buy milk\r\n\t1. [x] Why?{link}")


def test_a_fault_stands_behind_its_line_until_it_is_corrected() -> None:
    once = linked("- [ ] Why? mode:quick ^b\n- [ ] What?", lambda _text, _id: None)
    assert once == '- [ ] Why? mode:quick → *not researched: "quick" is not known here: write fast or deep* ^b\n- [ ] What?'
    corrected = linked(once.replace("quick ", "fast "), found())  # type: ignore[arg-type]
    assert corrected.startswith("- [x] Why? mode:fast → [[reports/2026/a-3f2a|Report, 2026-11-21]] ^b\n")


def test_a_newer_report_takes_the_place_of_the_older_but_not_of_a_persons_link() -> None:
    ours = linked("\ufeff- [ ] Why? ^b", found())  # type: ignore[arg-type]
    newer = linked(ours, found("reports/2026/a-9c01"))  # type: ignore[arg-type]
    assert newer == ours.replace("3f2a", "9c01") != ours
    own = "- [x] Why? → [[my/elsewhere|mine]] ^b"
    assert linked(own, found()) == own  # type: ignore[arg-type]


_PIECES = ("- [ ] ", "- [x] ", "* [ ]", "  1) [ ] ", "What is it?", " #tag", " mode:fast", " mod:x", " ^id", " → [[reports/x|R]]",
           "\n", "\r\n", "```", "~~~\n", "\t", "日本語", "[[a]]", " → ", "# Why?\n")  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=12).map("".join))
def test_only_boxes_and_our_own_links_change_and_the_second_pass_changes_nothing(text: str) -> None:
    def find(_text: str, _id: str) -> tuple[str, str]:
        return "reports/2026/new", "Report, 2026-11-21"

    once = linked(text, find)
    assert linked(once, find) == once
    ours = r"[ \t]*→ (\[\[reports/[^\]\n]*\]\]|\*not researched: [^*\n]*\*)"
    plain = [re.sub(ours, "", one).replace("[x]", "[ ]") for one in (text, once)]
    assert plain[0] == plain[1]
    before, after = ([task.words for _, _, task in tasks_in(one) if task] for one in (text, once))
    assert before == after
