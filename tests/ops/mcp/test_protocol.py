"""One message in, at most one message out, whatever the message."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.ops.mcp import stdio_server
from pipeline.ops.mcp.protocol import INTERNAL, INVALID_PARAMS, INVALID_REQUEST, NO_SUCH_METHOD, PARSE_ERROR, VERSIONS, reply_to


class Small:
    """A server with one tool that fails as it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def instructions(self) -> str:
        return "Ask."

    def tools(self) -> list[dict[str, Any]]:
        return [{"name": "echo"}]

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self.error:
            raise self.error
        return {"name": name, **arguments}

    def resources(self) -> list[dict[str, Any]]:
        return []

    def templates(self) -> list[dict[str, Any]]:
        return []

    def read(self, uri: str) -> dict[str, Any]:
        return {"uri": uri, "text": "ü"}


def reply(message: object, served: Small | None = None) -> Any:
    data = reply_to(message if isinstance(message, bytes) else json.dumps(message).encode(), served or Small())
    assert data.count(b"\n") == bool(data)
    return json.loads(data) if data else None


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"3", INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b'{"id": 1}', INVALID_REQUEST),
        (b'{"id": {}, "method": "ping"}', INVALID_REQUEST),
        (b'{"id": null, "method": "ping"}', INVALID_REQUEST),
        (b'{"id": 1, "method": "ping", "params": [1]}', INVALID_REQUEST),
        (b'{"id": 1, "method": "no/such"}', NO_SUCH_METHOD),
        (b'{"id": 1, "method": "server/discover"}', NO_SUCH_METHOD),
        (b'{"id": 1, "method": "tools/call", "params": {}}', INVALID_PARAMS),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": [1]}}', INVALID_PARAMS),
        (b'{"id": 1, "method": "resources/read", "params": {"uri": 3}}', INVALID_PARAMS),
    ],
)
def test_what_is_no_request_is_answered_with_an_error(message: bytes, code: int) -> None:
    assert reply(message)["error"]["code"] == code


@pytest.mark.parametrize("message", [{"method": "notifications/initialized"}, {"id": 1, "result": {}}, {"id": 1, "error": {}}])
def test_a_notification_or_a_reply_is_not_answered(message: object) -> None:
    assert reply(message) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_the_handshake_speaks_the_clients_version(version: str) -> None:
    assert reply(request("initialize", protocolVersion=version))["result"]["protocolVersion"] == version


def test_the_handshake_offers_its_own_version_to_a_client_that_speaks_none_of_ours() -> None:
    assert reply(request("initialize", protocolVersion="1999-01-01"))["result"]["protocolVersion"] == VERSIONS[0]


def test_a_batch_is_answered_as_a_batch() -> None:
    found = reply([request("ping"), {"method": "notifications/initialized"}, request("tools/list")])
    assert [one["result"] for one in found] == [{}, {"tools": [{"name": "echo"}]}]


def test_what_a_tool_cannot_do_is_told_to_the_model() -> None:
    said = reply(request("tools/call", name="echo"), Small(UsageError("it is shut", hint="open it")))["result"]
    assert said == {"content": [{"type": "text", "text": "it is shut\n  → open it"}], "isError": True}


def test_a_fault_of_the_program_ends_one_request_only() -> None:
    broken = Small(ZeroDivisionError("secret"))
    said = reply(request("tools/call", name="echo"), broken)["error"]
    assert said["code"] == INTERNAL
    assert "secret" not in said["message"]
    assert reply(request("ping"), broken)["result"] == {}


def test_a_value_comes_as_text_and_as_a_structure() -> None:
    said = reply(request("tools/call", name="echo", arguments={"a": "ä"}))["result"]
    assert said["structuredContent"] == json.loads(said["content"][0]["text"]) == {"name": "echo", "a": "ä"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "method", "params", "name"]), inner),
    max_leaves=8,
)


@given(VALUES | st.fixed_dictionaries({"id": VALUES, "method": st.sampled_from(["ping", "tools/call"]), "params": VALUES}))
def test_any_json_is_answered_or_passed_over(message: object) -> None:
    said = reply(message)
    for one in said if isinstance(said, list) else [said]:
        assert one is None or {"result", "error"} & one.keys()


def test_messages_are_lines_and_a_long_one_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_server, "LONGEST", 200)
    ping = json.dumps(request("ping")).encode()
    incoming, outgoing = io.BytesIO(b"\n" + b"x" * 1_000 + b"\n" + ping + b"\n\n" + ping), io.BytesIO()
    stdio_server.serve(Small(), incoming, outgoing)
    said = [json.loads(line) for line in outgoing.getvalue().splitlines()]
    assert [one.get("result", one.get("error", {}).get("code")) for one in said] == [INVALID_REQUEST, {}, {}]
