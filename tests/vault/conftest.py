"""A vault of its own for each test."""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in
from tests.vault.builders import TEMPLATES, Workplace, a_store, built


@pytest.fixture(scope="session")
def two_nights(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return built(tmp_path_factory.mktemp("two") / "w", a_store())


@pytest.fixture
def place(two_nights: Workplace, tmp_path: Path) -> Workplace:
    """A built vault with two nights' work, and templates that a test may change."""
    root = shutil.copytree(two_nights.root, tmp_path / "w")
    return Workplace(root, deepcopy(two_nights.store), shutil.copytree(TEMPLATES, tmp_path / "t"))


@pytest.fixture(scope="session")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    queue = "  - {query: How deep is the harbour at low tide?, id: depth, tags: [harbours]}\n"
    folder = workspace_in(tmp_path_factory.mktemp("first"), queue)
    assert said(folder, "-q", "run").code == 0
    return folder


@pytest.fixture
def folder(first_night: Path, tmp_path: Path) -> Path:
    """A workspace after its first night, without a model."""
    return Path(shutil.copytree(first_night, tmp_path / "workspace"))
