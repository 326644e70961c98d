"""A vault of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vault.builders import Workplace, a_store, built, changed_templates


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A built vault with two nights' work, and templates that a test may change."""
    return built(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))
