"""A vault of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commanding import said, workspace_in
from tests.vault.builders import Workplace, a_store, built, changed_templates


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A built vault with two nights' work, and templates that a test may change."""
    return built(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace after its first night, without a model."""
    folder = workspace_in(tmp_path, "  - {query: How deep is the harbour at low tide?, id: depth, tags: [harbours]}\n")
    assert said(folder, "-q", "run").code == 0
    return folder
