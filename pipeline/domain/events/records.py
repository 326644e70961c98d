"""Events and folded states as storage sees them: an envelope and bytes."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """An event as storage sees it: the envelope, and ``data``, the whole event's canonical JSON object (one line)."""

    id: str
    session_id: str
    version: int
    type: str
    at: str
    run_id: str
    data: bytes


class Snapshot(NamedTuple):
    """A folded state after the event ``version``; ``fold_id`` names the program's fold that made it."""

    version: int
    fold_id: str
    state: bytes
