"""Whether memory changed since the last build; a build with nothing to do imports no more of it than this."""

from __future__ import annotations

from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of

MARK = "memory"  # the catalogue's entry for the memory that the last build showed


def memory_mark(store: EventStore) -> str:
    """Return a mark of all memory streams; "" if there is none."""
    marks = store.marks(("memory",))
    return digest_of(repr(sorted(marks.items())).encode())[:16] if marks else ""
