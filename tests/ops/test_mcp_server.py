"""The tools of ``research mcp``, called by the official client: in this process, and over standard input and output."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from bench import made_log
from pipeline.config.workspace_settings import load_workspace
from pipeline.errors import SessionUnknown
from pipeline.ops.mcp_server import server_of
from pipeline.ops.mcp_tools import Library
from pipeline.store.file_store import FileStore
from pipeline.text.cleaning import normalised
from tests.commanding import everything, said, workspace_in
from tests.recorded import recorded

pytest.importorskip("mcp")

QUEUE = "settings:\n  reasoner: extractive\n  search: [local]\nqueries:\n  - How do valves behave?\n"
ALLOWED = "settings:\n  mcp: {enqueue: true, cost_usd: 0.60}\n"
Call = Callable[..., Any]
FIRST = made_log.session_id(0)
READING: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "pumps"}),
    ("ask", {"question": "How do pumps behave?"}),
    ("fetch", {"id": f"report/{FIRST}"}),
    ("report", {"id": FIRST}),
    ("why", {"id": FIRST, "sentence": "pumps"}),
    ("whats_new", {"since": "3650d"}),
    ("status", {"id": made_log.question_id(1)}),
]


def workspace(folder: Path, sessions: int, queue: str = QUEUE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "queries.yaml").write_text(queue)
    made_log.write(folder / "events", sessions)
    store = FileStore(folder / "events")
    for data in recorded(**made_log.EVENTS).objects.values():
        store.objects.put(data)
    return folder


def caller(folder: Path, scratch: Path) -> Call:
    """A function that calls a tool; it returns the tool's value, or the text of its error."""
    from mcp.client.client import Client

    server = server_of(Library(load_workspace(folder), scratch / "pages.sqlite"))

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        async with Client(server) as client:
            done = await client.call_tool(name, arguments)
            return done.content[0].text if done.is_error else done.structured_content  # type: ignore[union-attr]

    return lambda name, **arguments: asyncio.run(call(name, arguments))


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Call:
    folder = tmp_path_factory.mktemp("mcp")
    return caller(workspace(folder / "workspace", 3), folder)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_runs_every_tool_over_fifty_sessions(tmp_path: Path, mode: str) -> None:
    folder = workspace(tmp_path / "workspace", 50)

    async def run() -> None:
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        command = StdioServerParameters(command=sys.executable, args=["-m", "pipeline", "-C", str(folder), "mcp"])
        async with Client(stdio_client(command), mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {name for name, _ in READING}
            assert all(tool.output_schema and tool.annotations and tool.annotations.read_only_hint for tool in tools)
            for name, arguments in READING:
                done = await client.call_tool(name, arguments)
                assert not done.is_error, (name, done)
                assert done.structured_content
            assert (await client.call_tool("fetch", {"id": "../../etc/passwd"})).is_error

    asyncio.run(run())


def test_requests_are_answered_although_the_client_closed_its_end(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 3)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": tool, "arguments": given}}
          for n, (tool, given) in enumerate(READING, 2)),
        {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "pumps"}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},  # nobody answers it
        {"jsonrpc": "1.0", "id": 98, "method": "tools/list"},  # nor this
    ]  # fmt: skip
    lines = b"no JSON\n" + b"".join(json.dumps(one).encode() + b"\n" for one in messages)
    command = [sys.executable, "-m", "pipeline", "-C", str(folder), "mcp"]
    done = subprocess.run(command, input=lines, capture_output=True, timeout=60, check=True)
    replies = {one.get("id"): one for one in map(json.loads, done.stdout.splitlines())}
    assert {1, *range(2, 2 + len(READING))} <= replies.keys()
    assert all("result" in replies[n] and not replies[n]["result"].get("isError") for n in range(2, 2 + len(READING)))


def test_without_the_package_the_command_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace(tmp_path / "workspace", 1)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    done = said(folder, "mcp")
    assert done.code == 2
    assert "pip install 'night-research[mcp]'" in done.err


