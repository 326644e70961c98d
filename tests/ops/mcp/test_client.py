"""The official client of the protocol, over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import made_log
from tests.ops.mcp.kit import workspace

mcp = pytest.importorskip("mcp")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_runs_every_tool_over_fifty_sessions(tmp_path: Path, mode: str) -> None:
    folder = workspace(tmp_path / "workspace", 50)
    name = made_log.session_id(7)
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "How do pumps of make 7 behave?"},
        "fetch": {"id": f"report/{name}"},
        "ask": {"question": "How do pumps behave?", "scope": name},
        "report": {"id": name},
        "why": {"id": name, "sentence": "pumps"},
        "whats_new": {"since": "2020-01-01"},
        "verify": {"id": name},
        "status": {"id": name},
    }
    asyncio.run(_run(folder, mode, calls))


async def _run(folder: Path, mode: str, calls: dict[str, dict[str, Any]]) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "pipeline", "-C", str(folder), "mcp"])
    async with Client(stdio_client(command), mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == calls.keys()
        for name, arguments in calls.items():
            said = await client.call_tool(name, arguments)
            assert not said.is_error, (name, said)
            assert said.structured_content
        refused = await client.call_tool("fetch", {"id": "../../etc/passwd"})
        assert refused.is_error
        resources = (await client.list_resources()).resources
        assert len(resources) == 50
        assert (await client.read_resource(str(resources[0].uri))).contents
