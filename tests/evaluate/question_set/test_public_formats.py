"""Small pieces in the shapes of public data sets, converted and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UsageError
from pipeline.evaluate.question_set.public_formats import FORMATS, convert
from pipeline.evaluate.question_set.question_set import Dataset, load
from tests.evaluate.folders import lines


def converted(kind: str, source: Path, folder: Path) -> Dataset:
    convert(kind, source, folder)
    return load(folder)


def as_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_beir_becomes_topics_with_judged_documents(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    lines(
        tmp_path / "corpus.jsonl",
        [
            {"_id": "MED-10", "title": "Statins", "text": "They lower cholesterol."},
            {"_id": "a/b ü", "title": "", "text": "Nothing of note."},
        ],
    )
    lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "What do statins do?"}, {"_id": "unjudged", "text": "?"}])
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tMED-10\t2\nq1\ta/b ü\t0\n")
    data = converted("beir", tmp_path, tmp_path / "out")
    assert [(entry.id, entry.kind, entry.docs, entry.half) for entry in data.entries] == [("q1", "plain", ("MED-10.txt",), "dev")]
    assert (data.corpus / "MED-10.txt").read_text() == "Statins\n=======\n\nThey lower cholesterol.\n"
    assert len(list(data.corpus.iterdir())) == 2


def test_the_test_split_of_beir_is_held_out_where_there_is_another(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    lines(tmp_path / "corpus.jsonl", [{"_id": "d", "title": "D", "text": "Text."}])
    lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "One?"}, {"_id": "q2", "text": "Two?"}])
    for split, topic in (("dev", "q1"), ("test", "q2")):
        (tmp_path / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{topic}\td\t1\n")
    assert {entry.id: entry.half for entry in converted("beir", tmp_path, tmp_path / "out").entries} == {
        "q1": "dev",
        "q2": "held-out",
    }


def test_hotpotqa_becomes_narrow_questions_over_its_paragraphs(tmp_path: Path) -> None:
    row = {
        "_id": "5a8b",
        "question": "Who wrote the play?",
        "answer": "Anna Bell",
        "supporting_facts": [["The Play", 1], ["Anna Bell", 0], ["Not there", 0]],
        "context": [
            ["The Play", ["It is a play.", " Anna Bell wrote it."]],
            ["Anna Bell", ["She was a writer."]],
            ["Other", ["No."]],
        ],
    }
    yes = row | {"_id": "5a8c", "answer": "yes"}
    data = converted("hotpotqa", as_json(tmp_path / "hotpot.json", [row, yes]), tmp_path / "out")
    narrow, plain = data.entries
    assert (narrow.answers[0].aliases, narrow.answers[0].support) == (("Anna Bell",), "Anna Bell wrote it.")
    assert len(narrow.docs) == 2
    assert (plain.kind, plain.answers, len(plain.docs)) == ("plain", (), 2)
    assert len(list(data.corpus.iterdir())) == 3


def test_multihop_rag_knows_what_nothing_answers(tmp_path: Path) -> None:
    as_json(tmp_path / "corpus.json", [{"title": "News", "url": "https://example.org/a", "body": "Acme bought Bolt."}])
    asked = [
        {"query": "Who bought Bolt?", "answer": "Acme", "evidence_list": [{"title": "News", "url": "https://example.org/a"}]},
        {"query": "Who sold it?", "answer": "Insufficient information.", "evidence_list": []},
    ]
    as_json(tmp_path / "MultiHopRAG.json", asked)
    data = converted("multihop-rag", tmp_path, tmp_path / "out")
    assert [entry.kind for entry in data.entries] == ["narrow", "near-topic"]
    assert (data.corpus / data.entries[0].docs[0]).is_file()
    assert data.entries[0].answers[0].doc == data.entries[0].docs[0]


def test_browsecomp_plus_brings_its_documents_with_each_question(tmp_path: Path) -> None:
    row = {
        "query_id": "769",
        "query": "Which town?",
        "answer": "Lund",
        "gold_docs": [{"docid": "1", "text": "It is Lund."}],
        "evidence_docs": [{"docid": "1", "text": "It is Lund."}, {"docid": "2", "text": "It has a dome."}],
        "negative_docs": [{"docid": "3", "text": "Elsewhere."}],
    }
    lines(tmp_path / "rows.jsonl", [row])
    data = converted("browsecomp-plus", tmp_path / "rows.jsonl", tmp_path / "out")
    assert data.entries[0].docs == ("1.txt", "2.txt")
    assert len(list(data.corpus.iterdir())) == 3


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_another_shape_is_one_clear_error(tmp_path: Path, kind: str) -> None:
    (tmp_path / "rows.jsonl").write_text('{"other": 1}\n')
    with pytest.raises(UsageError, match=r"cannot be read|not shaped like"):
        convert(kind, tmp_path / "rows.jsonl", tmp_path / "out")


def test_a_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        convert("beir", tmp_path, tmp_path)
