from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedding_server import Stage, serving


@pytest.fixture
def stage() -> Iterator[Stage]:
    with serving() as stage:
        yield stage


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder
