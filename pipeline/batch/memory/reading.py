"""Reads the memory streams of a store. A damaged one is reported and hides none of the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.memory.fold import Memory, remember
from pipeline.errors import LogError
from pipeline.ports import EventStore

_log = logging.getLogger("pipeline.batch.memory")


def read_memory(store: EventStore) -> Memory:
    """Return what all consolidations left. What a damaged stream held is due again, and is warned of."""
    return remember(memory_events(store))


def memory_events(store: EventStore) -> Iterator[EventBase]:
    """Yield the events of all memory streams that can be read."""
    for name in store.ids("memory"):
        try:
            yield from decode_all(record.data for record in store.load(name))
        except LogError as error:
            _log.warning("%s is not remembered: %s", name, error.message)
