"""The night's own stream, in the same format as a session's."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import record_of, stamped
from pipeline.engine.run_context import RunContext
from pipeline.ports import EventStore
from pipeline.text.times import timestamp


@dataclass
class BatchLog:
    """Where one night records. ``id`` is the batch's, ``version`` that of its last event so far."""

    store: EventStore
    context: RunContext
    id: str
    version: int = 0

    def record(self, *drafts: EventBase) -> None:
        """Stamp and store.

        Raises:
            LogError: it could not be stored.
        """
        if self.version == 0:
            drafts = (self.context.agent, *drafts)
        at = timestamp(self.context.now())
        run_id, numbered = self.context.run_id, enumerate(drafts, self.version + 1)
        events = [stamped(draft, self.id, version, run_id, self.context.new_id(), at) for version, draft in numbered]
        self.version = self.store.append(self.id, [record_of(event) for event in events], self.version)
