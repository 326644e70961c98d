"""What a night in a process of its own tells while it works: to a terminal, to who looks on, to a monitor, to its log file."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import time
from pathlib import Path

import pytest

from tests.commanding import said
from tests.forking import Command
from tests.ops.listening import Listener
from tests.ops.test_alerts import CHECK, monitor, service
from tests.standin.server import Standin
from tests.unattended import Start, slow, start, workspace

__all__ = ["monitor", "service", "slow", "start"]


# ---- a terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("colours", [True, False])
def test_a_terminal_gets_lines_with_colours_unless_told_not_to(
    colours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    env = {"TERM": "xterm-256color"} | ({} if colours else {"NO_COLOR": "anything"})
    leader, follower = pty.openpty()
    terminal, shown = Path(os.ttyname(follower)), b""
    night = Command(workspace(tmp_path / "ws"), "run", env=env, stdout=terminal, stderr=terminal)
    while select.select([leader], [], [], 0.1)[0] or night.code is None:
        shown += os.read(leader, 65_536) if select.select([leader], [], [], 0.1)[0] else b""
    os.close(leader)
    os.close(follower)
    assert (night.code, b"\x1b" in shown) == (0, colours)
    assert b"research.completed" in shown


# ---- looking on ----------------------------------------------------------------------------------------------------


def test_a_night_can_be_looked_at_while_it_runs(tmp_path: Path, slow: Standin, start: Start) -> None:
    folder = workspace(tmp_path / "ws", slow)
    everything = start(folder, "--json", "log", "--follow")
    night = start(folder, "run")
    night.until("research.started")
    following = start(folder, "log", "--follow", "harbour-0")
    shown = said(folder, "--json", "show", "harbour-0")
    assert shown.code == 0, shown.err
    assert night.ended() == 0
    assert (following.ended(), following.err) == (0, "")
    assert following.out == said(folder, "log", "harbour-0").out
    while '"batch.ended"' not in everything.out:  # it may have begun to follow when the night was over
        assert said(folder, "run", "--again", "harbour-0").code == 0
        time.sleep(2)
    everything.send(signal.SIGINT)
    assert (everything.ended(), everything.err) == (130, "")
    seen = [json.loads(line) for line in everything.out.splitlines()]
    assert {"research.completed", "batch.ended"} <= {event["type"] for event in seen}
    assert len({(event["session_id"], event["version"]) for event in seen}) == len(seen)


# ---- a monitor -----------------------------------------------------------------------------------------------------


def test_a_monitor_hears_every_ending_and_its_address_stands_nowhere(tmp_path: Path, monitor: Listener) -> None:
    folder = workspace(tmp_path / "ws")
    (tmp_path / "ping").write_text(f"  {monitor.url}\n")
    pinging = ("-v", "run", "--ping-url-file", str(tmp_path / "ping"))
    outputs = []
    for status in (200, 500):
        monitor.status = status
        done = said(folder, *pinging)
        outputs.append((done.out + done.err).encode())
        assert done.code == 0
        (folder / "queries.yaml").write_text((folder / "queries.yaml").read_text("utf-8").replace("deep", "very deep"), "utf-8")
    monitor.status = 200
    (folder / "queries.yaml").write_text("queries:\n  - {query: 'Zyzzyva quokka xylophone?', id: none}\n")
    assert said(folder, *pinging).code == 5
    path, _, body = monitor.heard[-1]
    assert (path.rpartition("/")[2], body["exit_code"]) == ("0", 5)  # nothing failed
    (folder / "queries.yaml").write_text("queries:\n  - {query: Fine, mood: deep}\n")
    assert said(folder, *pinging).code == 2
    ends = [(path.rpartition("/")[2], body) for path, _, body in monitor.heard]
    assert next(what for what, _ in ends if what != "start") == "0"
    assert ends[1][1]["summary"] == "2 with passages, 0 skipped"
    assert ends[-1][0] == "2"
    texts = outputs + [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(CHECK.encode() in text for text in texts)


def test_a_monitor_that_cannot_be_asked_costs_no_night(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    done = said(folder, "run", "--ping-url-file", str(tmp_path / "missing"))
    assert done.code == 0
    assert "cannot be read" in done.err