def test_search_and_fetch_have_the_shape_that_connectors_expect(called: Call) -> None:
    found = called("search", query="How do pumps of make 1 behave?")["results"]
    assert found
    for one in found:
        assert one.keys() == {"id", "title", "url"}
        whole = called("fetch", id=one["id"])
        assert whole.keys() == {"id", "title", "text", "url", "metadata"}
        assert (whole["id"], whole["url"]) == (one["id"], one["url"])
        assert whole["text"]
    assert called("search", query="zebra crossings in Ulaanbaatar") == {"results": []}


def test_the_report_on_the_question_comes_first_and_none_that_cites_no_source_that_was_found(tmp_path: Path) -> None:
    questions = "".join(f"  - {{query: 'Where does the {name} lie?', id: {name}}}\n" for name in ("trombone", "bassoon"))
    folder = workspace_in(tmp_path, questions)
    for document in (folder / "corpus").iterdir():
        document.unlink()  # each session reads both of the others
    (folder / "corpus" / "attic.md").write_text("# Attic\n\nThe trombone lies in the attic.\n")
    (folder / "corpus" / "cellar.md").write_text("# Cellar\n\nThe bassoon lies in the cellar.\n")
    assert said(folder, "-q", "run").code == 0
    call = caller(folder, tmp_path)
    for name in ("trombone", "bassoon"):
        first, *_ = call("search", query=f"Where does the {name} lie?")["results"]
        assert first["title"] == f"Where does the {name} lie?"
        found = call("search", query=name)["results"]
        assert [one["title"] for one in found if one["id"].startswith("report/")] == [first["title"]]


def test_each_citation_of_a_report_holds_a_quote_at_its_place_in_a_stored_page(called: Call) -> None:
    report = called("report", id=FIRST)
    assert report["citations"]
    for number, one in enumerate(report["citations"], 1):
        page = normalised(called("fetch", id=f"source/{one['digest']}")["text"])
        quote = normalised(one["quote"])
        assert quote in page
        assert one["start"] < 0 or page[one["start"] :].startswith(quote)
        assert f"[{number}]" in report["text"]


def test_what_is_new_is_what_ended_since_a_part_at_a_time(called: Call) -> None:
    whole = called("whats_new", since="2020-01-01T00:00Z")
    assert (len(whole["sessions"]), whole["cursor"]) == (3, "")
    seen: list[str] = []
    cursor = ""
    for _ in range(2):
        part = called("whats_new", since="2020-01-01T00:00Z", limit=2, cursor=cursor)
        seen += [one["session"]["id"] for one in part["sessions"]]
        cursor = part["cursor"]
    assert seen == [one["session"]["id"] for one in whole["sessions"]]
    assert cursor == ""
    assert "no cursor that was given" in called("whats_new", since="2020-01-01T00:00Z", cursor="made up")
    assert called("whats_new", since="2020-01-02T12:00Z")["sessions"] == []
    for since in ("soon", "0x7", "9999999d", "2026-13-45", "06:30"):
        assert "is not a moment" in called("whats_new", since=since)


def test_pages_are_indexed_before_the_first_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace(tmp_path / "workspace", 3)
    library = Library(load_workspace(folder), tmp_path / "pages.sqlite")
    asyncio.run(library.prepare())
    assert FIRST in (tmp_path / "summaries.json").read_text(), "so that not every call reads every session"
    load = mock.Mock(side_effect=library._store.load)
    monkeypatch.setattr(library._store, "load", load)
    with pytest.raises(SessionUnknown):
        asyncio.run(library.fetch(f"source/{'0' * 64}"))
    assert asyncio.run(library.ask("How do pumps behave?", scope=FIRST))["found"]
    assert load.call_count == 0, "no session is opened for its pages"
    shutil.rmtree(folder / "events" / "objects")
    reports = [one["id"] for one in asyncio.run(library.search("How do pumps behave?"))["results"] if "report/" in one["id"]]
    assert reports == sorted({*reports}, reverse=True) != [], "of those that are as near, the latest first"


def test_a_client_that_leaves_waits_for_a_portion_of_the_indexing_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(load_workspace(workspace(tmp_path / "workspace", 60)), tmp_path / "pages.sqlite")
    library._known()
    load = mock.Mock(side_effect=library._store.load)
    monkeypatch.setattr(library._store, "load", load)

    async def left() -> None:
        preparing = asyncio.create_task(library.prepare())
        await asyncio.sleep(0)
        preparing.cancel()

    asyncio.run(left())
    assert 0 < load.call_count < 60


