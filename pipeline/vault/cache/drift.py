"""How the vault stands: which files are as the last build left them, and of which folders that can be told at a glance.

A folder's mark is kept only where each file that is known in it was as known, reckoned from what was found there before the build
and what the build itself left: whatever anyone else did in between shows as another mark at the next build.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pipeline.system.folder_fingerprint import Folder, Look, Step, digest_below
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.built_files import Files, Owned

# Kept under this name: the templates by which all stood as it should when the last build ended; "" if anything was left to do.
SETTLED = "settled"
_SETTINGS = ".obsidian"


class VaultDrift:
    """The known files of a vault, looked at once, before anything is written."""

    def __init__(self, tree: Tree, files: Files) -> None:
        self._files = files
        self._marks = files.folders()
        self._found = {path: tree.look(path) for path in self._marks}

    @cached_property
    def unlike(self) -> dict[str, Owned]:
        """The known files that are not as they were left, by path."""
        other = [path for path, mark in self._marks.items() if mark == "" or _mark_of(self._found[path]) != mark]
        return {file.path: file for path in other for file in self._unlike_in(path)}

    def _unlike_in(self, folder: str) -> list[Owned]:
        found = (self._found[folder] or Folder()).files
        return [file for file in self._files.within(folder) if found.get(_name(file.path)) != file.look]

    def keep(self, left: Mapping[str, Look | None]) -> dict[str, Step]:
        """Remember how the folders stand now, and return what was done in those that were looked at.

        ``left`` are the files that the build put in place, and None for those removed.
        """
        by_folder: dict[str, dict[str, Look | None]] = {}
        for path, how in left.items():
            by_folder.setdefault(_folder(path), {})[_name(path)] = how
        owing = {_folder(path) for path in self.unlike.keys() - left.keys()}
        steps: dict[str, Step] = {}
        for folder in self._marks.keys() | by_folder.keys():
            here = by_folder.get(folder, {})
            found = self._found.get(folder)
            now = _mark_of((found or Folder()).with_files(here) if here else found)
            if found and folder.partition("/")[0] != _SETTINGS:
                steps[folder] = Step(found.mark, now, here)
            mark = "" if folder in owing else now
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


def name_of_templates(folder: Path) -> str:
    """Return a name for all that stands among the templates; "" if they cannot be read."""
    try:
        return digest_below(folder)
    except OSError:
        return ""
