"""Events and folded states as storage sees them: an envelope and bytes; kinds of streams, which ids tell apart; tombstones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, NamedTuple, TypeVar, get_args

from pipeline.text.cleaning import digest_of, slug

Kind = Literal["session", "batch", "memory", "talk", "vault", "prune", "import"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MERGE = "merge-"  # how the run ids of merge segments begin


def kind_of(stream: str) -> Kind:
    """Return the kind of a stream: that of its id's prefix (``batch-``, ``memory-`` …), else a session."""
    return next((kind for kind in KINDS[1:] if stream.startswith(f"{kind}-")), "session")


def stream_id(kind: Kind, at: str, tail: str, about: str = "") -> str:
    """Return the id of a stream that begins ``at``, an event's timestamp; ``tail`` tells it from others of that time.

    A session's, or a talk's, has the day and what it is ``about``, any other's the second.
    """
    begins = f"{at[:10]}-{slug(about, 40)}" if about else at[:19].replace(":", "").lower()
    return f"{begins}-{tail}" if kind == "session" else f"{kind}-{begins}-{tail}"


def begin_of(stream: str) -> str:
    """Return the day, or the second, that an id names; for an id without one, a day after all."""
    begins = stream.removeprefix(f"{kind_of(stream)}-")
    begins = begins[:17] if begins[10:11] == "t" else begins[:10]
    return begins if begins[:4].isdigit() else "9999-99-99"


def is_about(session: str, query_id: str) -> bool:
    """Return whether a session's id says that it is on that query."""
    return session[11:].rpartition("-")[0] == slug(query_id, 40)


def import_id(kind: str, tail: str, about: str = "") -> str:
    """Return the id of an import; without what it is ``about``, the name by which what was forgotten is not imported again."""
    return "-".join(filter(None, ("import", kind, about and slug(about, 40), tail)))


class Record(NamedTuple):
    """An event as storage sees it: the envelope, and ``data``, the whole event's canonical JSON object (one line)."""

    id: str
    session_id: str
    version: int
    type: str
    at: str
    run_id: str
    data: bytes


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


class PrunedSession(NamedTuple):
    """A session whose log was pruned after version ``up_to``: the object that holds its report, and when."""

    up_to: int
    report: str
    at: str


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Pruned sessions by id, when each object was pruned, and when what else was forgotten, by the digest of its id.

    What is ``forgotten`` are sessions, imports and talks: by digests, because their ids contain words of a question.
    ``written_off`` are the ids of sessions whose log is missing, and whose loss the user has accepted.
    """

    sessions: Mapping[str, PrunedSession] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    forgotten: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    written_off: frozenset[str] = frozenset()

    def is_forgotten(self, stream: str) -> bool:
        """Tell whether a session, an import or a talk was forgotten."""
        return bool(self.forgotten) and id_digest(stream) in self.forgotten

    def query_forgotten(self, query_id: str) -> str:
        """Return when research on a query was forgotten last; "" if it never was."""
        return self.queries.get(id_digest(query_id), "") if self.queries else ""


NO_TOMBSTONES = Tombstones()
T = TypeVar("T", str, PrunedSession)


def tombstones_of(records: Iterable[Record], known: Tombstones = NO_TOMBSTONES) -> Tombstones:
    """Return what the records of any number of streams, in any order, say was pruned, beside what is ``known``.

    Of two tombstones of one thing the later one counts; other records are skipped.
    """
    sessions, objects = dict(known.sessions), dict(known.objects)
    forgotten, queries = dict(known.forgotten), dict(known.queries)

    def keep(found: dict[str, T], name: str, value: T) -> None:
        found[name] = max(found.get(name, value), value)

    for record in records:
        if record.type in ("session.pruned", "objects.pruned", "session.forgotten"):
            said = json.loads(record.data)
            for digest in said.get("objects", ()):
                keep(objects, digest, record.at)
            if record.type == "session.pruned":
                keep(sessions, said["session"], PrunedSession(said["up_to"], said["report"], record.at))
            elif record.type == "session.forgotten":
                keep(forgotten, said["session"], record.at)
                if said.get("query"):
                    keep(queries, said["query"], record.at)
    left = {name: one for name, one in sessions.items() if id_digest(name) not in forgotten} if forgotten else sessions
    return Tombstones(left, objects, forgotten, queries)


def id_digest(identity: str) -> str:
    """Return the digest by which a tombstone names a forgotten session, import or query."""
    return digest_of(identity.encode("utf-8", "replace"))
