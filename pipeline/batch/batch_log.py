"""The event stream of a batch, in the same format as a session's."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import record_of, stamped
from pipeline.engine.run_context import RunContext
from pipeline.ports import EventStore
from pipeline.text.times import timestamp


def new_batch_id(at: str) -> str:
    """Return an id for a batch that starts at ``at``, an event's timestamp; ids sort by time."""
    return f"batch-{at[:19].replace(':', '').lower()}-{secrets.token_hex(2)}"


@dataclass
class BatchLog:
    """The event stream of one batch. ``id`` is the batch's, ``version`` that of its last event so far."""

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
