from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.config import workspace_starter
from pipeline.config.keys import Keys, read_keys
from pipeline.config.workspace_settings import load_workspace
from pipeline.errors import LogDamaged, most_urgent
from pipeline.net.client import HttpClient, Policy
from pipeline.ops.console_output import begin, end, note_damage
from pipeline.ops.doctor import CheckResult, examine, local_findings, machine_findings, probe
from tests.commanding import said
from tests.ops.listening import listening
from tests.search.replies import Script, reply

QUEUE = "queries:\n- What is a heat pump?\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries.yaml").write_text(QUEUE)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("# A\n\ntext\n")
    return tmp_path


def bad(folder: Path, env: dict[str, str] | None = None) -> list[CheckResult]:
    found = examine(load_workspace(folder), read_keys(env or {}, folder))
    return [finding for finding in found if finding.level != "ok"]


@pytest.mark.parametrize(("code", "ends_with"), [(0, 20), (1, 20), (3, 20), (4, 20), (5, 20), (12, 20), (130, 130), (143, 143)])
def test_a_damaged_log_gives_20_whatever_else_but_for_a_signal(code: int, ends_with: int) -> None:
    begin(quiet=True, verbose=False)
    note_damage([LogDamaged("a record was altered")])
    with pytest.raises(SystemExit) as stop:
        end(code)
    begin(quiet=True, verbose=False)
    assert stop.value.code == ends_with


def test_the_worst_kind_of_problem_gives_the_exit_code() -> None:
    order = [20, 4, 12, 1, 2, 3, 5, 0]
    assert [most_urgent(set(order[place:])) for place in range(len(order))] == order


def only(findings: list[CheckResult]) -> CheckResult:
    (found,) = findings
    assert found.todo
    return found


def test_a_key_file_that_others_can_read_is_a_problem(folder: Path) -> None:
    (folder / "corpus" / "a.md").unlink()
    (folder / ".env").write_text("BRAVE_API_KEY=canary-key-1\n")
    (folder / ".env").chmod(0o640)
    assert "mode 640" in only(bad(folder)).text
    (folder / ".env").chmod(0o600)
    assert bad(folder) == []
    (folder / "key").write_text("canary-key-2")
    (folder / "key").chmod(0o644)
    assert only(bad(folder, {"TAVILY_API_KEY_FILE": "key"})).todo == f"chmod 600 {folder / 'key'}"


def test_no_finding_shows_a_key(folder: Path) -> None:
    (folder / ".env").write_text("BRAVE_API_KEY=canary-key-1\nOPENAI_API_KEY='canary\n canary canary=x\n")
    found = examine(load_workspace(folder), read_keys({"TAVILY_API_KEY": "canary 2"}, folder))
    assert found
    assert "canary" not in repr(found)


def test_keys_that_cannot_be_used_are_problems(folder: Path) -> None:
    assert {finding.about for finding in bad(folder, {"BRAVE_API_KEY_FILE": "nowhere"})} == {"keys", "search"}
    assert {finding.exit_code for finding in bad(folder, {"BRAVE_API_KEY_FILE": "nowhere"})} == {2}


def test_a_provider_without_its_key_is_a_problem_also_for_a_single_query(folder: Path) -> None:
    (folder / "queries.yaml").write_text("settings: {search: [tavily]}\nqueries:\n- {query: a, search: [searxng], model: b}\n")
    found = bad(folder)
    assert [finding.about for finding in found] == ["search", "query a"]
    assert {finding.exit_code for finding in found} == {2}


def test_a_proxy_that_pages_do_not_use_is_worth_a_note_without_its_password(folder: Path) -> None:
    [finding] = bad(folder, {"HTTPS_PROXY": "http://me:hunter-two@proxy.example.net:3128"})
    assert (finding.about, finding.text) == (
        "network",
        "pages are read without the proxy of HTTPS_PROXY: pages use only the setting `proxy:`",
    )
    assert "proxy: http://HOST:PORT under settings" in finding.todo
    [fault] = bad(folder, {"SSL_CERT_FILE": str(folder / "none.pem")})
    assert (fault.about, fault.level) == ("network", "problem")


def test_a_model_without_caps_or_prices_is_worth_a_note(folder: Path) -> None:
    (folder / "queries.yaml").write_text(
        f"settings: {{reasoner: {{model: m, base_url: 'http://10.0.0.7/v1', key: MY_KEY}}}}\n{QUEUE}"
    )
    found = bad(folder, {"MY_KEY": "canary-key-1"})
    assert [(finding.about, finding.level) for finding in found] == [
        ("reasoner", "problem"),
        ("budget", "note"),
        ("budget", "note"),
    ]
    assert "unencrypted" in found[0].text
    assert "no price is known for m" in found[2].text


