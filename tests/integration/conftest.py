"""The stage is set once a worker process, and emptied before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.stage import Stage, staged


@pytest.fixture(scope="session")
def one_stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


@pytest.fixture
def stage(one_stage: Stage) -> Stage:
    one_stage.standin.reset()
    return one_stage
