"""A workspace of finished sessions, and a server on it that is called in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import made_log
from pipeline.adapters.store.file_store import FileStore
from pipeline.ops.mcp.protocol import reply_to
from pipeline.ops.mcp.tools import Tools
from pipeline.wiring.talk_adapters import unrecorded_talks
from tests.recorded import recorded

QUEUE = "settings:\n  reasoner: extractive\n  search: [local]\nqueries:\n  - How do valves behave?\n"


def workspace(folder: Path, sessions: int, queue: str = QUEUE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "queries.yaml").write_text(queue)
    made_log.write(folder / "events", sessions)
    store = FileStore(folder / "events")
    for data in recorded(**made_log.EVENTS).objects.values():
        store.put(data)
    return folder


def tools(folder: Path, scratch: Path) -> Tools:
    store = FileStore(folder / "events")
    return Tools(folder, store, unrecorded_talks(store, scratch / "pages.sqlite"))


def asked(served: Tools, method: str, **params: Any) -> Any:
    """The result of one request, or its error."""
    reply = json.loads(reply_to(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode(), served))
    return reply.get("result", reply.get("error"))


def called(served: Tools, name: str, **arguments: Any) -> Any:
    """The value of one tool call, or the text of its error."""
    result = asked(served, "tools/call", name=name, arguments=arguments)
    return result["content"][0]["text"] if result.get("isError") else result.get("structuredContent", result)
