"""How long the tools of ``research mcp`` take: ``python -m bench.mcp [SESSIONS]`` (default 50), each the first time and again."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import made_log
from tests.commanding import said
from tests.ops.test_mcp_server import Call, caller, workspace


def main() -> None:
    """Make the workspace, call each tool twice, print the seconds."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory(prefix="bench-mcp-") as scratch:
        folder, name = workspace(Path(scratch) / "workspace", sessions), made_log.session_id(sessions // 2)
        question = f"How do pumps of make {sessions // 2} behave?"
        said(folder, "list")  # as a night leaves it: with its summaries and the index of its pages
        said(folder, "ask", question)
        called = caller(folder, Path(scratch))
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("search", {"query": question}),
            ("ask", {"question": question}),
            ("fetch", {"id": f"report/{name}"}),
            ("report", {"id": name}),
            ("whats_new", {"since": "2020-01-01"}),
            ("status", {"id": name}),
        )
        for tool, arguments in calls:
            print(f"{tool:<10} {_seconds(called, tool, arguments):6.3f} s, again {_seconds(called, tool, arguments):6.3f} s")


def _seconds(called: Call, tool: str, arguments: dict[str, Any]) -> float:
    began = time.perf_counter()
    called(tool, **arguments)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
