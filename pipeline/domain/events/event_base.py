"""What all events share: the envelope, and the cost and origin of an outside answer.

A step *drafts* an event with an empty envelope (``id``, ``session_id``, ``version``, ``at``, ``run_id``); the session *stamps*
it when it records it. In the JSON the fields of envelope and payload are side by side::

    {"id": "…", "session_id": "…", "version": 7, "type": "worker.thought", "at": "2026-11-21T02:15:00.123Z",
     "run_id": "…", "worker_id": "search_0", …}

Unknown fields are kept. An event of an unknown type becomes an ``UnknownEvent``, which the fold skips with one warning. A stored
event is never rewritten.
"""

from __future__ import annotations

from pipeline.domain.values import Cost, Value

SCHEMA_MAJOR = 2  # 2: no scores of sources, no names, no states of doubt; logs of 1 are read and gone on with
SCHEMA_MINOR = 0
SCHEMA = f"{SCHEMA_MAJOR}.{SCHEMA_MINOR}"


class EventBase(Value):
    """The envelope of every event. ``version`` counts from 1 in the session; ``at`` is RFC 3339 in UTC with milliseconds."""

    id: str = ""
    session_id: str = ""
    version: int = 0
    type: str = ""
    at: str = ""
    run_id: str = ""


class Answered(EventBase):
    """An event that records an outside answer, with its cost, its duration and the digest of the stored prompt and raw reply.

    ``exchange`` is "" if nothing was sent, as with the extractive reasoner. ``step`` is the key of the step that ends with this
    event, which also settles the calls announced for that step (``call.sent``). ``seconds`` is how long the step took, waits and
    retries included; None in a log from before it was measured.
    """

    step: str = ""
    cost: Cost = Cost()
    exchange: str = ""
    seconds: float | None = None


class UnknownEvent(EventBase):
    """An event of a type that this version does not know. It is kept in the log and skipped by the fold."""
