"""What no store accepts: records that do not fit their stream or each other."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.adapters.store.layout import is_plain
from pipeline.adapters.store.segment_format import begins_with_envelope
from pipeline.domain.events.records import Record
from pipeline.errors import EventRejected


def refuse_unfit(stream: str, records: Sequence[Record], expected_version: int) -> None:
    """Refuse records that cannot follow version ``expected_version`` of a stream in one append.

    Raises:
        EventRejected: they do not fit; the message says why.
    """
    fault = _unfit(stream, records, expected_version)
    if fault:
        raise EventRejected(f"{stream}: {fault}", hint="this is a fault of the program: please report it")


def _unfit(stream: str, records: Sequence[Record], expected_version: int) -> str:
    if not is_plain(stream) or not all(is_plain(record.run_id) for record in records):
        return "an id that becomes a file name may hold letters, digits, '_', '.' and '-' only"
    if len({record.run_id for record in records}) > 1 or len({record.id for record in records}) < len(records):
        return "the records of one append must be of one run, each with an id of its own"
    for version, record in enumerate(records, expected_version + 1):
        if record.version != version or record.session_id != stream:
            return f"record {record.id} is not version {version} of this stream"
        if not begins_with_envelope(record) or not record.data.endswith(b"}") or b"\n" in record.data:
            return f"the data of record {record.id} is not one line of JSON that begins with the record's own envelope"
    return ""
