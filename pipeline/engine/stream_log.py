"""Records events in a stream that is no session: a batch's, a consolidation's. Its segments have the format of a session's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import record_of, stamped
from pipeline.engine.run_context import RunContext
from pipeline.ports import EventStore
from pipeline.text.times import timestamp


@dataclass
class StreamLog:
    """The event stream of one batch or consolidation. ``version`` is that of its last event so far."""

    store: EventStore
    context: RunContext
    id: str
    version: int = 0

    def record(self, *drafts: EventBase, objects: Sequence[bytes] = ()) -> tuple[EventBase, ...]:
        """Stamp and store, the ``objects`` that they name first; return the stamped events.

        Raises:
            LogError: it could not be stored.
        """
        if self.version == 0:
            drafts = (self.context.agent, *drafts)
        for data in objects:
            self.store.put(data)
        at = timestamp(self.context.now())
        run_id, numbered = self.context.run_id, enumerate(drafts, self.version + 1)
        events = tuple(stamped(draft, self.id, version, run_id, self.context.new_id(), at) for version, draft in numbered)
        self.version = self.store.append(self.id, [record_of(event) for event in events], self.version)
        return events
