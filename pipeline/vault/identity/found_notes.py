"""``find_notes``: where in the vault each generated note is now, told by the ids in the notes themselves.

Only files that are new or were written since the last build are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.system.folder_fingerprint import Folder, is_seen
from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.vault.built_files import Files
from pipeline.vault.paths import ATTIC

_HEAD = 20_000  # bytes of a note in which its properties are looked for
_ID = re.compile(rb"^id:[ \t]*[\"']?([a-z]+(?::[A-Za-z0-9][A-Za-z0-9_.:/-]*)?)[\"']?[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class FoundNotes:
    """The paths at which the note of each id was found, sorted; and the names of all top folders of the vault."""

    paths: Mapping[str, list[str]] = field(default_factory=dict)
    tops: frozenset[str] = frozenset()


def find_notes(tree: Tree, files: Files, known: Mapping[str, str]) -> FoundNotes:
    """Look through the whole vault, except hidden folders and the attic; ``known`` has the id of each known note by its path.

    A known note that lost its id is still the note of its path.
    """
    paths: dict[str, list[str]] = {}
    tops: set[str] = set()
    for folder, content in _folders(tree):
        tops.add(folder.partition("/")[0])
        looks = files.looks_in(folder)
        for name, look in content.files.items():
            path = f"{folder}/{name}" if folder else name
            if not name.endswith(".md") or not is_seen(name):
                continue
            unchanged = path in known and looks.get(path) == look
            if note := known[path] if unchanged else _id_in(tree, path) or known.get(path, ""):
                paths.setdefault(note, []).append(path)
    return FoundNotes({note: sorted(places) for note, places in paths.items()}, frozenset(tops))


def seen_files(tree: Tree) -> Iterator[str]:
    """Yield the path of every file of the vault, except in hidden folders and the attic."""
    for folder, content in _folders(tree):
        yield from (f"{folder}/{name}" if folder else name for name in content.files if is_seen(name))


def _folders(tree: Tree) -> Iterator[tuple[str, Folder]]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        if content := tree.look(folder):
            yield folder, content
            names = (name for name in content.folders if is_seen(name) and (folder or name != ATTIC))
            waiting += [f"{folder}/{name}" if folder else name for name in names]


def _id_in(tree: Tree, path: str) -> str:
    try:
        data = (tree.read(path) or b"")[:_HEAD]
    except Obstacle:
        return ""
    if not data.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        return ""
    found = _ID.search(data, 0, max(data.find(b"\n---", 3), 0))
    return found[1].decode() if found else ""
