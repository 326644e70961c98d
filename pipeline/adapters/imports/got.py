"""A Graph of Thought: ``.got/events/*.jsonl``, ``snapshots/*.json.gz`` and ``entities/*.json``, together one import.

Event logs of several branches and sessions lie side by side, so all records are sorted by time, then by file and line.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipeline.adapters.imports.foreign_json import LARGEST_LINE, NotJson, lines_of, parsed
from pipeline.adapters.imports.got_graph import Write, graph_of, is_open_task, message_of, plain_id
from pipeline.adapters.imports.record_fields import Fields
from pipeline.adapters.imports.source_files import LARGEST_FILE, LARGEST_ORIGINAL, SourceFiles, Unreadable, archived
from pipeline.domain.imports.import_events import ImportFinding
from pipeline.domain.imports.parsed import ParsedImport, Tally
from pipeline.text.normalise import digest_of

KIND = "got"
PART = re.compile(r"(?P<root>(?:.*/)?)(?P<part>events/[^/]+\.jsonl|snapshots/[^/]+\.json(?:\.gz)?|entities/[^/]+\.json)")


@dataclass
class _Graph:
    """What is known of one graph so far. ``origin`` names its folder."""

    origin: str
    tally: Tally = field(default_factory=Tally)
    contents: dict[str, bytes] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)

    def left_out(self, where: str, what: str) -> None:
        self.tally.leave_out(where, what)


def read_graphs(files: SourceFiles, names: Sequence[str]) -> Iterator[ParsedImport | ImportFinding]:
    """Yield each graph among the files, or why there is none. ``names`` are those that ``PART`` matches, sorted."""
    roots: dict[str, list[str]] = {}
    for name in names:
        if found := PART.fullmatch(name):
            roots.setdefault(found["root"].rstrip("/"), []).append(name)
    for root, parts in roots.items():
        yield from _graph(files, root, parts)


def read_event_log(files: SourceFiles, name: str) -> Iterator[ParsedImport | ImportFinding]:
    """Yield the graph of one event log, a single ``.jsonl`` file."""
    graph = _Graph(name)
    _read_part(files, graph, name, "events/")
    yield from _finished(files, graph)


def _graph(files: SourceFiles, root: str, names: Sequence[str]) -> Iterator[ParsedImport | ImportFinding]:
    graph = _Graph(root)
    for name in names:
        _read_part(files, graph, name, name.removeprefix(f"{root}/") if root else name)
        if sum(map(len, graph.contents.values())) > LARGEST_ORIGINAL:
            yield ImportFinding(
                where=root or ".", what=f"has more than {LARGEST_ORIGINAL // 1_000_000} MB; nothing of it is read"
            )
            return
    yield from _finished(files, graph)


def _finished(files: SourceFiles, graph: _Graph) -> Iterator[ParsedImport | ImportFinding]:
    nodes = graph_of(graph.writes, graph.tally)
    for node in nodes:
        graph.tally.keep(message_of(node, graph.tally))
    if not nodes:
        yield from graph.tally.findings
        yield ImportFinding(where=graph.origin or ".", what="holds no record of a Graph of Thought that can be read")
        return
    name = _project(files, graph.origin)
    times = [write.when for write in graph.writes if write.when]
    tasks = tuple(str(node.values.get("title", "")) for node in nodes if is_open_task(node))
    yield ParsedImport(
        kind=KIND,
        original_id=digest_of(repr((nodes[0].id, nodes[0].first.when)).encode("utf-8", "replace"))[:16],
        origin=graph.origin or files.root.name,
        original=archived(graph.contents),
        form="tar",
        files=len(graph.contents),
        tally=graph.tally,
        title=f"Graph of Thought: {name}",
        status="open tasks" if tasks else "",
        finished=not tasks,
        created=min(times, default=""),
        updated=max(times, default=""),
        queue=tuple(dict.fromkeys(filter(str.strip, tasks))),
    )


def _project(files: SourceFiles, origin: str) -> str:
    """The name of the folder that a graph belongs to: that around ``.got``."""
    parts = [*files.root.absolute().parts, *origin.split("/")]
    named = [part for part in parts if part and part not in (".got", "/", "events")]
    return named[-1].removesuffix(".jsonl") if named else "unnamed"


def _read_part(files: SourceFiles, graph: _Graph, name: str, part: str) -> None:
    try:
        data = files.read(name)
    except Unreadable as error:
        graph.tally.records += 1
        graph.left_out(name, str(error))
        return
    graph.contents[part if part != "events/" else name] = data
    if part.startswith("events/"):
        _read_log(graph, name, data)
    elif part.startswith("entities/"):
        _read_entity(graph, name, data)
    else:
        _read_snapshot(graph, name, data)


def _read_log(graph: _Graph, name: str, data: bytes) -> None:
    for number, line in lines_of(data, partial(graph.tally.note, name)):
        graph.tally.records += 1
        where = f"{name}, line {number}"
        try:
            if len(line) > LARGEST_LINE:
                raise NotJson(f"has {len(line) / 1e6:,.1f} MB; lines over {LARGEST_LINE // 1_000_000} MB are left out")
            value = parsed(line, partial(graph.tally.note, where))
        except NotJson as error:
            graph.left_out(where, str(error))
            continue
        if not isinstance(value, dict) or not isinstance(value.get("event"), str):
            graph.left_out(where, "is no event: it has no “event”")
            continue
        _read_event(graph, Fields(value, where, graph.tally), name, number)


def _read_event(graph: _Graph, event: Fields, name: str, number: int) -> None:
    kind, at = event.text("event"), event.time("ts")
    write = _write_of(event, kind)
    if write is None:
        graph.left_out(
            event.where, f"has the event {kind[:60]!r} without what it is about, or of an unknown kind; it is left out"
        )
        return
    graph.writes.append(Write(at, name, number, **write))


def _write_of(event: Fields, kind: str) -> dict[str, Any] | None:
    """What an event writes, as arguments of ``Write``; None if nothing can be made of it."""
    room, _, verb = kind.partition(".")
    node = plain_id(event.text("handoff_id" if room == "handoff" else "src" if room == "edge" else "id"))
    if kind == "decision.supersede":
        node, other = plain_id(event.text("new_id")), plain_id(event.text("old_id"))
        return {"node": node, "links": (("SUPERSEDES", other),)} if node and other else None
    if not node:
        return None
    match room:
        case "node":
            return _node_write(event, verb, node)
        case "edge":
            link = (event.text("type") or "RELATED", plain_id(event.text("tgt")))
            key = {"create": "links", "delete": "unlinks"}.get(verb)
            return {"node": node, key: (link,)} if key and link[1] else None
        case "handoff":
            values = _payload(event) | ({"status": f"{verb}ed".replace("eed", "ed")} if verb != "context" else {})
            return {"node": node, "kind": "handoff", "values": values, "create": verb == "initiate"}
        case "decision" | "reasoning":
            step = event.text("type").lower() or "thought"
            values = {**_payload(event), "affects": None}
            affected = tuple(("AFFECTS", plain_id(one)) for one in event.texts("affects"))
            return {
                "node": node,
                "kind": "decision" if room == "decision" else step,
                "values": values,
                "links": affected,
                "create": True,
            }
    return None


def _node_write(event: Fields, verb: str, node: str) -> dict[str, Any] | None:
    match verb:
        case "create":
            kind = event.text("type").lower() or "node"
            return {"node": node, "kind": kind, "values": dict(event.entry("data").values), "create": True}
        case "update":
            return {"node": node, "values": dict(event.entry("changes").values) or {"changed": True}}
        case "delete":
            return {"node": node, "deleted": True}
    return None


def _payload(event: Fields) -> dict[str, Any]:
    envelope = {"ts", "event", "meta", "id", "handoff_id", "type"}
    return {name: value for name, value in event.values.items() if name not in envelope}


def _read_entity(graph: _Graph, name: str, data: bytes) -> None:
    graph.tally.records += 1
    try:
        value = parsed(data, partial(graph.tally.note, name))
    except NotJson as error:
        graph.left_out(name, str(error))
        return
    inner = value.get("data", value) if isinstance(value, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("id"), str):
        graph.left_out(name, "is no entity: it has no “id”")
        return
    entity = Fields(inner, name, graph.tally)
    _entity_write(graph, entity, name)


def _entity_write(graph: _Graph, entity: Fields, name: str) -> None:
    kind, at = entity.text("entity_type").lower(), entity.time("modified_at") or entity.time("created_at")
    if kind == "edge":
        source, target = plain_id(entity.text("source_id")), plain_id(entity.text("target_id"))
        if not source or not target:
            graph.left_out(name, "is a link without both ends; it is left out")
            return
        link = (entity.text("edge_type") or "RELATED", target)
        graph.writes.append(Write(at, name, 0, source, links=(link,)))
        return
    node, values = plain_id(entity.text("id")), {key: value for key, value in entity.values.items() if key != "properties"}
    extra = entity.values.get("properties")
    graph.writes.append(Write(at, name, 0, node, kind, (extra if isinstance(extra, dict) else {}) | values, create=True))


def _read_snapshot(graph: _Graph, name: str, data: bytes) -> None:
    try:
        text = _unpacked(data) if name.endswith(".gz") else data
        value = parsed(text, partial(graph.tally.note, name))
    except NotJson as error:
        graph.tally.records += 1
        graph.left_out(name, str(error))
        return
    if not isinstance(value, dict):
        graph.tally.records += 1
        graph.left_out(name, "is no snapshot: it is no object")
        return
    whole = Fields(value, name, graph.tally)
    at = whole.time("timestamp") or whole.time("created_at")
    state = whole.entry("state") if "state" in value else whole
    _snapshot_nodes(graph, state, name, at)
    _snapshot_edges(graph, state, name, at)


def _unpacked(data: bytes) -> bytes:
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, LARGEST_FILE + 1)
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise NotJson(f"cannot be unpacked: {error}") from None
    if len(found) > LARGEST_FILE:
        raise NotJson(f"has more than {LARGEST_FILE // 1_000_000} MB unpacked; nothing of it is read")
    if not unpacker.eof:
        raise NotJson("is cut off in the middle: it cannot be unpacked to its end")
    return found


def _snapshot_nodes(graph: _Graph, state: Fields, name: str, at: str) -> None:
    nodes = state.values.get("nodes")
    if isinstance(nodes, Mapping):
        entries = [{"id": key, **value} if isinstance(value, dict) else value for key, value in nodes.items()]
        state = Fields({"nodes": entries}, state.where, state.tally)
    for node in state.records("nodes"):
        identity = plain_id(node.text("id"))
        if not identity:
            graph.left_out(node.where, "has no id; it is left out")
            continue
        inner, more = node.values.get("properties"), node.values.get("metadata")
        values = {"title": node.text("content")} | {
            key: one for part in (more, inner) if isinstance(part, dict) for key, one in part.items()
        }
        kind = (node.text("node_type") or node.text("type")).lower().rpartition(".")[2]
        graph.writes.append(Write(at, name, 0, identity, kind, values, create=True))


def _snapshot_edges(graph: _Graph, state: Fields, name: str, at: str) -> None:
    for edge in state.records("edges"):
        source = plain_id(edge.text("source_id") or edge.text("src") or edge.text("source"))
        target = plain_id(edge.text("target_id") or edge.text("tgt") or edge.text("target"))
        if not source or not target:
            graph.left_out(edge.where, "is a link without both ends; it is left out")
            continue
        link = ((edge.text("edge_type") or edge.text("type") or "RELATED").rpartition(".")[2], target)
        graph.writes.append(Write(at, name, 0, source, links=(link,)))
