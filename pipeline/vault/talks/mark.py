"""Whether a talk changed since the last build; a build with nothing to do imports no more of talks than this."""

from __future__ import annotations

from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of

MARK = "talks"  # the catalogue's entry for the talks that the last build showed


def talks_mark(store: EventStore) -> str:
    """Return a mark of all talks; "" if there is none."""
    marks = store.marks(("talk",))
    return digest_of(repr(sorted(marks.items())).encode())[:16] if marks else ""
