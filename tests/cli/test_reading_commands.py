"""``list``, ``show``, ``log``, ``why`` and ``add`` as their user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.wiring.run_context_and_note_ratings import record_decisions
from tests.commanding import said, workspace_in

HARBOUR = "  - {query: How deep is the harbour at low tide?, id: harbour}\n"
SHIPS = "  - {query: Where do ships wait at night?, id: ships}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two sessions."""
    folder = workspace_in(tmp_path_factory.mktemp("reading") / "ws", HARBOUR + SHIPS)
    for name in ("harbour", "ships"):
        assert said(folder, "-q", "run", name).code == 0
    return folder


def test_list_show_and_log_speak_to_people_and_to_programs(folder: Path) -> None:
    listed = json.loads(said(folder, "--json", "list").out)
    assert {query["action"] for query in listed["queries"]} == {"done"}
    name = listed["queries"][0]["id"]
    shown = json.loads(said(folder, "--json", "show", name).out)
    assert shown["status"] == "complete"
    assert shown["doing"] == []
    early = json.loads(said(folder, "--json", "show", name, "--at", "6").out)
    assert (early["version"], early["status"]) == (6, "searching")
    assert early["doing"]
    log = json.loads(said(folder, "--json", "log", name).out)
    assert [event["version"] for event in log] == list(range(1, shown["version"] + 1))
    assert "status     passages" in said(folder, "show", name).out
    assert len(said(folder, "log", name).out.splitlines()) == shown["version"]


def test_add_appends_a_question_and_refuses_it_twice(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path / "ws", HARBOUR)
    before = (workspace / "queries.yaml").read_text()
    assert said(workspace, "add", "Is the pier: safe?", "--tag", "piers", "--mode", "fast").code == 0
    assert (workspace / "queries.yaml").read_text().startswith(before)
    assert said(workspace, "add", "Is the pier: safe?").code == 2


def log(folder: Path, *args: str) -> str:
    done = said(folder, *args)
    assert (done.code, done.err) == (0, "")
    return done.out


def test_without_a_name_the_latest_session_is_meant(folder: Path) -> None:
    assert log(folder, "log") == log(folder, "log", "ships") != ""


def test_a_session_that_has_ended_is_printed_whole_and_followed_no_longer(folder: Path) -> None:
    assert log(folder, "log", "--follow", "harbour") == log(folder, "log", "harbour")
    lines = log(folder, "--json", "log", "-f", "harbour").splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, len(lines) + 1))


def test_only_events_of_the_wanted_types_are_printed(folder: Path) -> None:
    kinds = {event["type"] for event in json.loads(log(folder, "--json", "log", "--type", "worker", "--type", "page.read"))}
    assert {"page.read", "worker.thought"} <= kinds
    assert {kind.partition(".")[0] for kind in kinds} == {"worker", "page"}
    followed = log(folder, "log", "-f", "ships", "--type", "page.read").splitlines()
    assert followed
    assert all("page.read" in line for line in followed)


def test_a_type_that_no_event_has_is_named_or_refused_with_the_one_that_was_meant(folder: Path) -> None:
    done = said(folder, "log", "--type", "research.imported")
    assert (done.code, done.out.strip()) == (0, "")
    assert "has no event of the type research.imported" in done.err
    refused = said(folder, "log", "--type", "page.reed")
    assert (refused.code, "did you mean page.read?" in refused.err) == (2, True)


def test_why_prints_the_way_from_a_sentence_to_its_search_and_perspective(folder: Path) -> None:
    answer = said(folder, "why", "harbour", "metres deep at low tide")
    assert answer.code == 0
    assert re.search(r"in the section “Nearest”\n(.|\n)*quoted from Harbour", answer.out)
    assert "found by the search" in answer.out
    assert "hit 1" in answer.out
    assert not re.search(r"search_0|because: *$", answer.out, re.MULTILINE)
    assert "speaks against it" in answer.out


def test_why_as_json_names_fact_and_origins_and_what_a_person_called_useful_or_wrong(folder: Path) -> None:
    evidence = json.loads(said(folder, "--json", "why", "harbour", "metres deep at low tide").out)["evidence"][0]
    assert evidence["origins"][0]["rank"] >= 1
    assert "metres deep" in evidence["fact"]["quote"]
    about = {"note": "report:x", "query_id": "harbour", "fact": evidence["fact"]["id"], "url": evidence["fact"]["url"]}
    record_decisions(folder, [NoteRated(rating="wrong", **about)])
    assert evidence["rating"] == ""
    assert "you called it wrong on 20" in said(folder, "why", "harbour", "metres deep at low tide").out
    assert json.loads(said(folder, "--json", "why", "harbour", evidence["fact"]["id"]).out)["evidence"][0]["rating"] == "wrong"


def test_words_that_are_in_no_sentence_get_one_clear_message(folder: Path) -> None:
    answer = said(folder, "why", "harbour", "zebras of the Serengeti")
    assert answer.code == 2
    assert "has no sentence like that" in answer.err


def test_show_counts_the_search_for_the_question_itself_and_opens_nothing_when_it_has_ended(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, "  - {query: Who knitted the zebra of Ulaanbaatar?, id: zebra}\n")
    assert said(folder, "-q", "run").code == 5
    shown = said(folder, "show", "zebra").out
    assert "found      1 search, " in shown
    assert "  not done   synthesize " in shown
