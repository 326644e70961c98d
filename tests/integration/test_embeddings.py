"""Search by meaning through the commands, against a server of embeddings on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events import talk_events as t
from pipeline.domain.events.session_events import EventBase
from pipeline.store.file_store import FileStore
from tests.commanding import said, workspace_in
from tests.embedding_server import Stage, serving
from tests.integration.stage import events_of

QUERIES = "  - {query: How deep is the harbour at low tide?, id: deep, mode: fast}\n"


def workspace(folder: Path, url: str, more: str = "") -> Path:
    place = workspace_in(folder, QUERIES)
    settings = f"settings:\n  reasoner: extractive\n  search: [local]\n  embeddings: {{model: tiny, base_url: '{url}'{more}}}\n"
    (place / "queries.yaml").write_text(f"{settings}queries:\n{QUERIES}")
    return place


def events_in(folder: Path, *kinds: str) -> list[EventBase]:
    store = FileStore(folder / "events")
    names = [*store.ids("session"), *(name for name in store.marks() if name.startswith("batch-")), *store.ids("talk")]
    return [event for event in events_of(store, *names) if event.type in kinds]


@pytest.fixture
def stage() -> object:
    with serving() as stage:
        yield stage


def test_a_run_asks_for_the_vectors_of_the_passages_first_and_their_cost_is_in_the_batch(stage: Stage, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w", stage.url, ", key: MY_SERVER_API_KEY")
    (folder / ".env").write_text("MY_SERVER_API_KEY=a-key-of-some-length\n")
    (folder / ".env").chmod(0o600)
    first = said(folder, "run")
    assert first.code == 0
    assert "2 more passages can be found by meaning (tiny)" in first.err
    (embedded,) = events_in(folder, "passages.embedded")
    assert isinstance(embedded, n.PassagesEmbedded)
    assert (embedded.passages, embedded.left, embedded.tokens > 0) == (2, 0, True)
    (end,) = [event for event in events_in(folder, "batch.ended") if isinstance(event, n.BatchEnded)]
    sessions = sum(event.cost.usd for event in events_in(folder, "query.ended") if isinstance(event, n.QueryEnded))
    assert end.cost.usd == pytest.approx(embedded.cost.usd + sessions)
    assert embedded.cost.usd > 0
    (survey,) = [event for event in events_in(folder, "topic.surveyed") if isinstance(event, e.TopicSurveyed)]
    assert 0 < survey.cost.usd == survey.cost.assumed_usd  # a key, and no price
    assert len(events_in(folder, "call.sent")) > 0  # what is paid for is announced
    assert all("a-key-of-some-length" not in path.read_text("utf-8", "replace") for path in folder.rglob("*.jsonl"))
    assert {head["authorization"] for head in stage.headers} == {"Bearer a-key-of-some-length"}


def test_a_server_that_is_down_is_reported_also_when_quiet_and_the_report_is_written(tmp_path: Path) -> None:
    with serving() as stage:
        folder = workspace(tmp_path / "w", stage.url)
    result = said(folder, "-q", "run")
    assert result.code == 0
    assert "searched by words alone, not by meaning" in result.err
    (embedded,) = events_in(folder, "passages.embedded")
    assert isinstance(embedded, n.PassagesEmbedded)
    assert "no connection" in embedded.failed
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    assert "Your documents were searched by words alone, not by meaning: " in report.read_text()


def test_a_server_that_dies_in_the_middle_ends_nothing(stage: Stage, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w", stage.url)
    stage.answer = lambda texts: None if any(text.startswith("Harbour") for text in texts) or len(stage.asked) < 2 else (500, {})
    assert said(folder, "run").code == 0
    failed = [event.failed for event in events_in(folder, "topic.surveyed", "search.completed")]  # type: ignore[attr-defined]
    assert all(side.origin == "embeddings" for sides in failed for side in sides)
    assert any(failed)


def test_ask_finds_by_meaning_records_the_cost_and_goes_on_without(stage: Stage, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w", stage.url)
    said(folder, "run")
    (turn,) = json.loads(said(folder, "--json", "ask", "--all", "How deep is the harbour?").out)["turns"]
    assert (turn["found"], turn["without_meaning"]) == (True, [])
    assert "How deep is the harbour?" in stage.texts
    stage.answer = lambda _texts: (401, {"error": {"message": "no such key"}})
    (turn,) = json.loads(said(folder, "--json", "ask", "--all", "Where do ships wait at night?").out)["turns"]
    assert turn["found"]
    assert "no such key" in turn["without_meaning"][0]
    found = [event for event in events_in(folder, "passages.found") if isinstance(event, t.PassagesFound)]
    assert [bool(event.failed) for event in found] == [False, True]
