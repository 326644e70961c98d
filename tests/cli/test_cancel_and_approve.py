"""``resume``, ``cancel`` and ``approve`` as their user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.system.process_lock import Lock
from tests.commanding import actions, said, workspace_in

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, approve: plan}\n"
SHIPS = "  - {query: Where do ships wait at night?, id: ships, mode: fast}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace after a night: one plan waits, one question is answered."""
    folder = workspace_in(tmp_path / "ws", HARBOUR + SHIPS)
    assert said(folder, "run").code == 0
    return folder


def test_a_plan_that_waits_is_shown_with_its_questions(folder: Path) -> None:
    told = said(folder, "show", "harbour").out
    assert "its plan waits for approval; research approve harbour" in told
    plan = json.loads(said(folder, "--json", "show", "harbour").out)
    assert plan["waiting_for_approval"]
    for view in plan["plan"]:
        assert view["name"] in told
        assert all(question in told for question in view["questions"])


def test_an_approved_plan_is_carried_out_by_the_next_run(folder: Path) -> None:
    assert actions(folder)["harbour"] == "waiting"
    assert said(folder, "run").out.splitlines()[:2] == [
        "nothing to do",
        "  harbour: waiting: its plan waits for approval: research approve harbour",
    ]
    assert said(folder, "approve", "harbour").code == 0
    assert actions(folder)["harbour"] == "resume"
    assert said(folder, "run").code == 0
    assert actions(folder)["harbour"] == "done"
    shown = json.loads(said(folder, "--json", "show", "harbour").out)
    assert not shown["waiting_for_approval"]


def test_the_plan_as_it_is_shown_can_be_edited_and_given_back(folder: Path) -> None:
    plan = json.loads(said(folder, "--json", "show", "harbour").out)["plan"]
    assert [view["questions"] for view in plan] == [["How deep is the harbour?"]]
    plan[0]["questions"] = ["How deep is the harbour at low tide?"]
    (folder / "plan.json").write_text(json.dumps(plan[:1]))
    told = said(folder, "approve", "harbour", "--edit", str(folder / "plan.json"))
    assert told.code == 0
    assert said(folder, "run").code == 0
    shown = json.loads(said(folder, "--json", "show", "harbour").out)
    questions = [view["questions"] for view in shown["plan"] if not view["id"].startswith("gap-")]
    assert questions == [["How deep is the harbour at low tide?"]]


FAULTY = """\
- name: Costs
- focus: money
  questions: [What does it cost?]
- name: Depth
  questions: [How deep?]
- {name: depth, questions: [How deep again?], depth: 3}
- just a text
"""


def test_every_fault_of_an_edited_plan_is_told_at_once_and_nothing_is_approved(folder: Path) -> None:
    (folder / "plan.yaml").write_text(FAULTY)
    told = said(folder, "approve", "harbour", "--edit", str(folder / "plan.yaml"))
    assert told.code == 2
    for place in ("plan.yaml:1:", "plan.yaml:2:", "plan.yaml:6:", "plan.yaml:7:"):
        assert place in told.err
    assert actions(folder)["harbour"] == "waiting"


@pytest.mark.parametrize("text", ["", "name: Costs\n", "- [a, b]\n", "[]\n", "\tx"])
def test_a_file_that_holds_no_perspectives_is_refused(folder: Path, text: str) -> None:
    (folder / "plan.yaml").write_text(text)
    told = said(folder, "approve", "harbour", "--edit", str(folder / "plan.yaml"))
    assert (told.code, "plan.yaml" in told.err) == (2, True)
    assert said(folder, "approve", "harbour", "--edit", str(folder / "nowhere.yaml")).code == 2


def test_a_cancelled_session_is_left_alone_until_it_is_asked_for(folder: Path) -> None:
    assert said(folder, "cancel", "harbour", "--reason", "no longer needed").code == 0
    assert actions(folder)["harbour"] == "cancelled"
    assert "no longer needed" in said(folder, "list", "--why").out
    assert said(folder, "run", "--retry-failed").out.splitlines()[0] == "nothing to do"
    assert said(folder, "cancel", "harbour").code == 1
    assert said(folder, "retry", "harbour").code == 0
    assert actions(folder)["harbour"] == "waiting"  # it was reopened where it stood: before its plan was approved


def test_a_session_that_waits_cannot_be_resumed_and_one_that_was_approved_can(folder: Path) -> None:
    told = said(folder, "resume", "harbour")
    assert (told.code, "research approve" in told.out) == (0, True)
    said(folder, "approve", "harbour")
    assert said(folder, "resume", "harbour").code == 0
    assert actions(folder)["harbour"] == "done"


def test_a_session_that_is_being_worked_on_is_left_to_its_run(folder: Path) -> None:
    name = json.loads(said(folder, "--json", "show", "harbour").out)["session"]
    lock = Lock(folder / "events" / "local" / "locks" / f"{name}.lock", "works on it")
    lock.acquire()
    assert said(folder, "cancel", "harbour").code == 11
    assert said(folder, "approve", "harbour").code == 11
    lock.release()
    assert actions(folder)["harbour"] == "waiting"
    assert said(folder, "approve", "harbour").code == 0
