"""Finds the folders of the vault or the site that changed, by their marks (fingerprints of the names, sizes and times of files).

Only the files of changed folders have to be compared; in all others no file has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pipeline.system.folder_fingerprint import Folder, look, names_of_folders

ASIDE = frozenset({"attic"})
NO_FOLDER = Folder()


def other_folders(
    root: Path, known: Mapping[str, str], given: Mapping[str, str] | None = None, *, aside: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Folder]]:
    """Yield path and content of each folder whose mark differs from the ``known`` one; ``NO_FOLDER`` for those that are gone.

    ``given`` are marks that were just computed. Hidden folders, links, names that are not valid UTF-8, and the top folders named
    in ``aside`` are skipped.
    """
    as_known = {path for path, mark in (given or {}).items() if known.get(path) == mark}
    seen = set()
    for path, found in all_folders(root, as_known, aside=aside):
        seen.add(path)
        if found and found.mark != known.get(path):
            yield path, found
    yield from ((path, NO_FOLDER) for path in known.keys() - seen)


def all_folders(
    root: Path, passed: Collection[str] = (), *, aside: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Folder | None]]:
    """Yield path and content of each folder, without the content (None) of those that are ``passed``; others as above."""
    waiting = [""]
    while waiting:
        path = waiting.pop()
        place = f"{root}/{path}" if path else str(root)
        try:
            found = None if path in passed else look(place)
            names = found.folders if found else names_of_folders(place)
        except PermissionError:
            yield path, NO_FOLDER
            continue
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield path, found
        waiting += [f"{path}/{name}" if path else name for name in names if is_seen(name) and (path or name not in aside)]


def is_seen(name: str) -> bool:
    """Tell whether a file or folder of this name is used: it is not hidden, and valid UTF-8."""
    if name.startswith("."):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
