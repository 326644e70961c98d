"""Tombstones: what was pruned or forgotten, as the streams ``prune-…`` say. Storage and readers share this view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pipeline.domain.events.records import Record
from pipeline.text.normalise import digest_of

T = TypeVar("T")


class PrunedSession(NamedTuple):
    """A session whose log was pruned after version ``up_to``: the object that holds its report, when, and its checked quotes."""

    up_to: int
    report: str
    at: str
    quotes: int


class PrunedObject(NamedTuple):
    """A page or an exchange that was pruned, and when."""

    kind: str
    at: str


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Pruned sessions by id, pruned objects by digest, and when each session or query was forgotten, by the digest of its id.

    A forgotten session is named by a digest, because its id contains words of its question.
    """

    sessions: Mapping[str, PrunedSession] = field(default_factory=dict)
    objects: Mapping[str, PrunedObject] = field(default_factory=dict)
    forgotten: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)

    def is_forgotten(self, session: str) -> bool:
        """Tell whether a session was forgotten."""
        return bool(self.forgotten) and _digest(session) in self.forgotten

    def query_forgotten(self, query_id: str) -> str:
        """Return when research on a query was forgotten last; "" if it never was."""
        return self.queries.get(_digest(query_id), "") if self.queries else ""


NONE = Tombstones()


def joined(one: Tombstones, other: Tombstones) -> Tombstones:
    """Return the tombstones of both; of two for the same thing, the later one."""
    forgotten = _later(one.forgotten, other.forgotten)
    sessions = _later(one.sessions, other.sessions)
    if forgotten:
        sessions = {name: stone for name, stone in sessions.items() if _digest(name) not in forgotten}
    return Tombstones(sessions, _later(one.objects, other.objects), forgotten, _later(one.queries, other.queries))


def _later(one: Mapping[str, T], other: Mapping[str, T]) -> dict[str, T]:
    found = dict(one)
    for name, value in other.items():
        found[name] = value if name not in found else max(found[name], value, key=_time)
    return found


def _time(value: Any) -> Any:
    """What two tombstones of one thing are compared by."""
    return value.at if isinstance(value, PrunedObject) else value


def tombstones_of(records: Iterable[Record]) -> Tombstones:
    """Return what the records of any number of streams, in any order, say was pruned. Other records are skipped."""
    sessions: dict[str, PrunedSession] = {}
    objects: dict[str, PrunedObject] = {}
    forgotten: dict[str, str] = {}
    queries: dict[str, str] = {}
    for record in records:
        if record.type not in ("session.pruned", "objects.pruned", "session.forgotten"):
            continue
        said = json.loads(record.data)
        for digest in said.get("objects", ()):
            objects[digest] = max(
                objects.get(digest, PrunedObject("", "")), PrunedObject(said.get("kind", ""), record.at), key=_at
            )
        if record.type == "session.pruned":
            one = PrunedSession(said["up_to"], said["report"], record.at, said.get("quotes", 0))
            sessions[said["session"]] = max(sessions.get(said["session"], one), one)
        elif record.type == "session.forgotten":
            forgotten[said["session"]] = max(forgotten.get(said["session"], ""), record.at)
            if said.get("query"):
                queries[said["query"]] = max(queries.get(said["query"], ""), record.at)
    left = {name: one for name, one in sessions.items() if _digest(name) not in forgotten}
    return Tombstones(left, objects, forgotten, queries)


def _at(one: PrunedObject) -> str:
    return one.at


def _digest(identity: str) -> str:
    return digest_of(identity.encode("utf-8", "replace"))
