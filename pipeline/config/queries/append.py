"""Appends one question to ``queries.yaml``. No byte of the user's text is changed: comments and style stay.

The new text is checked by reading the whole result: it must say what the file said before, and the new question.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.config.queries.document import checked, contents, parse
from pipeline.config.queries.entries import distinct_id
from pipeline.config.queries.model import Query, Queue
from pipeline.config.queries.problems import Problems, quoted
from pipeline.config.queries.yaml_nodes import Listing, Node, Scalar, decoded, nodes
from pipeline.config.queries.yaml_nodes import Mapping as MappingNode
from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import open_folder, write
from pipeline.system.process_lock import turn
from pipeline.text.normalise import same_question

Field = str | int | float | Sequence[str]


def add_query(path: Path, text: str, **fields: Field) -> Query:
    """Append the question ``text`` to the file at ``path`` and return it as it will be read; otherwise as ``add_allowed``."""
    return add_allowed(path, text, lambda _queue: None, **fields)


def add_allowed(path: Path, text: str, refuse: Callable[[Queue], None], **fields: Field) -> Query:
    """Append the question ``text`` to the file at ``path`` and return it as it will be read.

    ``refuse`` gets the file as it is and raises if nothing may be added to it; nobody else adds anything meanwhile.
    ``fields`` are those of an entry in the file: ``id``, ``mode``, ``every="7d"``, ``tags``, ``priority`` …
    A question that begins like another gets an explicit id, so that the other keeps the one it has.

    Raises:
        NoWorkspace: there is no such file.
        QueueInvalid: the existing file cannot be read or has errors.
        UsageError: the question is in the file already, or it or a field is not valid; the file is unchanged.
        SystemRefused: the file cannot be written; it is unchanged.
    """
    target = Path(os.path.realpath(path))
    with _turn(target.parent):
        before = contents(target)
        queue = checked(before, path.name)
        _refuse_repeat(queue, text)
        refuse(queue)
        after = _extended(before, text, dict(fields))
        if "id" not in fields and _renames(queue, after):
            after = _extended(before, text, {"id": distinct_id(" ".join(text.split())), **fields})
        added = _verified(queue, after)
        _replace(target, after)
    return added


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Let one process at a time read and replace the file: the later of two would drop the other's question."""
    try:
        handle = open_folder(folder)
    except OSError:
        yield  # reading the file says what is wrong with its folder
        return
    with turn(handle):
        yield


def _refuse_repeat(queue: Queue, text: str) -> None:
    for query in queue.queries:
        if same_question(query.text, text):
            raise UsageError(f"the question is already in line {query.line}", hint=f"its id is {query.id}")


def _renames(queue: Queue, after: bytes) -> bool:
    found, faults = parse(after)
    return not faults and [query.id for query in found.queries[:-1]] != [query.id for query in queue.queries]


def _verified(queue: Queue, after: bytes) -> Query:
    found, faults = parse(after)
    if faults:
        reasons = "; ".join(f"{fault.message} → {fault.hint}" for fault in faults)
        raise UsageError(f"this question cannot be added: {reasons}", hint="queries.yaml is unchanged")
    if found.settings != queue.settings or found.queries[:-1] != queue.queries:
        raise UsageError("queries.yaml is written in a way that nothing can be added to safely", hint="add the question by hand")
    return found.queries[-1]


def _extended(before: bytes, text: str, fields: Mapping[str, Field]) -> bytes:
    faults = Problems("")
    source = decoded(before, faults) or ""
    root, _ = nodes(source, faults)
    listed = _queries(root)
    if isinstance(listed, Listing) and listed.flow:
        offset, entry = listed.end - 1, _flow_entry(source, listed, text, fields)
    else:
        offset, entry = _block_entry(source, listed, text, fields)
    mark = before[: len(before) - len(source.encode())]
    return mark + (source[:offset] + entry + source[offset:]).encode()


def _queries(root: Node | None) -> Node:
    pairs = root.pairs if isinstance(root, MappingNode) else iter(())
    return next(value for key, value in pairs if isinstance(key, Scalar) and key.value == "queries")


def _flow_entry(source: str, listed: Listing, text: str, fields: Mapping[str, Field]) -> str:
    entry = quoted(text)
    if fields:
        entry = "{" + ", ".join(f"{key}: {_written(value)}" for key, value in {"query": text, **fields}.items()) + "}"
    if not listed.children:
        return entry
    rest = source[listed.children[-1].end : listed.end - 1].splitlines()
    return entry if any("," in line.partition("#")[0] for line in rest) else ", " + entry


def _block_entry(source: str, listed: Node, text: str, fields: Mapping[str, Field]) -> tuple[int, str]:
    newline = "\r\n" if "\r\n" in source else "\n"
    indent = " " * (listed.column - 1 if isinstance(listed, Listing) else 2)
    lines = [f"{indent}- {quoted(text)}"]
    if fields:
        lines = [f"{indent}- query: {quoted(text)}", *(f"{indent}  {key}: {_written(value)}" for key, value in fields.items())]
    offset = _offset(source, _last(listed))
    before = "" if source[:offset].endswith(("\n", "\r")) else newline
    return offset, before + newline.join(lines) + newline


def _last(node: Node) -> Node:
    while isinstance(node, Listing | MappingNode) and node.children and not node.flow:
        node = node.children[-1]
    return node


def _offset(source: str, last: Node) -> int:
    """Return the end of the file when only comments follow, else the end of the line of the last entry."""
    line_end = source.find("\n", last.end) + 1 or len(source)
    offset = last.end if source[last.end - 1] == "\n" else line_end
    rest = source[offset:].splitlines()
    return len(source) if all(not line.strip() or line.lstrip().startswith("#") for line in rest) else offset


def _written(value: Field) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int | float):
        return str(value)
    return "[" + ", ".join(quoted(item) for item in value) + "]"


def _replace(path: Path, data: bytes) -> None:
    """Put ``data`` in the file's place at once, with the file's mode."""
    try:
        if not os.access(path, os.W_OK):  # it could be replaced all the same, but whoever protected it did not mean that
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        write(path, data, durable=True, mode=path.stat().st_mode & 0o7777)
    except OSError as error:
        hint = "free space, or let this user write there; the question was not added"
        raise SystemRefused(f"{path} cannot be written: {error.strerror}", hint=hint) from error
