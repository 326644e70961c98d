"""What was generated, remembered outside the vault. It can be lost: notes are then recognised by what they say of themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pipeline.projection.disk import Tree

FILE = "vault-manifest.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """Of one note: the digest of the generated part, and the aliases that were generated."""

    skeleton: str
    aliases: tuple[str, ...]


class Manifest:
    """Entries by vault path, read at once, written back only if they changed."""

    def __init__(self, folder: Tree) -> None:
        self._folder = folder
        self._stored = folder.read(FILE) or b""
        self._entries = _decoded(self._stored)

    def paths(self) -> set[str]:
        """Return the paths of all generated notes."""
        return set(self._entries)

    def get(self, path: str) -> Entry | None:
        """Return a note's entry, if it was generated."""
        return self._entries.get(path)

    def put(self, path: str, entry: Entry) -> None:
        """Remember a note."""
        self._entries[path] = entry

    def drop(self, path: str) -> None:
        """Forget a note."""
        self._entries.pop(path, None)

    def save(self) -> None:
        """Write the manifest if it differs from what is stored.

        Raises:
            OSError: the disk refuses.
        """
        data = _encoded(self._entries)
        if data != self._stored:
            self._folder.write(FILE, data)
            self._stored = data


def _encoded(entries: dict[str, Entry]) -> bytes:
    notes = {path: [entry.skeleton, *entry.aliases] for path, entry in sorted(entries.items())}
    return (json.dumps({"format": _FORMAT, "notes": notes}, ensure_ascii=False, indent=0) + "\n").encode("utf-8", "replace")


def _decoded(data: bytes) -> dict[str, Entry]:
    """A manifest that cannot be read is a lost one."""
    try:
        notes = json.loads(data)["notes"].items()
        return {path: Entry(str(entry[0]), tuple(map(str, entry[1:]))) for path, entry in notes}
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return {}
