"""Events and folded states as storage sees them: an envelope and bytes. Also the kinds of streams, which ids tell apart."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal["session", "batch", "memory", "talk", "prune"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def kind_of(stream: str) -> Kind:
    """Return the kind of a stream: that of its id's prefix (``batch-``, ``memory-``, ``talk-``, ``prune-``), else a session."""
    return next((kind for kind in KINDS[1:] if stream.startswith(f"{kind}-")), "session")


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
