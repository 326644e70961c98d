from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.embedding_server import Stage, serving


@pytest.fixture
def stage() -> Iterator[Stage]:
    with serving() as stage:
        yield stage
