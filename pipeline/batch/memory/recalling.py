"""Recall for the new sessions of a run: memory is read when the first of them starts. A failure costs only the recall."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pipeline.batch.memory.reading import read_memory
from pipeline.config.values import Query
from pipeline.domain.memory.recall import MemoryIndex
from pipeline.domain.memory.values import Recalled
from pipeline.errors import LogError
from pipeline.ports import EventStore

_log = logging.getLogger("pipeline.batch.memory")


@dataclass
class Recaller:
    """Returns what earlier nights left on a question; what this run learns is recalled by the next."""

    store: EventStore
    _index: MemoryIndex | None = field(default=None, init=False)

    def __call__(self, query: Query, at: str) -> Recalled | None:
        """Return what is recalled for a session on ``query`` that starts ``at`` (an event's timestamp); None if nothing is."""
        try:
            self._index = self._index or MemoryIndex(read_memory(self.store))
        except LogError as error:
            _log.warning("nothing is recalled from earlier nights: %s", error.message)
            return None
        found = self._index.recall(query.text, query.id, query.tags, at)
        return None if found.is_empty else found
