from __future__ import annotations

from pathlib import Path

import pytest

from tests.commanding import said, workspace_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace after a run."""
    folder = workspace_in(tmp_path / "ws", "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n")
    assert said(folder, "-q", "run").code == 0
    return folder