@pytest.mark.parametrize("name", ["../../etc/passwd", "report/../x", "source/" + "0" * 64, "report/\x00", "☃" * 200, "report/"])
@pytest.mark.parametrize("tool", ["fetch", "report", "status"])
def test_a_hostile_id_finds_nothing(called: Call, tool: str, name: str) -> None:
    assert any(word in called(tool, id=name) for word in ("is no session", "is no id", "no session"))


def test_an_answer_holds_quotes_of_stored_pages(called: Call) -> None:
    done = called("ask", question="How do pumps behave?", scope=FIRST)
    assert all(one["quote"] for one in done["citations"])
    assert done["citations"]
    assert not called("ask", question="Who painted the chapel in Rome?")["found"]
    assert "nothing to search for" in called("ask", question="\x00"), "and it ends"
    assert "has the tag 'cheese'" in called("ask", question="How do pumps behave?", scope="#cheese")


def test_why_leads_from_a_sentence_to_its_quotes(called: Call) -> None:
    cited = called("report", id=FIRST)["citations"][0]
    (found,) = called("why", id=FIRST, sentence=cited["id"])["evidence"]
    assert found["fact"]["quote"] == cited["quote"]
    assert "no sentence like that" in called("why", id=FIRST, sentence="zebras in Ulaanbaatar")


def test_reading_tools_write_no_byte_and_need_no_lock(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 2)
    said(folder, "list")
    said(folder, "ask", "How do pumps behave?")
    call, before = caller(folder, tmp_path), everything(folder)
    for name, arguments in READING:
        assert not isinstance(call(name, **arguments), str), name
    assert everything(folder) == before


def test_a_session_that_comes_later_is_found_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 1)
    call = caller(folder, tmp_path)
    assert "is no session" in call("report", id=made_log.session_id(1))
    made_log.write(folder / "events", 1, 1)
    assert call("report", id=made_log.session_id(1))["session"]["status"] == "complete"
    (segment,) = (folder / "events" / "sessions" / FIRST / "events").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"pumps", b"PUMPS", 1))
    assert isinstance(call("report", id=FIRST), str)
    assert call("search", query="pumps")["results"]


def test_a_question_is_queued_only_where_the_settings_allow_it_and_within_their_caps(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "no", 1)
    assert "enqueue" in caller(folder, tmp_path)("enqueue", question="What do valves cost?")
    assert (folder / "queries.yaml").read_text() == QUEUE
    folder = workspace(tmp_path / "yes", 1, f"{ALLOWED}queries: []\n")
    call = caller(folder, tmp_path)
    done = call("enqueue", question="What do valves cost?", mode="deep", tags=["valves"], every="7d")
    queued = done["session"]
    assert (queued["status"], queued["mode"], queued["tags"]) == ("queued", "deep", ["mcp", "valves"])
    assert call("enqueue", question="What do pipes cost?")["session"]["status"] == "queued"
    assert "0.60 USD" in call("enqueue", question="What do taps cost?")
    text = (folder / "queries.yaml").read_text()
    assert (text.count("budget_usd: 0.25"), text.count('"mcp"'), text.count('every: "7d"')) == (2, 2, 1)
    assert call("status", id=queued["id"]) == done


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"question": "x"},
        {"question": "Why so?", "budget_usd": 0.01},
        {"question": "Why?" * 300},
        {"question": "Why so?", "every": "1s"},
        {"question": "Why so?", "mode": "wild"},
        {"question": "Why so?", "tags": ["a"] * 11},
        {"question": "a\x1b[2Jb c"},
    ],
)
def test_a_question_that_is_unfit_is_not_queued(tmp_path: Path, given: dict[str, Any]) -> None:
    folder = workspace(tmp_path / "workspace", 1, f"{ALLOWED}queries: []\n")
    said = caller(folder, tmp_path)("enqueue", **given)
    assert ("enqueue" in said, "pydantic" in said, said.count("\n") < 2) == (True, False, True), said
    assert (folder / "queries.yaml").read_text() == f"{ALLOWED}queries: []\n"
