"""The queue in memory, which other tests use, keeps the contract of the real one."""

from __future__ import annotations

import pytest

from tests.adapters.dispatch.contract import DispatcherContract
from tests.dispatching import MemoryDispatcher


class TestMemoryDispatcher(DispatcherContract):
    @pytest.fixture
    def queue(self) -> MemoryDispatcher:
        return MemoryDispatcher()
