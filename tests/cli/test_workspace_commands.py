"""``init``, ``list``, ``show``, ``doctor`` and ``add`` as their user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path / "ws", HARBOUR)


def test_list_show_and_log_speak_to_people_and_to_programs(workspace: Path) -> None:
    assert said(workspace, "run").code == 0
    listed = json.loads(said(workspace, "--json", "list").out)
    assert {query["action"] for query in listed["queries"]} == {"done"}
    name = listed["queries"][0]["id"]
    shown = json.loads(said(workspace, "--json", "show", name).out)
    assert shown["status"] == "complete"
    assert shown["doing"] == []
    early = json.loads(said(workspace, "--json", "show", name, "--at", "6").out)
    assert (early["version"], early["status"]) == (6, "searching")
    assert early["doing"]
    log = json.loads(said(workspace, "--json", "log", name).out)
    assert [event["version"] for event in log] == list(range(1, shown["version"] + 1))
    assert "status     passages" in said(workspace, "show", name).out
    assert len(said(workspace, "log", name).out.splitlines()) == shown["version"]


def test_add_appends_a_question_and_refuses_it_twice(workspace: Path) -> None:
    before = (workspace / "queries.yaml").read_text()
    assert said(workspace, "add", "Is the pier: safe?", "--tag", "piers", "--mode", "fast").code == 0
    assert (workspace / "queries.yaml").read_text().startswith(before)
    assert said(workspace, "add", "Is the pier: safe?").code == 2
