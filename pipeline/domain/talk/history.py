"""A talk as far as its next question needs it: of long ago only what was asked, so that a long talk opens at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import Record
from pipeline.domain.talk.state import TalkState, talk_of

RECENT_TURNS = 25  # the last turns that are read whole: no question is shown more of the history
_ALWAYS = frozenset({"talk.opened", "message.asked", "call.sent", "run.started", "branch.merged"})
_FREE = b'"exchange":""'  # in an event that nothing was paid for


def recent_talk(talk_id: str, records: Sequence[Record]) -> TalkState:
    """Return the talk that ``records`` fold to; of turns before the last 25, only the question and the cost are known.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    state = talk_of(talk_id, decode_all(record.data for record in _needed(records)))
    state.version = len(records)
    return state


def _needed(records: Sequence[Record]) -> Iterator[Record]:
    asked = [place for place, record in enumerate(records) if record.type == "message.asked"]
    start = asked[-RECENT_TURNS] if len(asked) >= RECENT_TURNS else 0
    for place, record in enumerate(records):
        if place >= start or record.type in _ALWAYS or (record.type.startswith(("message.", "answer.", "passages.", "step."))
                                                        and _FREE not in record.data):  # fmt: skip
            yield record
