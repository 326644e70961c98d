"""Whether streams of a kind changed since the last build; a build with nothing to do imports no more of them than this."""

from __future__ import annotations

from pipeline.domain.events.records import Kind
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of

TALKS, IMPORTS = "talks", "imports"  # the catalogue's entries for what the last build showed of each


def stream_mark(store: EventStore, kind: Kind) -> str:
    """Return a mark of all streams of a kind; "" if there is none."""
    marks = store.marks((kind,))
    return digest_of(repr(sorted(marks.items())).encode())[:16] if marks else ""
