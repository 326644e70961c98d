"""``VaultDrift``: which files of the vault differ from what the last build left.

A folder's mark (a fingerprint of the sizes and times of its files) is stored only if all its known files were unchanged. It is
computed from the folder before the build plus the files that the build wrote, so a change that somebody else makes during the
build shows as a different mark at the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pipeline.system.folder_fingerprint import Folder, Look, Step, digest_below
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.built_files import Files, Owned

# The catalogue's entry for the fingerprint of the templates with which the last build finished everything; "" if work was left.
SETTLED = "settled"
_SETTINGS = ".obsidian"


class VaultDrift:
    """The folders of a vault, read once before anything is written, compared with the catalogue."""

    def __init__(self, tree: Tree, files: Files) -> None:
        self._files = files
        self._marks = files.folders()
        self._found = {path: tree.look(path) for path in self._marks}

    @cached_property
    def drifted(self) -> dict[str, Owned]:
        """The known files whose size or time differ from what the last build left, by path."""
        other = [path for path, mark in self._marks.items() if mark == "" or _mark_of(self._found[path]) != mark]
        return {file.path: file for path in other for file in self._drifted_in(path)}

    def _drifted_in(self, folder: str) -> list[Owned]:
        found = (self._found[folder] or Folder()).files
        return [file for file in self._files.within(folder) if found.get(_name(file.path)) != file.look]

    def record(self, left: Mapping[str, Look | None]) -> dict[str, Step]:
        """Record the marks of all folders after the build; return the steps of those that were read, by path.

        ``left`` has size and time of each file that the build wrote or checked, None for each that it removed.
        """
        by_folder: dict[str, dict[str, Look | None]] = {}
        for path, how in left.items():
            by_folder.setdefault(_folder(path), {})[_name(path)] = how
        incomplete = {_folder(path) for path in self.drifted.keys() - left.keys()}
        steps: dict[str, Step] = {}
        for folder in self._marks.keys() | by_folder.keys():
            here = by_folder.get(folder, {})
            found = self._found.get(folder)
            now = _mark_of((found or Folder()).with_files(here) if here else found)
            if found and folder.partition("/")[0] != _SETTINGS:
                steps[folder] = Step(found.mark, now, here)
            mark = "" if folder in incomplete else now
            if None in here.values() and self._files.is_empty(folder):
                self._files.drop_folder(folder)
            elif mark != self._marks.get(folder):
                self._files.put_folder(folder, mark)
        return steps


def _mark_of(folder: Folder | None) -> str:
    return folder.mark if folder else ""


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def templates_fingerprint(folder: Path) -> str:
    """Return a digest of all files in the templates' folder; "" if they cannot be read."""
    try:
        return digest_below(folder)
    except OSError:
        return ""
