"""The tools, over sessions that a run left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import made_log
from pipeline.ops.mcp.tools import Tools
from pipeline.text.normalise import normalised
from tests.ops.mcp.kit import QUEUE, asked, called, tools, workspace

READING: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "pumps"}),
    ("ask", {"question": "How do pumps behave?"}),
    ("fetch", {"id": f"report/{made_log.session_id(0)}"}),
    ("report", {"id": made_log.session_id(0)}),
    ("why", {"id": made_log.session_id(0), "sentence": "pumps"}),
    ("whats_new", {"since": "3650d"}),
    ("verify", {"id": made_log.session_id(0)}),
    ("status", {"id": made_log.question_id(1)}),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("mcp")
    return tools(workspace(folder / "workspace", 3), folder)


def test_search_and_fetch_have_the_shape_that_connectors_expect(served: Tools) -> None:
    found = called(served, "search", query="How do pumps of make 1 behave?")
    assert found.keys() == {"results"}
    assert all(one.keys() == {"id", "title", "url"} for one in found["results"])
    assert found["results"]
    for one in found["results"]:
        whole = called(served, "fetch", id=one["id"])
        assert whole.keys() == {"id", "title", "text", "url", "metadata"}
        assert (whole["id"], whole["url"]) == (one["id"], one["url"])
        assert whole["text"]


def test_the_report_on_the_question_comes_first(served: Tools) -> None:
    found = called(served, "search", query="How do pumps of make 1 behave?")["results"]
    reports = [one["id"] for one in found if one["id"].startswith("report/")]
    assert reports[0] == f"report/{made_log.session_id(1)}"


def test_a_search_for_words_that_nothing_holds_finds_nothing(served: Tools) -> None:
    assert called(served, "search", query="zebra crossings in Ulaanbaatar") == {"results": []}


def test_each_citation_of_a_report_holds_a_quote_at_its_offsets_of_a_stored_page(served: Tools) -> None:
    report = called(served, "report", id=made_log.session_id(0))
    assert [one["n"] for one in report["citations"]] == list(range(1, len(report["citations"]) + 1))
    assert report["citations"]
    for one in report["citations"]:
        page = normalised(called(served, "fetch", id=f"source/{one['page_sha256']}")["text"])
        assert normalised(one["quote"]) in page
        if one["offsets"]:
            assert page[slice(*one["offsets"])] == normalised(one["quote"])
        assert f"[{one['n']}]" in report["text"]


def test_a_session_is_found_by_its_querys_id(served: Tools) -> None:
    assert called(served, "status", id=made_log.question_id(2))["id"] == made_log.session_id(2)


def test_a_question_that_waits_in_the_queue_has_a_status(served: Tools) -> None:
    assert called(served, "status", id="how-do-valves-behave")["status"] == "queued"


def test_verify_finds_a_sound_session_sound(served: Tools) -> None:
    said = called(served, "verify", id=made_log.session_id(0))
    assert (said["sound"], said["unsupported"]) == (True, [])
    assert said["citations"]


def test_what_is_new_is_what_ended_since(served: Tools) -> None:
    ended = called(served, "whats_new", since="2020-01-01T00:00Z")["sessions"]
    assert len(ended) == 3
    assert all(one["answer"] for one in ended)
    assert called(served, "whats_new", since="2020-01-02T12:00Z")["sessions"] == []


@pytest.mark.parametrize("since", ["soon", "0x7", "9999999d", "999999d", "2026-13-45", "06:30"])
def test_what_is_no_moment_is_told(served: Tools, since: str) -> None:
    assert "is not a moment" in called(served, "whats_new", since=since)


@pytest.mark.parametrize("name", ["../../etc/passwd", "report/../x", "source/" + "0" * 64, "report/\x00", "☃" * 200, "report/"])
@pytest.mark.parametrize("tool", ["fetch", "report", "verify", "status"])
def test_a_hostile_id_finds_nothing(served: Tools, tool: str, name: str) -> None:
    assert any(word in called(served, tool, id=name) for word in ("there is no", "is no id", "no session"))


def test_an_overlong_or_unknown_argument_is_refused_by_name(served: Tools) -> None:
    assert "query" in called(served, "search", query="x" * 10_001)
    assert "results" in called(served, "search", query="pumps " * 1_600)
    assert "found" in called(served, "ask", question="pumps " * 1_600)
    assert "limit" in called(served, "search", query="pumps", limit=3)


def test_an_answer_holds_quotes_of_stored_pages(served: Tools) -> None:
    said = called(served, "ask", question="How do pumps behave?", scope=made_log.session_id(0))
    assert said["found"]
    assert all(one["quote"] for one in said["citations"])
    assert not called(served, "ask", question="Who painted the chapel in Rome?")["found"]


def test_why_leads_from_a_sentence_to_its_quotes_and_searches(served: Tools) -> None:
    cited = called(served, "report", id=made_log.session_id(0))["citations"][0]
    (found,) = called(served, "why", id=made_log.session_id(0), sentence=cited["fact"])["evidence"]
    assert found["fact"]["quote"] == cited["quote"]
    assert found["origins"]
    assert "no sentence like that" in called(served, "why", id=made_log.session_id(0), sentence="zebras in Ulaanbaatar")


def test_reports_and_sources_are_resources(served: Tools) -> None:
    listed = asked(served, "resources/list")["resources"]
    assert len(listed) == 3
    assert asked(served, "resources/read", uri=listed[0]["uri"])["contents"][0]["text"].startswith("# ")
    assert {one["uriTemplate"] for one in asked(served, "resources/templates/list")["resourceTemplates"]} == {
        "research://report/{id}",
        "research://source/{sha256}",
    }
    assert "there is no resource" in asked(served, "resources/read", uri="file:///etc/passwd")["message"]


def test_reading_tools_write_no_byte_and_need_no_lock(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 2)
    served = tools(folder, tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in sorted(folder.rglob("*"))}
    for name, arguments in READING:
        assert not isinstance(called(served, name, **arguments), str), name
    assert before == {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in sorted(folder.rglob("*"))}


def test_every_tool_but_enqueue_is_said_to_read_only(served: Tools, tmp_path: Path) -> None:
    allowed = tools(workspace(tmp_path / "w", 1, f"{ALLOWED}queries: []\n"), tmp_path)
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in allowed.tools()}
    assert hints == {**{name: True for name, _ in READING}, "enqueue": False}
    assert {tool["name"] for tool in served.tools()} == {name for name, _ in READING}


def test_a_session_that_comes_later_is_found_and_one_that_goes_is_not(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 1)
    served = tools(folder, tmp_path)
    assert "there is no session" in called(served, "report", id=made_log.session_id(1))
    made_log.write(folder / "events", 1, 1)
    assert called(served, "report", id=made_log.session_id(1))["status"] == "complete"


def test_a_damaged_session_is_told_and_the_others_are_served(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 2)
    (segment,) = (folder / "events" / "sessions" / made_log.session_id(0) / "events").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"pumps", b"PUMPS", 1))
    served = tools(folder, tmp_path)
    assert "cannot be read" in called(served, "report", id=made_log.session_id(0))
    assert called(served, "report", id=made_log.session_id(1))["status"] == "complete"


ALLOWED = "settings:\n  mcp: {enqueue: true, questions: 3, each_usd: 0.25, cost_usd: 0.60}\n"


def test_a_question_is_queued_only_where_the_settings_allow_it(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 1)
    assert "takes no questions" in called(tools(folder, tmp_path), "enqueue", question="What do valves cost?")
    assert (folder / "queries.yaml").read_text() == QUEUE


def test_a_queued_question_has_a_cap_and_all_of_them_have_one(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 1, f"{ALLOWED}queries: []\n")
    served = tools(folder, tmp_path)
    said = called(served, "enqueue", question="What do valves cost?", mode="deep", tags=["valves"], every="7d")
    assert said["status"] == "queued"
    assert called(served, "enqueue", question="What do pipes cost?")["status"] == "queued"
    assert "0.60 USD" in called(served, "enqueue", question="What do taps cost?")
    text = (folder / "queries.yaml").read_text()
    assert text.count("budget_usd: 0.25") == 2
    assert text.count('"mcp"') == 2
    assert 'every: "7d"' in text
    assert called(served, "status", id=said["id"])["status"] == "queued"


def test_there_is_a_most_of_queued_questions(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", 1, f"{ALLOWED.replace('0.60', '9.00')}queries: []\n")
    served = tools(folder, tmp_path)
    said = [called(served, "enqueue", question=f"What do pipes of {size} inches cost?") for size in range(4)]
    assert [isinstance(one, str) for one in said] == [False, False, False, True]


@pytest.mark.parametrize(
    "given",
    [
        {"question": "x"},
        {"question": "Why?" * 300},
        {"question": "Why so?", "every": "1s"},
        {"question": "Why so?", "mode": "wild"},
        {"question": "Why so?", "budget_usd": 99},
        {"question": "Why so?", "tags": ["a"] * 11},
        {"question": "a\x1b[2Jb c"},
    ],
)
def test_a_question_that_is_unfit_is_not_queued(tmp_path: Path, given: dict[str, Any]) -> None:
    folder = workspace(tmp_path / "workspace", 1, f"{ALLOWED}queries: []\n")
    assert isinstance(called(tools(folder, tmp_path), "enqueue", **given), str)
    assert (folder / "queries.yaml").read_text() == f"{ALLOWED}queries: []\n"


def test_what_a_session_says_is_json_whatever_it_holds(served: Tools) -> None:
    for name, arguments in READING:
        assert json.loads(json.dumps(called(served, name, **arguments)))
