from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SessionUnknown, UsageError
from pipeline.ops.mcp.imported import ImportedSessions
from pipeline.ops.mcp.tools import Tools
from pipeline.wiring.workspace_adapters import store_of
from tests.adapters.imports.kit import everything
from tests.commanding import said, workspace_in

ASKED = "How do tide pools keep their oxygen at night?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = workspace_in(tmp_path / "ws", "  - {query: 'How deep is the harbour?', id: depth}\n")
    said(folder, "import", str(everything(tmp_path / "in")))
    return folder


@pytest.fixture
def tools(folder: Path) -> Tools:
    def no_talk(*_args: Any) -> Any:
        raise AssertionError("nothing is asked")

    return Tools(folder, store_of(folder), no_talk)


def test_a_search_finds_imports_only_if_they_are_asked_for(tools: Tools) -> None:
    assert tools.call("search", {"query": ASKED})["results"] == []
    first = tools.call("search", {"query": ASKED, "imported": True})["results"][0]
    assert first["title"] == f"[not checked] {ASKED}"
    assert first["id"].startswith("imported/import-go-research-how-do-tide-pools")


def test_a_fetched_import_begins_with_the_banner(tools: Tools) -> None:
    name = tools.call("search", {"query": ASKED, "imported": True})["results"][0]["id"]
    found = tools.call("fetch", {"id": name})
    assert found["text"].startswith("Not checked: it was imported")
    assert found["metadata"]["checked"] is False
    assert "Oxygen falls below 2 mg/l" in found["text"]
    read = tools.read(found["url"])
    assert (read["mimeType"], read["text"]) == ("text/markdown", found["text"])


def test_no_tool_takes_an_import_for_a_session(tools: Tools) -> None:
    name = tools.call("search", {"query": ASKED, "imported": True})["results"][0]["id"].removeprefix("imported/")
    for tool, more in (("report", {}), ("why", {"sentence": "oxygen"}), ("verify", {})):
        with pytest.raises(SessionUnknown, match="was imported and is not checked"):
            tools.call(tool, {"id": name, **more})
    assert (tools.call("status", {"id": name})["status"], tools.call("status", {"id": name})["checked"]) == ("imported", False)
    assert tools.call("whats_new", {"since": "900d"})["sessions"] == []
    with pytest.raises(UsageError, match="no session has stored a page"):
        tools.call("ask", {"question": ASKED})
    assert tools.resources() == []


def test_an_import_that_came_or_went_is_noticed(folder: Path) -> None:
    known = ImportedSessions(store_of(folder))
    (first, *_) = known.search(ASKED, 5)
    said(folder, "forget", first["id"].removeprefix("imported/"), "--yes")
    assert first not in known.search(ASKED, 5)
    with pytest.raises(SessionUnknown):
        known.fetched(first["id"].removeprefix("imported/"))
    assert json.dumps(known.search("barnacles in winter", 5))
