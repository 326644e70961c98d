"""Data files as values, and everything that is wrong with them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.evaluate.question_set.question_set import load
from tests.evaluate.folders import TOPICS, folder_in, lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_in(tmp_path / "set")


def refusal(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder)
    return caught.value.message


def test_each_question_knows_its_answers_and_documents(folder: Path) -> None:
    entries = {entry.id: entry for entry in load(folder).entries}
    assert {name: entry.kind for name, entry in entries.items()} == {
        "depth": "narrow",
        "ships": "broad",
        "secret": "narrow",
        "soup": "off-topic",
    }
    assert entries["depth"].docs == ("harbour.md",)
    assert len(entries["ships"].nuggets) == 2


def test_held_out_questions_are_left_out_unless_final(folder: Path) -> None:
    assert "secret" not in {entry.id for entry in load(folder).chosen((), final=False).entries}
    assert "secret" in {entry.id for entry in load(folder).chosen((), final=True).entries}
    with pytest.raises(UsageError, match="no question with the id secret"):
        load(folder).chosen(("secret",), final=False)


def test_the_half_may_be_the_sub_folder(folder: Path) -> None:
    (folder / "held-out").mkdir()
    lines(folder / "held-out" / "topics.jsonl", [{"id": "late", "query": "When?"}])
    assert {entry.half for entry in load(folder).entries if entry.id == "late"} == {"held-out"}


def test_documents_may_lie_elsewhere_or_be_missing(folder: Path, tmp_path: Path) -> None:
    (folder / "corpus").rename(tmp_path / "elsewhere")
    assert load(folder, tmp_path / "elsewhere").corpus == tmp_path / "elsewhere"
    assert "there is no folder" in refusal(folder)


def test_qrels_name_further_documents(folder: Path) -> None:
    (folder / "qrels.txt").write_text("depth 0 light.md 1\ndepth 0 harbour.md 0\n")
    assert load(folder).entries[0].docs == ("harbour.md", "light.md")


def test_all_errors_are_reported_in_one_pass_with_file_and_line(folder: Path) -> None:
    lines(
        folder / "topics.jsonl",
        [*TOPICS, {"id": "x"}, {"id": "y", "query": "?", "haf": "held-out"}, {"id": "depth", "query": "?"}],
    )
    with (folder / "answers.jsonl").open("a") as file:
        file.write('{"id": \n[1]\n{"id": "depth", "aliases": ["re:("], "doc": "harbour.md"}\n{"id": "nobody", "aliases": []}\n')
    (folder / "qrels.txt").write_text("depth harbour.md\ndepth 0 gone.md 1\n")
    said = refusal(folder)
    for place in (
        "topics.jsonl:4: query: Field required",
        "topics.jsonl:5: haf:",
        "topics.jsonl:6: the id depth is used before",
        "answers.jsonl:3: no JSON",
        "answers.jsonl:4: not an object",
        "answers.jsonl:5: aliases.0:",
        "answers.jsonl:6: aliases:",
        "qrels.txt:1: not four columns",
        "qrels.txt:2: there is no document gone.md",
    ):
        assert place in said


def test_an_error_never_shows_the_text_of_a_row(folder: Path) -> None:
    lines(folder / "topics.jsonl", [{"id": 7, "query": "a secret question", "half": "hidden"}])
    assert "secret question" not in refusal(folder)


def test_a_document_outside_the_folder_is_none_of_it(folder: Path) -> None:
    (folder / "outside.md").write_text("# Outside\n\nIt is 12 metres deep.\n")
    lines(folder / "answers.jsonl", [{"id": "depth", "aliases": ["12"], "doc": "../outside.md"}])
    assert "there is no document ../outside.md" in refusal(folder)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00binary", b"[" * 200_000 + b"\n", b"{" * 2_000_000, b"\0" * 1_000],
    ids=["latin", "deep", "long", "nul"],
)
def test_a_hostile_file_is_an_error_with_its_line(folder: Path, content: bytes) -> None:
    (folder / "topics.jsonl").write_bytes(content)
    assert "topics.jsonl:1: " in refusal(folder)


def test_hostile_yaml_is_an_error_with_its_line(folder: Path) -> None:
    for content in (
        "subjects: [a, b",
        "subjects:\n  - 7\n",
        "nothing: here\n",
        "- " * 20_000,
        "subjects: !!python/object:os.system {}",
    ):
        (folder / "pairs.yaml").write_text(content)
        assert "pairs.yaml:" in refusal(folder)


def test_a_side_of_a_pair_must_be_of_a_document(folder: Path) -> None:
    side = "{document: harbour, sentence: x}"
    (folder / "pairs.yaml").write_text(
        f"subjects:\n  - {{id: p, query: q, planted: [{{a: {side}, b: {{document: gone, sentence: x}}}}]}}\n"
    )
    assert "pairs.yaml:2: there is no document gone" in refusal(folder)


def test_many_errors_are_counted_and_bounded(folder: Path) -> None:
    lines(folder / "topics.jsonl", [{"id": "x"}] * 500)
    said = refusal(folder)
    assert "and " in said.splitlines()[-1]
    assert len(said.splitlines()) < 120
