"""``run --dry-run``: what a night would do, search and cost, without a trace."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from tests.cli.test_run_commands import HARBOUR, NONSENSE, SHIPS
from tests.commanding import everything, said, workspace_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return workspace_in(tmp_path / "ws", HARBOUR + SHIPS)


def refuse(*_args: object, **_kwargs: object) -> None:
    raise AssertionError("the network was asked")


@pytest.mark.parametrize("nights", [0, 1])
def test_a_dry_run_writes_nothing_and_asks_nobody(folder: Path, nights: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(nights):
        assert said(folder, "run", "ships").code == 0
    before = everything(folder)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-canary")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    told = said(folder, "run", "--dry-run", "--retry-failed", "--limit", "1", "--deadline", "06:30", "--max-cost", "1")
    assert (told.code, told.err) == (0, "")
    assert "harbour" in told.out
    assert json.loads(said(folder, "retry", "--dry-run", "--json").out)["due"] == []
    assert everything(folder) == before


def test_a_dry_run_says_what_the_night_would_cost_at_most(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-canary")
    with (folder / "queries.yaml").open("a") as queue:
        queue.write("  - {query: Is the pier safe?, id: pier, budget_usd: 0.25, priority: 3, mode: deep}\n")
    plan = json.loads(said(folder, "run", "--dry-run", "--json", "--max-cost", "0.40").out)
    assert [(entry["id"], entry["worst_usd"]) for entry in plan["due"]] == [("pier", 0.25), ("harbour", 0.4), ("ships", 0.4)]
    assert plan["worst_usd"] == 0.4
    deep, fast, _ = plan["due"]
    assert (fast["calls"], 20_000 < fast["tokens_in"] < deep["tokens_in"]) == (6, True)
    assert "at most 6 calls with about" in said(folder, "run", "--dry-run").out
    assert fast["about_usd"] is None
    priced = f"settings: {{prices: {{{fast['reasoner']}: {{input: 1.00, output: 2.00}}}}}}\n"
    (folder / "queries.yaml").write_text(priced + (folder / "queries.yaml").read_text())
    assert "USD by your prices" in said(folder, "run", "--dry-run").out
    uncapped = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert fast["tokens_in"] < uncapped["due"][1]["about_usd"] * 1e6 < 2 * fast["tokens_in"]
    assert ([entry["worst_usd"] for entry in uncapped["due"]], uncapped["worst_usd"]) == ([0.25, None, None], None)
    monkeypatch.delenv("OPENROUTER_API_KEY")
    free = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert {(entry["calls"], entry["tokens_in"]) for entry in free["due"]} == {(0, 0)}
    assert free["worst_usd"] == 0
    assert [entry["reasoner"] for entry in free["due"]] == ["extractive"] * 3


def test_a_dry_run_says_who_searches_and_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "searches local: none of BRAVE_API_KEY" in said(folder, "run", "--dry-run").out
    monkeypatch.setenv("BRAVE_API_KEY", "BSA-canary")
    why = "what has a key or an address, and your documents in corpus"
    assert said(folder, "run", "--dry-run").out.count(f"searches local and brave: {why}\n") == 1
    plan = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert [(entry["search"], entry["search_why"]) for entry in plan["due"]] == [(["local", "brave"], why)] * 2
    shutil.rmtree(folder / "corpus")
    assert "searches brave: " in said(folder, "run", "--dry-run").out


def test_a_dry_run_names_the_session_that_is_gone_on_with_and_what_is_left(folder: Path) -> None:
    (folder / "queries.yaml").write_text(f"queries:\n{HARBOUR.replace('mode: fast', 'approve: plan')}{SHIPS}{NONSENSE}")
    said(folder, "run")
    said(folder, "approve", "harbour")
    plan = json.loads(said(folder, "run", "--dry-run", "--json").out)
    (entry,) = plan["due"]
    assert (entry["id"], entry["action"]) == ("harbour", "resume")
    assert [(left["id"], left["action"]) for left in plan["left"]] == [("nonsense", "not-found")]
    assert plan["done"] == 1
