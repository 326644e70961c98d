from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.workspace_settings import load_workspace
from tests.commanding import Said, said, workspace_in

DEPTH = "How deep is the harbour at low tide?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = workspace_in(tmp_path, f"  - {{query: '{DEPTH}', id: depth, tags: [harbours]}}\n")
    assert said(folder, "-q", "run").code == 0
    return folder


def turns(answer: Said) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer.out)["turns"]
    return found


def talks(folder: Path) -> list[Path]:
    return sorted((folder / "events" / "talks").glob("talk-*.jsonl"))


@pytest.mark.parametrize("scope", [["depth"], ["--topic", "harbours"], ["--all"], []])
def test_a_question_is_answered_from_the_pages_of_each_scope(folder: Path, scope: list[str]) -> None:
    answer = said(folder, "ask", *scope, "How many metres deep is the harbour?")
    assert answer.code == 0
    assert "metres deep at low tide" in answer.out
    assert "corpus:harbour-" in answer.out
    assert "vault/sources/" in answer.out


def test_what_the_pages_do_not_say_is_refused_with_the_command_that_researches_it(folder: Path) -> None:
    answer = said(folder, "ask", "Is semaglutide safe in pregnancy?")
    assert answer.code == 5
    assert (
        'Nothing that is stored is near enough. research add "Is semaglutide safe in pregnancy?" has it researched.' in answer.out
    )


@pytest.mark.parametrize("question", ["", "   ", "?", "Why? " * 201])
def test_what_is_no_question_for_the_queue_is_none_here_either(folder: Path, question: str) -> None:
    for words in (["ask", question], ["ask", "depth", question], ["add", question]):
        assert (said(folder, *words).code, talks(folder)) == (2, []), words
    answer = said(folder, "ask", "depth", lines=f"{question}\nHow many metres deep is the harbour?\n")
    assert ("not asked" in answer.err, "metres deep" in answer.out) == (bool(question.strip()), True)
    assert answer.code == (2 if question.strip() else 0)


def test_lines_from_stdin_are_one_talk_and_each_is_answered(folder: Path) -> None:
    answer = said(folder, "ask", "depth", lines="How many metres deep is the harbour?\n\nWhere do ships wait at night?\n")
    assert answer.code == 0
    assert "metres deep" in answer.out
    assert "Ships wait outside" in answer.out
    assert len(talks(folder)) == 1


def test_a_talk_is_continued_in_the_same_stream(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    before = talks(folder)
    answer = said(folder, "ask", "--continue", "Where do ships wait for it at night?")
    assert answer.code == 0
    assert talks(folder)[0] == before[0]
    streams = {path.name.partition("~")[0].removesuffix(".jsonl") for path in talks(folder)}
    assert len(streams) == 1


def test_the_json_of_an_answer_has_facts_with_quote_address_and_note(folder: Path) -> None:
    answer = said(folder, "--json", "ask", "depth", "How many metres deep is the harbour?")
    (turn,) = turns(answer)
    facts = turn["facts"]
    assert facts[0]["quote"]
    assert facts[0]["address"].startswith("corpus:")
    assert facts[0]["note"].startswith("vault/sources/")
    assert turn["found"] is True


def test_an_answer_from_a_document_that_was_deleted_says_so(folder: Path) -> None:
    before = said(folder, "ask", "How many metres deep is the harbour?")
    assert "no longer in the folder" not in before.out
    for document in (folder / "corpus").glob("harbour-*"):
        document.unlink()
    (folder / "corpus" / "other.md").write_text("# Ships\n\nA ship is painted in spring.\n")
    after = said(folder, "ask", "How deep is the harbour in metres?")
    assert "this document is no longer in the folder; it was last read on 20" in after.out
    (turn,) = turns(said(folder, "--json", "ask", "What depth in metres has the harbour?"))
    assert all(one["gone"] and one["read_at"].startswith("20") for one in turn["facts"])


def test_deeper_queues_the_question_with_the_tags_of_its_session_and_once(folder: Path) -> None:
    for said_of_it in ("queued as where-do-ships", "not queued: the question is already in line"):
        answer = said(folder, "ask", "--deeper", "depth", "Where do ships wait at night?")
        assert said_of_it in answer.out + answer.err
    (query,) = (one for one in load_workspace(folder).queue.queries if one.text == "Where do ships wait at night?")
    assert (query.mode, query.tags) == ("fast", ("harbours",))
    goes_on = said(folder, "ask", "--deeper", "--json", "--continue", "Who paints the ships?")
    assert json.loads(goes_on.out)["queued"] == load_workspace(folder).queue.queries[-1].id
    assert load_workspace(folder).queue.queries[-1].tags == ("harbours",)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["depth", "--all", "How deep?"], "exclude each other"),
        (["how", "deep", "is it"], "put it in quotes"),
        (["--topic", "mountains", "How high?"], "no session has the tag 'mountains'"),
        (["--continue", "How deep?"], "there is no talk to continue"),
        (["nosuch", "How deep?"], "there is no session 'nosuch'"),
    ],
)
def test_what_cannot_be_asked_gets_one_clear_message(folder: Path, args: list[str], message: str) -> None:
    answer = said(folder, "ask", *args)
    assert answer.code in (1, 2)
    assert message in answer.err
    assert talks(folder) == []


def test_the_folder_is_asked_too_before_any_session_and_what_is_quoted_is_stored(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, "  []\n")
    answer = said(folder, "ask", "--all", "How many metres deep is the harbour?")
    assert answer.code == 0
    assert "No model has read them." in answer.out
    assert "metres deep at low tide" in answer.out
    assert "no problem" in said(folder, "verify").out
    (turn,) = turns(said(folder, "--json", "ask", "--all", "How many metres deep is the harbour?"))
    assert turn["outcome"] == "passages"


def test_a_definition_comes_first_where_a_passage_opens_with_what_is_asked_for(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, "  []\n")
    other = "## Berths\n\nA berth at a quay is rented by the day; which berth a ship gets at the quay, the berth master says.\n\n"
    text = f"# Terms\n\n{other}## More\n\nA quay berth is a place at a wall where a ship is made fast.\n"
    (folder / "corpus" / "terms.md").write_text(text)
    assert "1] Terms › More" in said(folder, "ask", "What is a quay berth?").out


def test_a_document_is_shown_by_the_name_of_its_file_whatever_signs_it_has(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, "  - {query: 'When was the sluice of Grün rebuilt?', id: sluice}\n")
    document = folder / "corpus" / "Grün a%20b #2.md"
    document.write_text("# Sluice\n\nThe sluice of Grün was rebuilt in 1932.\n")
    assert said(folder, "-q", "run").code == 0
    place = f"corpus:{document.name}"
    for words in (["ask", "When was the sluice of Grün rebuilt?"], ["why", "sluice", "rebuilt in 1932"], ["log", "sluice"]):
        assert place in said(folder, *words).out
    assert f'"{document.name}"' in said(folder, "export", "sluice", "--format", "csl-json").out
