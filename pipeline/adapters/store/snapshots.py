"""Snapshots: a disposable cache of folded states. A snapshot with any problem counts as missing."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

from pipeline.domain.events.records import Snapshot
from pipeline.system import files
from pipeline.text.normalise import digest_of

_STATE = b',"state":'


class Stored(NamedTuple):
    """A snapshot, and the hash of the last record in it."""

    snapshot: Snapshot
    hash: bytes


def write(path: Path, stored: Stored) -> None:
    """Keep a snapshot. It need not be durable: a damaged one is not believed.

    Raises:
        OSError: the disk refuses.
    """
    version, fold_id, state = stored.snapshot
    head = {"version": version, "hash": stored.hash.decode(), "fold_id": fold_id, "digest": _digest(stored)}
    files.make_directories(path.parent)
    files.write(path, json.dumps(head).encode()[:-1] + _STATE + state + b"}", mode=0o600)


def read(path: Path, fold_id: str) -> Stored | None:
    """Return the stored snapshot if that fold made it and its bytes are sound."""
    try:
        head, _, state = files.read_bytes(path)[:-1].partition(_STATE)
        fields = json.loads(head + b"}")
        stored = Stored(Snapshot(int(fields["version"]), fold_id, state), str(fields["hash"]).encode())
        return stored if fields["digest"] == _digest(stored) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_valid(hash_: bytes, segments: list[Path]) -> bool:
    """Return whether a record of that hash is still stored in one of the segments."""
    needle = b',"hash":"%b"}' % hash_
    with contextlib.suppress(OSError):
        return any(needle in files.read_bytes(path) for path in reversed(segments))
    return False


def _digest(stored: Stored) -> str:
    version, fold_id, state = stored.snapshot
    return digest_of(b"%d %b %b %b" % (version, stored.hash, fold_id.encode(), state))