def test_a_clock_behind_the_log_is_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(folder, "run").code in (0, 5)
    assert bad(folder) == []
    monkeypatch.setattr("pipeline.ops.doctor._SLACK", timedelta(days=-1))
    assert [(finding.about, "the newest session began" in finding.text) for finding in bad(folder)] == [("clock", True)]


def test_documents_beside_a_web_search_are_named_with_the_reason_and_what_that_means(folder: Path) -> None:
    env = {"BRAVE_API_KEY": "canary-key-1"}
    found = [finding for finding in examine(load_workspace(folder), Keys(folder, env)) if finding.about == "search"]
    assert [(finding.level, finding.text) for finding in found] == [
        ("ok", "local and brave (what has a key or an address, and your documents in corpus)"),
        ("note", "text of your documents can become part of web searches, nearly word for word"),
    ]
    assert "search: [local] or search: [brave]" in found[1].todo
    shutil.rmtree(folder / "corpus")
    shutil.copytree(workspace_starter.source() / "corpus", folder / "corpus")
    only_web = [finding.text for finding in examine(load_workspace(folder), Keys(folder, env)) if finding.about == "search"]
    assert only_web == ["brave (what has a key or an address; corpus holds only the sample documents)"]


def test_an_empty_folder_of_documents_matters_only_when_it_is_searched(folder: Path) -> None:
    (folder / "corpus" / "a.md").unlink()
    assert only(bad(folder)).about == "documents"
    assert bad(folder, {"BRAVE_API_KEY": "canary-key-1"}) == []
    (folder / "corpus").rmdir()
    assert only(bad(folder)).level == "problem"
    assert [finding.level for finding in bad(folder, {"BRAVE_API_KEY": "canary-key-1"})] == ["note"]


def test_the_command_prints_findings_and_what_to_do(folder: Path) -> None:
    (folder / ".env").write_text("nonsense\n")
    (folder / ".env").chmod(0o600)
    result = CliRunner().invoke(cli, ["-C", str(folder), "doctor"], env={"NO_COLOR": "1"})
    assert result.exit_code == 2
    assert (
        "problem  keys: .env:1: no NAME=value, with both quotation marks of a value or none\n         → write NAME=value"
        in result.stdout
    )
    value = json.loads(CliRunner().invoke(cli, ["-C", str(folder), "--json", "doctor"]).stdout)
    assert value["exit_code"] == 2
    assert {"about", "level", "text", "todo"} == set(value["findings"][0])


ENV = {"OPENROUTER_API_KEY": "router-canary", "BRAVE_API_KEY": "brave-canary"}
FOUND = {"type": "search", "web": {"results": [{"url": "https://e.org/", "title": "E"}]}}


def probed(folder: Path, env: dict[str, str], *replies: Any) -> tuple[list[CheckResult], Script]:
    script = Script(*replies)

    async def ask() -> list[CheckResult]:
        http = HttpClient(Policy(attempts=1), transport=script)
        return [finding async for finding in probe(load_workspace(folder), Keys(folder, env), http)]

    return asyncio.run(ask()), script


def test_each_service_is_asked_once(folder: Path) -> None:
    found, script = probed(folder, ENV, reply({"data": {"limit_remaining": 7.4}}), reply(FOUND))
    assert [(finding.level, finding.text) for finding in found] == [
        ("ok", "the key is valid; 7.40 USD are left of its limit"),
        ("ok", "it answers, with 1 hit"),
    ]
    assert [request.url.path for request in script.requests] == ["/api/v1/key", "/res/v1/web/search"]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (reply({"error": {"message": "No auth credentials found", "code": 401}}, 401), 4),
        (reply({"data": {"limit_remaining": 0}}), 4),
        (reply("<html></html>"), 1),
        (reply({}), 1),
        (ConnectionResetError(), 1),
    ],
)
def test_a_refusal_and_a_fault_of_the_network_are_told_apart(folder: Path, first: Any, code: int) -> None:
    found, _ = probed(folder, ENV, first, reply(FOUND))
    assert [finding.exit_code for finding in found] == [code, 0]
    assert found[0].todo
    assert "canary" not in repr(found)


def test_a_server_is_asked_for_its_models(folder: Path) -> None:
    (folder / "queries.yaml").write_text(
        f"settings: {{reasoner: {{model: qwen3, base_url: 'https://models.example.org/v1'}}}}\n{QUEUE}"
    )
    listed = {"data": [{"id": "qwen3"}, {"id": "llama"}]}
    assert probed(folder, {}, reply(listed))[0][0].text == "it answers, and has qwen3"
    (missing,) = probed(folder, {}, reply({"data": [{"id": "llama"}, None]}))[0]
    assert (missing.exit_code, missing.todo) == (2, "it has: llama")


