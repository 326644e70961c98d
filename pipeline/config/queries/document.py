"""Reads the whole ``queries.yaml``: returns a queue, or all its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.queries.entries import queries
from pipeline.config.queries.fields import entries, kind
from pipeline.config.queries.model import Queue
from pipeline.config.queries.problems import Problem, Problems, invalid
from pipeline.config.queries.settings_section import settings
from pipeline.config.queries.yaml_nodes import MAX_BYTES, Mapping, Node, Refused, Scalar, decoded, nodes
from pipeline.errors import NoWorkspace, QueueInvalid
from pipeline.system.files import read_bytes
from pipeline.text.normalise import digest_of

_KEYS = ("settings", "queries")


def parse(data: bytes, file: str = "queries.yaml") -> tuple[Queue, tuple[Problem, ...]]:
    """Return the queue that ``data`` holds and its faults in order; only without faults does the queue say it all."""
    faults = Problems(file)
    text = decoded(data, faults)
    root, complete = nodes(text, faults) if text is not None else (None, False)
    unparsed = faults.sorted() if not complete else ()
    values: dict[str, Any] = {}
    if isinstance(root, Mapping):
        values = _sections(root, complete, faults)
    elif complete and not isinstance(root, Refused):
        _report_root(root, faults)
    return Queue(**values, digest=digest_of(data)), _without_echoes(faults.sorted(), unparsed)


def _without_echoes(found: tuple[Problem, ...], unparsed: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Leave out what a line that could not be parsed seems to say."""
    kept, lines = set(unparsed), {fault.line for fault in unparsed}
    return tuple(fault for fault in found if fault.line not in lines or fault in kept)


def read(path: Path) -> Queue:
    """Return the queue of the file at ``path``.

    Raises:
        NoWorkspace: there is no such file.
        QueueInvalid: it cannot be read or has faults; the message lists them all.
    """
    return checked(contents(path), path.name)


def checked(data: bytes, file: str) -> Queue:
    """Return the queue that ``data`` holds.

    Raises:
        QueueInvalid: it has faults; the message lists them all.
    """
    queue, faults = parse(data, file)
    if faults:
        raise invalid(faults)
    return queue


def contents(path: Path) -> bytes:
    """Return the file's bytes, of a file that is too large only so many that it shows.

    Raises:
        NoWorkspace: there is no such file.
        QueueInvalid: it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise _unreadable(path, "is a folder" if path.is_dir() else "is no regular file", "put a text file there")
        return read_bytes(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoWorkspace(f"{path.parent} holds no {path.name}", hint="make a workspace with: research init") from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise _unreadable(path, reason, "let this user read it") from error


def _unreadable(path: Path, reason: str, hint: str) -> QueueInvalid:
    return invalid([Problem(path.name, 1, 1, f"{path} {reason}", hint)])


def _sections(root: Mapping, complete: bool, faults: Problems) -> dict[str, Any]:
    found = dict(entries(root, faults, _KEYS))
    values: dict[str, Any] = {}
    if "settings" in found and not _is_empty(found["settings"]):
        values["settings"] = settings(found["settings"], faults)
    if "queries" in found:
        values["queries"] = queries(found["queries"], faults)
    elif complete:
        faults.add(root, "there is no list of questions", "add `queries:` and below it `- ` with a question")
    return values


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.empty


def _report_root(root: Node | None, faults: Problems) -> None:
    hint = "write `queries:` on a line, and below it `- ` with a question"
    if root is None or _is_empty(root):
        faults.add_at(1, 1, "the file is empty", hint)
    else:
        faults.add(root, f"{kind(root)} where `queries:` belongs", hint)
