"""The event stream of a batch, in the same format as a session's."""

from __future__ import annotations

import secrets

from pipeline.engine.recorder import StreamLog as BatchLog

__all__ = ["BatchLog", "new_batch_id"]


def new_batch_id(at: str) -> str:
    """Return an id for a batch that starts at ``at``, an event's timestamp; ids sort by time."""
    return f"batch-{at[:19].replace(':', '').lower()}-{secrets.token_hex(2)}"
