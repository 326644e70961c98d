"""What may be pruned and forgotten of imports: their stored originals, and whole imports."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from pipeline.domain.events.import_events import import_of
from pipeline.domain.events.json_codec import decode_all
from pipeline.errors import LogError
from pipeline.ops.pruning.forget import Forgetting
from pipeline.ops.pruning.usage import Usage, read_usage, used_by
from pipeline.ports import EventStore
from pipeline.text.times import moment_of


def forgotten_name(stream: str) -> str:
    """Return the name under which an import is forgotten: without the words of its question, which may change."""
    kind, _, tail = stream.rpartition("-")
    formats = ("go-research-events", "go-research", "aidaemon", "got")
    return next((f"import-{name}-{tail}" for name in formats if kind.startswith(f"import-{name}-")), stream)


def old_originals(store: EventStore, usage: Usage, age: timedelta | None, now: datetime) -> tuple[str, ...]:
    """Return the originals of imports that were recorded longer than ``age`` ago and that no session names; None: none.

    Nothing goes while a stream cannot be read: it may name any of them.
    """
    if age is None or usage.unreadable:
        return ()
    last: dict[str, str] = {}
    for name in store.ids("import"):
        for record in store.load(name):
            if record.type == "research.imported":
                digest = json.loads(record.data)["digest"]
                last[digest] = max(last.get(digest, ""), record.at)
    named = {digest for used in usage.sessions.values() for digest in used.all}
    return tuple(sorted(digest for digest, at in last.items() if digest not in named and moment_of(at) <= now - age))


def forgetting_import(store: EventStore, name: str) -> Forgetting:
    """Return what forgetting an import would take. Nothing is changed.

    Raises:
        LogError: its log cannot be read.
    """
    records = store.load(name)
    found = import_of(name, decode_all(record.data for record in records))
    usage = read_usage(store)
    mine = used_by(record.data for record in records).all
    others = {digest for used in usage.sessions.values() for digest in used.all}
    others |= {digest for one in store.ids("import") if one != name for digest in _named_by(store, one)}
    others |= {digest for one in (*store.ids("batch"), *store.ids("talk")) for digest in _named_by(store, one)}
    objects = () if usage.unreadable else tuple(sorted(digest for digest in mine - others if store.object_size(digest)))
    size = store.size_of(name) + sum(map(store.object_size, objects))
    return Forgetting(name, found.last.heading if found else "", forgotten_name(name), objects, size, 0, (), (), only=True)


def _named_by(store: EventStore, stream: str) -> frozenset[str]:
    try:
        return used_by(record.data for record in store.load(stream)).all
    except LogError:
        return frozenset()  # the usage names it as unreadable, and then no object goes
