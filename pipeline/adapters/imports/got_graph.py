"""The nodes of a Graph of Thought, from writes in order of their time: of a property the last write counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.adapters.imports.record_fields import Fields
from pipeline.domain.imports.import_events import MessageImported
from pipeline.domain.imports.parsed import Tally

OPEN_TASKS = frozenset({"pending", "in_progress"})
_PREFIXES = ("task:", "decision:", "sprint:", "epic:", "handoff:")


@dataclass(frozen=True, slots=True)
class Write:
    """One record: at ``when`` ("" if unknown), from line ``line`` of ``file``. ``create`` tells a new node from a change of one.

    ``links`` connect the node with others, as ``(type, other)``; ``unlinks`` take such away. ``deleted``: the node is removed.
    """

    when: str
    file: str
    line: int
    node: str
    kind: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    unlinks: tuple[tuple[str, str], ...] = ()
    create: bool = False
    deleted: bool = False

    @property
    def where(self) -> str:
        """The place for findings."""
        return f"{self.file}, line {self.line}" if self.line else self.file


@dataclass
class Node:
    """A task, a decision, a hand-over or another node. ``first`` is the write that made it."""

    id: str
    first: Write
    kind: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    links: dict[tuple[str, str], None] = field(default_factory=dict)
    deleted: bool = False


def plain_id(text: str) -> str:
    """Return a node's id without the prefix that some programs write and others do not."""
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text


def graph_of(writes: Sequence[Write], tally: Tally) -> list[Node]:
    """Return the nodes in the order in which they were made. The first write of a node keeps it, all others are merged into it.

    A link from a node that no record describes is left out.
    """
    ordered = sorted(writes, key=lambda one: (one.when, one.file, one.line))
    nodes: dict[str, Node] = {}
    for write in ordered:
        if write.node not in nodes and not _is_link(write):
            nodes[write.node] = Node(write.node, write)
    for write in ordered:
        _take(nodes.get(write.node), write, tally)
    return list(nodes.values())


def _is_link(write: Write) -> bool:
    return not (write.create or write.values or write.deleted)


def _take(node: Node | None, write: Write, tally: Tally) -> None:
    if node is None:
        tally.leave_out(write.where, f"links {write.node[:60]!r}, which no record describes; it is left out")
        return
    if node.first is not write:
        tally.merged += 1
    elif not write.create:
        tally.note(write.where, f"changes {write.node[:60]!r}, which no record made before; it is kept")
    _apply(node, write)


def _apply(node: Node, write: Write) -> None:
    node.kind = write.kind or node.kind
    node.values |= write.values
    node.links |= dict.fromkeys(write.links)
    for link in write.unlinks:
        node.links.pop(link, None)
    node.deleted = (node.deleted or write.deleted) and not write.create


def message_of(node: Node, tally: Tally) -> MessageImported:
    """Return a node as a message."""
    fields = Fields(node.values, node.first.where, tally)
    words = [_first_text(fields, names) for names in (("title", "decision", "name", "content", "instructions"), ("description",))]
    reasons = [
        f"{name.capitalize()}: {text}" for name in ("rationale", "alternatives", "reason") if (text := fields.as_json(name))
    ]
    result = "\n".join(filter(None, (fields.as_json("result"), fields.as_json("retrospective"))))
    return MessageImported(
        ordinal=0,
        role=node.kind or "node",
        ref=node.id,
        when=fields.time("created_at") or node.first.when,
        author=fields.text("source_agent") or fields.text("agent"),
        text="\n\n".join(filter(None, (*words, *reasons))),
        result=result,
        status="deleted" if node.deleted else fields.text("status"),
        links=tuple(sorted(f"{kind} {other}" for kind, other in node.links)),
    )


def is_open_task(node: Node) -> bool:
    """Return whether a node is a task that is still to be done."""
    status = node.values.get("status")
    return node.kind == "task" and not node.deleted and isinstance(status, str) and status.lower() in OPEN_TASKS


def _first_text(fields: Fields, names: Sequence[str]) -> str:
    return next((text for name in names if (text := fields.text(name))), "")