EMBEDDINGS = "embeddings: {model: tiny, base_url: 'http://vectors.example.org/v1', key: MINE}"


def test_the_findings_on_embeddings_say_where_texts_are_sent_and_what_is_missing(folder: Path) -> None:
    (folder / "queries.yaml").write_text(f"settings: {{{EMBEDDINGS}}}\n{QUEUE}")
    found = examine(load_workspace(folder), Keys(folder, {"MINE": "my-canary"}))
    (where,) = [finding.text for finding in found if finding.about == "embeddings" and finding.level == "ok"]
    assert where == "tiny at http://vectors.example.org/v1; the text of your documents and stored pages is sent there"
    faults = [finding.text for finding in bad(folder, {"MINE": "my-canary"}) if finding.about == "embeddings"]
    assert [text.split(",")[0] for text in faults] == [
        "the key goes to http://vectors.example.org/v1 unencrypted",
        "no price is known for tiny",
    ]
    (missing,) = [finding for finding in bad(folder) if finding.about == "embeddings"]
    assert (missing.exit_code, "MINE is not set" in missing.text) == (2, True)


VECTORS = {"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 4]}]}
SCORES = {"results": [{"index": 1, "relevance_score": 0.2}, {"index": 0, "relevance_score": 0.9}]}


@pytest.mark.parametrize(
    ("kind", "path", "said", "sent"),
    [("embeddings", "embeddings", "gives vectors of 3 numbers", VECTORS), ("reranker", "rerank", "gives scores", SCORES)],
)
def test_servers_of_vectors_and_rerankers_are_asked_for_two(folder: Path, kind: str, path: str, said: str, sent: Any) -> None:
    (folder / "queries.yaml").write_text(f"settings: {{{EMBEDDINGS.replace('embeddings', kind)}}}\n{QUEUE}")
    found, script = probed(folder, {"MINE": "my-canary"}, reply(sent))
    assert [(one.about, one.level, one.text) for one in found] == [(kind, "ok", f"it answers, and tiny {said}")]
    assert [request.url.path for request in script.requests] == [f"/v1/{path}"]
    (refused,) = probed(folder, {"MINE": "my-canary"}, reply({"error": {"message": "no such key my-canary"}}, 401))[0]
    assert (refused.exit_code, "canary" in repr(refused)) == (4, False)


def test_clocks_that_differ_by_more_than_a_few_seconds_are_named_with_the_direction() -> None:
    (fine,), (ahead,), (behind,) = (list(machine_findings(seconds, ["north"]))[:1] for seconds in (-4.0, 90.0, -90.0))
    assert (fine.level, ahead.level, behind.level) == ("ok", "note", "note")
    assert "90 s ahead of" in ahead.text
    assert "90 s behind" in behind.text


def test_the_queue_in_a_database_is_checked(folder: Path, monkeypatch: pytest.MonkeyPatch, postgres_store_url: str) -> None:
    monkeypatch.setenv("RESEARCH_STORE", postgres_store_url)
    found = [one.text for one in examine(load_workspace(folder), Keys(folder)) if one.about == "machines"]
    idle = "no worker is connected: research work starts one"
    assert found == ["the clocks of this machine and of the database agree", idle]


MODELS = {"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen3:14b"}, {"id": "gemma3"}]}


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    with listening(getattr(request, "param", json.dumps(MODELS).encode())) as one:
        yield one.port


def test_init_and_doctor_print_the_lines_that_use_a_server_on_this_machine_and_do_not_use_it(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_findings, "__defaults__", ({"Ollama": port},))
    folder = tmp_path / "w"
    line = f'  reasoner: {{model: "qwen3:14b", base_url: "http://localhost:{port}/v1"}}'
    for arguments in (["init", str(folder)], ["-C", str(folder), "doctor"]):
        printed = CliRunner().invoke(cli, arguments).output
        assert "Ollama answers on this machine, with qwen3:14b, gemma3" in printed
        assert line in printed
    assert load_workspace(folder).queue.settings.reasoner == "auto"
    (folder / "queries.yaml").write_text(f"settings:\n{line}\nqueries: [a]\n")
    assert getattr(load_workspace(folder).queue.settings.reasoner, "model", "") == "qwen3:14b"


@pytest.mark.parametrize("port", [b"<html>", b"[]", b'{"data": [1, {"id": 2}, {"id": "embed"}]}', b"\xff"], indirect=True)
def test_what_is_no_model_server_is_not_mentioned(port: int) -> None:
    assert local_findings({"Ollama": port, "nobody": 9}) == []
