"""A queue in the vault: asked on a phone, researched at night, linked back in the same line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.faults.night import SECOND, Workspace, workspace

LINE = "- [ ] What does a torn record look like? #torn mode:fast"
QUEUE = f"# Queue\n\n{LINE}\n- [ ] Bad mode:quick\n- [x] buy milk\n- [ ] Who wrote it? search:[brave]\n"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    made = workspace(tmp_path / "workspace")
    (made.folder / "queries.yaml").write_text(f"settings: {{reasoner: extractive, search: [local]}}\nqueries:\n{SECOND}")
    note = made.folder / "vault" / "my" / "Queue.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(QUEUE)
    return made


def queue(space: Workspace) -> str:
    return (space.folder / "vault" / "my" / "Queue.md").read_text()


def test_a_line_is_listed_researched_and_linked_to_its_report(space: Workspace) -> None:
    assert "What does a torn record look like?" in space.research("list").out
    assert "torn-record" in space.research("run", "--dry-run").out
    assert queue(space) == QUEUE
    told = space.research("-q", "run")
    assert told.code == 0
    assert re.search(r"vault/my/Queue\.md:4:1: .* \(“.*”\)\n", told.err)
    assert re.search(r"Queue\.md:6: .*brave.* \(“Who wrote it\?”\)\n", told.err)
    line = queue(space).split("\n")[2]
    assert line.startswith("- [x] What does a torn record look like? #torn mode:fast → [[reports/")
    report = line.partition("[[")[2].partition("|")[0]
    assert (space.folder / "vault" / f"{report}.md").exists()
    fault = ' → *not researched: "quick" is not known here: write fast or deep*'
    assert queue(space).replace(line, LINE).replace(fault, "") == QUEUE
    assert fault in queue(space)


def test_a_second_run_and_a_build_change_nothing_but_a_link_that_a_killed_run_did_not_write(space: Workspace) -> None:
    assert space.research("run").code == 0
    before = queue(space), space.tree("events/sessions"), space.tree("vault")
    assert "nothing to do" in space.research("run").out
    assert space.research("build").code == 0
    assert (queue(space), space.tree("events/sessions"), space.tree("vault")) == before
    assert "archived    what-does" not in space.research("list").out
    (space.folder / "vault" / "my" / "Queue.md").write_text(QUEUE)
    assert space.research("run").code == 0
    assert queue(space) == before[0]


def test_a_night_on_which_nothing_is_due_records_a_fault_once_and_that_it_is_gone(space: Workspace) -> None:
    note = space.folder / "vault" / "my" / "Queue.md"
    note.write_text(f"{LINE}\n")
    assert space.research("run").code == 0
    for text, times in ((f"{LINE}\n- [ ] Bad mode:quick\n", 1), (f"{LINE}\n", 0), ("", 0)):
        note.write_text(text)
        assert space.research("run").code == 0
        assert (space.folder / "vault" / "Home.md").read_text().count("is not known") == times
        before = space.tree("events/batches")
        assert "nothing to do" in space.research("run").out
        assert space.tree("events/batches") == before
    assert "its question is no longer in the queue" in space.research("list", "--why").out


def test_a_line_that_is_edited_is_researched_again_and_then_linked_to_the_new_report(space: Workspace) -> None:
    assert space.research("run").code == 0
    first = queue(space)
    edited = first.replace("look like", "look like on disk")
    (space.folder / "vault" / "my" / "Queue.md").write_text(edited)
    assert space.research("build").code == 0
    assert queue(space) == edited
    assert space.research("run").code == 0
    assert "on disk? #torn mode:fast → [[reports/" in queue(space)
    assert queue(space) != edited


def test_a_pipe_in_the_queue_s_place_is_named_and_fails_no_night(space: Workspace) -> None:
    note = space.folder / "vault" / "my" / "Queue.md"
    note.unlink()
    os.mkfifo(note)
    for command in ("run", "build"):
        told = space.research("-q", command)
        assert (told.code, "left alone: vault/my/Queue.md: its questions are not linked" in told.out + told.err) == (0, True)


def test_a_queue_that_is_to_be_ignored_asks_nothing_and_keeps_its_bytes(space: Workspace) -> None:
    queries = space.folder / "queries.yaml"
    queries.write_text(queries.read_text().replace("{reasoner", "{vault_queue: ignore, reasoner"))
    assert "torn record" not in space.research("list").out
    assert space.research("build").code == 0
    assert queue(space) == QUEUE
