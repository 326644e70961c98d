"""A disk for simulated lives: it can fail, the process can die at any of its operations, and the power can go with it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline.system import files
from tests.store.faults import FaultyDisk


class Died(BaseException):
    """The process is no more. No ``except Exception`` may see it."""


class MortalDisk(FaultyDisk):
    """``left`` counts the operations until the process dies; None: it lives. Once dead, nothing reaches the disk any more."""

    def __init__(self, chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(chance, monkeypatch)
        self.left: int | None = None
        self.dead = False
        for name in ("_write", "_link", "_fsync", "_fdatasync"):
            monkeypatch.setattr(files, name, self._mortal(getattr(files, name)))

    def _mortal(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self.left is not None:
                self.left -= 1
                self.dead = self.dead or self.left < 0
            if self.dead:
                raise Died
            return operation(*arguments)

        return call

    def revive(self, root: Path, *, power_cut: bool) -> None:
        """A new process, on a disk whose power may have been cut."""
        self.dead, self.left, self.rate = False, None, 0.0
        if power_cut:
            self.power_cut(root)


@contextmanager
def mortal_disk(chance: random.Random) -> Iterator[MortalDisk]:
    """Put such a disk under the store."""
    with pytest.MonkeyPatch.context() as patch:
        mortal = MortalDisk(chance, patch)
        try:
            yield mortal
        finally:
            mortal.forget()
