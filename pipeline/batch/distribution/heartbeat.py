"""The signs of life of a worker, from a thread of its own: a long computation in the event loop must not look like death."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from pipeline.domain.distribution.jobs import WorkerProcess
from pipeline.errors import QueueUnavailable
from pipeline.ports.distribution import Dispatcher

_log = logging.getLogger("pipeline.batch.distribution")
BEATS_A_LEASE = 6  # a single lost packet must not cost a job


class Heartbeat:
    """Gives signs of life while the context is open. ``heard`` is called in that thread with the sessions and the answer to each.

    ``process`` returns what the worker says of itself now, ``sessions`` what it works on. While the queue cannot be reached,
    ``heard`` is not called.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        process: Callable[[], WorkerProcess],
        sessions: Callable[[], Sequence[str]],
        heard: Callable[[Sequence[str], Mapping[str, str]], None],
    ) -> None:
        self._dispatcher, self._process, self._sessions, self._heard = dispatcher, process, sessions, heard
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(timeout=self._process().lease_s)

    def _beat(self) -> None:
        while not self._ended.wait(self._process().lease_s / BEATS_A_LEASE):
            try:
                sessions = self._sessions()
                self._heard(sessions, self._dispatcher.beat(self._process(), sessions))
            except QueueUnavailable as error:
                _log.info("no sign of life could be given: %s", error.message)
            except Exception:  # noqa: BLE001 - the next one may succeed
                _log.exception("a sign of life failed")
