"""Events and folded states as storage sees them: an envelope and bytes. Also the kinds of streams, which ids tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, get_args

Kind = Literal["session", "batch", "memory", "talk", "vault", "prune", "import"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FORGETTABLE: tuple[Kind, ...] = ("session", "import")  # what a person may have forgotten
MERGE = "merge-"  # how the run ids of merge segments begin


def kind_of(stream: str) -> Kind:
    """Return the kind of a stream: that of its id's prefix (``batch-``, ``memory-`` …), else a session."""
    return next((kind for kind in KINDS[1:] if stream.startswith(f"{kind}-")), "session")


class Record(NamedTuple):
    """An event as storage sees it: the envelope, and ``data``, the whole event's canonical JSON object (one line)."""

    id: str
    session_id: str
    version: int
    type: str
    at: str
    run_id: str
    data: bytes


class Snapshot(NamedTuple):
    """A folded state after the event ``version``; ``fold_id`` names the program's fold that made it."""

    version: int
    fold_id: str
    state: bytes


class Branch(NamedTuple):
    """One of several branches of a stream: the hash of its last record (``head``), and its ``records`` from version 1 on.

    ``known`` are the records, by hash, that runs wrote and that this branch accounts for: its own, and those of every branch that
    was joined into it.
    """

    head: str
    records: Sequence[Record]
    known: Mapping[str, Record]


def merge_run_id(*heads: str) -> str:
    """Return the run id of the segment that joins the branches with these last hashes; the same wherever it is made."""
    return MERGE + sha256("".join(sorted(heads)).encode()).hexdigest()[:16]


def moved(record: Record, version: int, run_id: str) -> Record:
    """Return a record at another place of its stream: its id, time and payload stay, byte for byte."""
    before, after = (_envelope(one) for one in (record, record._replace(version=version, run_id=run_id)))
    return record._replace(version=version, run_id=run_id, data=after + record.data[len(before) :])


def _envelope(record: Record) -> bytes:
    identity, session_id, version, kind, at, run_id, _ = record
    fields = f'"id":"{identity}","session_id":"{session_id}","version":{version},"type":"{kind}","at":"{at}","run_id":"{run_id}"'
    return b"{" + fields.encode()
