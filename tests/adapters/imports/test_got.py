from __future__ import annotations

import json
from pathlib import Path

from pipeline.domain.imports.import_events import MessageImported
from pipeline.domain.imports.parsed import ParsedImport
from tests.adapters.imports.kit import got_event, got_events, read, write_graph


def nodes_of(one: ParsedImport) -> dict[str, MessageImported]:
    return {item.ref: item for item in one.tally.items if isinstance(item, MessageImported)}


def test_events_snapshot_and_entities_are_one_graph(tmp_path: Path) -> None:
    write_graph(tmp_path / "garden")
    ((one,), findings) = read(tmp_path)
    assert not findings
    assert one.title == "Graph of Thought: garden"
    nodes = nodes_of(one)
    assert list(nodes) == ["T-0", "T-1", "D-1", "H-1", "T-2"]
    assert (nodes["T-1"].role, nodes["T-1"].status) == ("task", "pending")
    assert nodes["T-1"].links == ("DEPENDS_ON D-1", "DEPENDS_ON T-0")
    assert "Rationale: Plastic cracks in frost" in nodes["D-1"].text
    assert nodes["D-1"].links == ("AFFECTS T-1",)
    assert (nodes["H-1"].role, nodes["H-1"].status, nodes["H-1"].author) == ("handoff", "accepted", "main")
    assert nodes["T-0"].text == "Clear the gutter"
    assert one.tally.counts.model_dump() == {"records": 9, "items": 5, "merged": 4, "left_out": 0}


def test_pending_tasks_are_for_the_queue_and_done_ones_are_not(tmp_path: Path) -> None:
    write_graph(tmp_path / "garden")
    assert read(tmp_path)[0][0].queue == ("Choose a rain gauge",)


def test_of_a_property_the_last_write_counts_whatever_file_it_is_in(tmp_path: Path) -> None:
    root = write_graph(tmp_path / "garden", got_events(), beside=False)
    late = got_event("11:00:00", "node.update", id="T-1", changes={"status": "completed", "title": "Choose a gauge"})
    early = got_event("09:00:00", "node.update", id="T-1", changes={"status": "blocked"})
    (root / "events" / "00000000-before.jsonl").write_text(f"{json.dumps(late)}\n")
    (root / "events" / "99999999-after.jsonl").write_text(f"{json.dumps(early)}\n")
    ((one,), _) = read(tmp_path)
    assert (nodes_of(one)["T-1"].status, nodes_of(one)["T-1"].text) == ("completed", "Choose a gauge")
    assert one.queue == ()


def test_a_deleted_node_says_so_and_a_removed_link_is_gone(tmp_path: Path) -> None:
    events = [*got_events(), got_event("11:00:00", "edge.delete", src="T-1", tgt="D-1", type="DEPENDS_ON"),
              got_event("11:01:00", "node.delete", id="task:T-1")]  # fmt: skip
    write_graph(tmp_path / "garden", events, beside=False)
    ((one,), _) = read(tmp_path)
    assert (nodes_of(one)["T-1"].status, nodes_of(one)["T-1"].links, one.queue) == ("deleted", (), ())


def test_a_link_from_a_node_that_nothing_describes_is_left_out(tmp_path: Path) -> None:
    write_graph(tmp_path / "garden", [*got_events(), got_event("11:00:00", "edge.create", src="T-9", tgt="T-1", type="BLOCKS")])
    ((one,), _) = read(tmp_path)
    (finding,) = one.tally.findings
    assert (finding.records, "which no record describes" in finding.what) == (1, True)


def test_two_graphs_below_one_folder_are_two_imports(tmp_path: Path) -> None:
    write_graph(tmp_path / "garden")
    hull = got_event("10:00:00", "node.create", id="T-5", type="task", data={"title": "Caulk the hull"})
    write_graph(tmp_path / "boat", [hull], beside=False)
    sessions, _ = read(tmp_path)
    assert {one.title for one in sessions} == {"Graph of Thought: garden", "Graph of Thought: boat"}
    assert len({one.original_id for one in sessions}) == 2


def test_a_graph_is_known_by_its_first_record_wherever_the_folder_lies(tmp_path: Path) -> None:
    write_graph(tmp_path / "a" / "garden")
    write_graph(
        tmp_path / "b" / "renamed", [*got_events(), got_event("12:00:00", "node.update", id="T-1", changes={"status": "done"})]
    )
    first, second = read(tmp_path / "a")[0][0], read(tmp_path / "b")[0][0]
    assert first.original_id == second.original_id


def test_a_single_event_log_can_be_imported(tmp_path: Path) -> None:
    root = write_graph(tmp_path / "garden")
    ((one,), _) = read(next((root / "events").iterdir()))
    assert list(nodes_of(one)) == ["T-1", "D-1", "H-1"]


def test_of_two_copies_of_a_graph_one_is_imported(tmp_path: Path) -> None:
    write_graph(tmp_path / "garden")
    write_graph(tmp_path / "garden-copy")
    sessions, findings = read(tmp_path)
    assert len(sessions) == 1
    assert (findings[0].records, "is the same session as garden-copy/.got" in findings[0].what) == (9, True)


def test_a_link_that_was_removed_again_before_its_node_was_described_is_gone(tmp_path: Path) -> None:
    events = [got_event("08:00:00", "edge.create", src="T-1", tgt="T-7", type="BLOCKS"),
              got_event("08:01:00", "edge.delete", src="T-1", tgt="T-7", type="BLOCKS"), *got_events()]  # fmt: skip
    write_graph(tmp_path / "garden", events, beside=False)
    ((one,), _) = read(tmp_path)
    assert nodes_of(one)["T-1"].links == ("DEPENDS_ON D-1",)
