"""A digest of the program's own sources: after an upgrade, what the old program made is made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipeline.system.files import read_bytes

_PACKAGE = Path(__file__).parents[1]
_SHARED = ("system", "text")  # rooms that decide how templates are rendered and how text is cut and judged


@cache
def program_id(room: str) -> str:
    """Return a digest of the sources of a room and of the rooms that it shares with others; a release need not change it.

    Raises:
        OSError: a source cannot be read.
    """
    return digest_of_sources(sources(room))


def sources(room: str) -> tuple[Path, ...]:
    """Return the files that ``program_id`` covers."""
    return tuple(path for name in (room, *_SHARED) for path in sorted((_PACKAGE / name).rglob("*.py")))


def digest_of_sources(paths: Iterable[Path]) -> str:
    """Return a short digest of files of the program, in this order.

    Raises:
        OSError: one cannot be read.
    """
    return hashlib.sha256(b"".join(read_bytes(path) for path in paths)).hexdigest()[:16]
