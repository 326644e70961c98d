"""Reads the whole ``queries.yaml``, returning a queue or all its errors, and appends questions to it.

When one is appended, no byte of the user's text is changed: comments and style stay. The new text is checked by reading the whole
result: it must say what the file said before, and the new question.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from pipeline.config import yaml_to_dataclasses as y
from pipeline.config.queue_schema import Query, Queue, Settings, question
from pipeline.errors import NoWorkspace, QueueInvalid, SystemRefused, UsageError
from pipeline.system.files import open_folder, read_bytes, write
from pipeline.system.process_lock import turn
from pipeline.text import cleaning as texts

FIELDS = y.keys_of(Query)


@lru_cache(maxsize=4)
def parse(data: bytes) -> tuple[Queue, tuple[y.Fault, ...]]:
    """Return the queue that ``data`` holds and its faults in order; what has a fault is left out of the queue."""
    root, text, faults = y.nodes(data)
    settings, queries, sections, is_whole = Settings(), tuple[Query, ...](), dict[str, Node](), not faults
    if isinstance(root, MappingNode):
        sections = y.members(root, dict.fromkeys(("settings", "queries"), lambda node: node), faults, empty=True)
    if "settings" in sections and not y.is_empty(sections["settings"]):
        with y.noted(faults):
            settings = y.record(Settings, sections["settings"], faults)
    if "queries" in sections:
        queries = _queries(sections["queries"], text, faults)
    elif is_whole:
        hint = "write `queries:` on a line, and below it `- ` with a question"
        faults.append(y.Fault(1, 1, "the list of questions is missing", hint))
    return Queue(settings, queries, texts.digest_of(data)), tuple(sorted(set(faults)))


def invalid(faults: Sequence[y.Fault], file: str) -> QueueInvalid:
    """Return the error that lists ``faults``, one a line."""
    lines = [f"{file}:{fault}" for fault in faults]
    count = "one fault" if len(faults) == 1 else f"{len(faults):,} faults"
    return QueueInvalid("\n".join(lines), hint=f"correct the {count} above; nothing was started")


def checked(data: bytes, file: str) -> Queue:
    """Return the queue that ``data`` holds.

    Raises:
        QueueInvalid: it has faults; the message lists them all.
    """
    queue, faults = parse(data)
    if faults:
        raise invalid(faults, file)
    return queue


def contents(path: Path) -> bytes:
    """Return the file's bytes.

    Raises:
        NoWorkspace: there is no such file.
        QueueInvalid: it cannot be read.
    """
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoWorkspace(path.parent) from error
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror or error}"
        raise invalid([y.Fault(1, 1, reason, "put a text file there, and let this user read it")], path.name) from error


def _queries(node: Node, source: str, faults: list[y.Fault]) -> tuple[Query, ...]:
    """Read the list of questions and give each its id; those with a fault are left out."""
    found: list[tuple[Node, Query]] = []
    if not isinstance(node, SequenceNode) and not y.is_empty(node):
        hint = "start each question with `- ` on its own line"
        faults += y.fault_at(node, f"{y.kind(node)} where the list of questions belongs", hint).found
    for child in node.value if isinstance(node, SequenceNode) else ():
        with y.noted(faults):
            found.append((child, _entry(child, source)))

    def manner(query: Query) -> Query:
        return replace(query, text="", id="", line=0, every=None, tags=(), priority=0, machine="")

    without_id = {texts.spelling_free(query.text): texts.slug(query.text, 40) for _, query in found if not query.id}
    slugs, asked, named = Counter(without_id.values()), defaultdict[str, list[Query]](list), dict[str, Query]()
    for place, (child, query) in enumerate(found):
        same, slug = asked[texts.spelling_free(query.text)], texts.slug(query.text, 40)
        # An entry with an id of its own may ask the same to have it researched in another way.
        first = next((other for other in same if not query.id or manner(other) == manner(query)), None)
        if first:
            query = replace(query, id=query.id or distinct_id(f"{query.text} {place}"), same_as=first.id)
        else:
            query = replace(query, id=query.id or (slug if slugs[slug] == 1 else distinct_id(query.text)))
            same.append(query)
        other = named.setdefault(query.id.casefold(), query)
        if other is not query:
            why = f"the id {query.id} is taken by line {other.line}"
            faults += y.fault_at(child, why, "give this one another id: `id: …`").found
    return tuple(named.values())


def _entry(node: Node, source: str) -> Query:
    asked = [value for key, value in node.value if key.value == "query"] if isinstance(node, MappingNode) else [node]
    for one in asked:
        _refuse_cut_off(one, source)
    if not isinstance(node, MappingNode):
        return Query(text=question(node), id="", line=y.line_of(node))
    key, value = node.value[0] if node.value else (node, node)
    is_pair = not asked and isinstance(key, ScalarNode) and isinstance(value, ScalarNode)
    if is_pair and (" " in key.value or not y.near(key.value, tuple(FIELDS))):
        said = y.shown(f"{key.value}: {value.value}".strip())
        raise y.fault_at(key, f"{said} is read as a key and its value", 'put the question in quotes: "…"')
    return y.record(Query, node, id="", line=y.line_of(node))


def _refuse_cut_off(node: Node, source: str) -> None:
    """Check that no part of a question without quotes is read as a comment, and no next entry as a part of it."""
    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, ScalarNode) or node.style:
        return
    if source[end : end + 2] in {" #", "\t#"}:
        tail = source[end:].splitlines()[0].strip()
        hint = "put the question in quotes; or, before a comment, write two spaces"
        raise y.fault_at(node, f"the question ends at {y.shown(node.value)}: {y.shown(tail)} is read as a comment", hint)
    if any(line.lstrip(" ").startswith("- ") for line in source[start:end].splitlines()[1:]):
        hint = "start both entries in one column; or put the text in quotes"
        raise y.fault_at(node, f"two lines are read as one question, {y.shown(node.value)}", hint)


def distinct_id(text: str) -> str:
    """Return an id that differs from those of questions with the same beginning. It does not depend on the position."""
    return f"{texts.slug(text, 40)}-{texts.digest_of(text.encode(errors='replace'))[:4]}"


def add_query(path: Path, text: str, refuse: Callable[[Queue], None] = lambda _queue: None, /, **said: object) -> Query:
    """Append the question ``text`` to the file at ``path`` and return it as it will be read.

    ``refuse`` gets the file as it is and raises if nothing may be added to it; nobody else adds anything meanwhile.
    ``said`` are fields of an entry in the file: ``id``, ``mode``, ``every="7d"``, ``tags``, ``priority`` …
    A question that begins like another gets an explicit id, so that the other keeps the one it has.

    Raises:
        NoWorkspace: there is no such file.
        QueueInvalid: the existing file cannot be read or has errors.
        UsageError: the question is in the file already, or it or a field is not valid; the file is unchanged.
        SystemRefused: the file cannot be written; it is unchanged.
    """
    target = Path(os.path.realpath(path))
    contents(target)  # what is wrong with the file or its folder is said before the folder's lock is taken
    with turn(open_folder(target.parent)):
        before = contents(target)
        queue = checked(before, path.name)
        for query in queue.queries:
            if texts.same_question(query.text, text):
                raise UsageError(f"the question is already in line {query.line}", hint=f"its id is {query.id}")
        refuse(queue)
        slug = texts.slug(text, 40)
        if any(slug in (query.id, texts.slug(query.text, 40)) for query in queue.queries):
            said = {"id": distinct_id(" ".join(text.split())), **said}
        after = _extended(before, text, said)
        found, faults = parse(after)
        if faults:
            reasons = "; ".join(f"{fault.message} → {fault.hint}" for fault in faults)
            raise UsageError(f"this question cannot be added: {reasons}", hint="queries.yaml is unchanged")
        if found.settings != queue.settings or found.queries[:-1] != queue.queries:
            message = "queries.yaml is written in a way that nothing can be added to safely"
            raise UsageError(message, hint="add the question by hand")
        try:
            if not os.access(target, os.W_OK):  # it could be replaced all the same, but whoever protected it did not mean that
                raise PermissionError(None, "it is protected")
            write(target, after, durable=True, mode=target.stat().st_mode & 0o7777)
        except OSError as error:
            hint = "free space, or let this user write there; the question was not added"
            raise SystemRefused(f"{target} cannot be written: {error.strerror}", hint=hint) from error
    return found.queries[-1]


def _extended(before: bytes, text: str, said: Mapping[str, object]) -> bytes:
    root, source, _ = y.nodes(before)
    sections = root.value if isinstance(root, MappingNode) else []
    listed = next(value for key, value in sections if isinstance(key, ScalarNode) and key.value == "queries")
    written = {key: y.quoted(value) for key, value in said.items()}
    if isinstance(listed, SequenceNode) and listed.flow_style:
        offset, entry = listed.end_mark.index - 1, y.quoted(text)
        if written:
            entry = "{" + ", ".join(f"{key}: {value}" for key, value in {"query": entry, **written}.items()) + "}"
        if listed.value:  # behind the last entry's own end, before a comma or a comment that follows it
            offset, entry = listed.value[-1].end_mark.index, f", {entry}"
    else:
        newline = "\r\n" if "\r\n" in source else "\n"
        indent = " " * (listed.start_mark.column if isinstance(listed, SequenceNode) else 2)
        lines = [f"{indent}- {'query: ' if written else ''}{y.quoted(text)}"]
        lines += [f"{indent}  {key}: {value}" for key, value in written.items()]
        # A list ends where something else begins; what was said just before that belongs to it, unless it stands below an entry.
        end = listed.end_mark.index
        offset = end if isinstance(listed, SequenceNode) else source.find("\n", end) + 1 or len(source)
        above = source[:offset].splitlines(keepends=True)
        while offset < len(source) and (not above[-1].strip() or "#" in above[-1][: len(indent) + 1]):
            offset -= len(above.pop())
        entry = ("" if source[:offset].endswith(("\n", "\r")) else newline) + newline.join(lines) + newline
    mark = before[: len(before) - len(source.encode())]
    return mark + (source[:offset] + entry + source[offset:]).encode()
