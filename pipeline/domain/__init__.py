"""The events of a research session, the state computed from them, and the next steps. Pure: no I/O, no clock."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_FOLDING = (
    "fold.py",
    "state.py",
    "values.py",
    "events/session_events.py",
    "events/json_codec.py",
    "../text/ranking/rank_fusion.py",
    "../text/ranking/term_statistics.py",
)


@cache
def fold_id() -> str:
    """Return a name for this program's fold: the digest of the sources that decide what a snapshot holds.

    A program whose fold changed must not read the snapshots of the one before it, and nobody should have to remember a number.
    It is defined here so that nothing that folds is imported to find that there is nothing to fold.
    """
    here = Path(__file__).parent
    sources = (here / name for name in _FOLDING)
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
