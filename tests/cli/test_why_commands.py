from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.domain.events.vault_events import NoteRated
from pipeline.wiring.recording import record_decisions
from tests.commanding import said, workspace_in

QUESTION = "How deep is the harbour at low tide?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = workspace_in(tmp_path_factory.mktemp("why"), f"  - {{query: '{QUESTION}', id: depth}}\n")
    assert said(folder, "-q", "run").code == 0
    return folder


def test_why_prints_the_way_from_a_sentence_to_its_search_and_perspective(folder: Path) -> None:
    answer = said(folder, "why", "depth", "metres deep at low tide")
    assert answer.code == 0
    assert "quoted from Harbour" in answer.out
    assert "found by the search" in answer.out
    assert "hit 1" in answer.out
    assert "speaks against it" in answer.out


def test_why_as_json_names_fact_and_origins(folder: Path) -> None:
    evidence = json.loads(said(folder, "--json", "why", "depth", "metres deep at low tide").out)["evidence"]
    assert evidence[0]["origins"][0]["rank"] >= 1
    assert "metres deep" in evidence[0]["fact"]["quote"]


def test_why_says_what_a_person_called_useful_or_wrong(folder: Path) -> None:
    evidence = json.loads(said(folder, "--json", "why", "depth", "metres deep at low tide").out)["evidence"][0]
    about = {"note": "report:x", "query_id": "depth", "fact": evidence["fact"]["id"], "url": evidence["fact"]["url"]}
    record_decisions(folder, [NoteRated(rating="wrong", **about)])
    assert evidence["rating"] == ""
    assert "you called it wrong on 20" in said(folder, "why", "depth", "metres deep at low tide").out
    assert json.loads(said(folder, "--json", "why", "depth", evidence["fact"]["id"]).out)["evidence"][0]["rating"] == "wrong"


def test_words_that_are_in_no_sentence_get_one_clear_message(folder: Path) -> None:
    answer = said(folder, "why", "depth", "zebras of the Serengeti")
    assert answer.code == 2
    assert "has no sentence like that" in answer.err
