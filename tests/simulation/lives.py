"""Whole lives by seed: what is wrong with one, and how to look at it again."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.domain.session import ResearchSession
from pipeline.errors import LogUnwritable
from tests.simulation.life import TROUBLED_NIGHTS, Life, life
from tests.simulation.promises import broken, recorded
from tests.simulation.talking import talks_in

QUIET_NIGHTS = 12
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made there


def lived(seed: int) -> list[str]:
    """Live the life of a seed; return every promise that was broken, in words."""
    with workspace() as root, life(seed, root) as found:
        return _troubled(found) or _put_right(found)


def happenings(seed: int) -> set[str]:
    """Live the life of a seed; return in a few words what came up in it."""
    met: set[str] = set()
    with workspace() as root, life(seed, root) as found:
        for _ in range(found.chance.randint(1, TROUBLED_NIGHTS)):
            ended = found.night(troubled=True)
            met |= {"died"} if ended.died else set()
            met |= {"unwritable"} if isinstance(ended.error, LogUnwritable) else set()
            met |= {"signal"} if ended.asked_at else set()
            for entry in ended.result.ended if ended.result else ():
                met |= {entry.status, entry.cause}
        for name in found.store.ids("session"):
            state = ResearchSession.open(found.store, name).state
            met |= {"resumed"} if len(state.runs) > 1 else set()
            met |= {"failed step"} if state.failures else set()
            met |= {"recalled"} if state.recalled else set()
        talks = talks_in(found.store).values()
        met |= {"asked back"} if any(turn.answer for talk in talks for turn in talk.turns) else set()
        met |= {"consolidated"} if any(found.store.ids("memory")) else set()
    return met


@contextmanager
def workspace() -> Iterator[Path]:
    """Give a folder for a log, in memory where that is possible."""
    root = Path(tempfile.mkdtemp(prefix="lives-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        yield root / "events"
    finally:
        shutil.rmtree(root)


def _troubled(found: Life) -> list[str]:
    for number in range(found.chance.randint(1, TROUBLED_NIGHTS)):
        known = recorded(found.store)
        wrong = broken(found, found.night(troubled=True), known)
        if wrong:
            return [f"night {number + 1}: {what}" for what in wrong]
    return []


def _put_right(found: Life) -> list[str]:
    """Clean nights until nothing is due. All that was begun must come to an end."""
    for number in range(QUIET_NIGHTS):
        known = recorded(found.store)
        ended = found.night(troubled=False)
        wrong = broken(found, ended, known)
        if ended.error is not None:
            wrong.append(f"it ended in {ended.error!r}")
        if wrong:
            return [f"quiet night {number + 1}: {what}" for what in wrong]
        if ended.result is not None and not ended.result.batch:
            return []
    return [f"after {QUIET_NIGHTS} quiet nights there is still work to do"]
