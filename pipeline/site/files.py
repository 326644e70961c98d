"""The folders of a build, what it did, and files: reads those of the vault, and replaces those of the site all at once.

Each page is written beside the old one under a temporary name; only when all are written are they renamed. So a faulty
template leaves the site as it was. No symbolic link below either folder is followed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import SystemRefused
from pipeline.system.files import read_bytes, write_new
from pipeline.system.folders import Look

SETTLED = "site"  # the kept entry for what all was made from when a build ended; "" if work was left
_TEMPORARY = ".tmp"


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, as sorted site paths. ``pages`` counts the notes with a page; ``problems`` say what was left out and
    why; ``notices`` list files that got another name or are never shown.
    """

    pages: int = 0
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a build: the vault, the site's templates, the site, and where derived values are kept."""

    vault: Path
    templates: Path
    site: Path
    state: Path


def read(root: Path, path: str) -> bytes | None:
    """Return the bytes of a plain file, None if there is none any more or it may not be read."""
    try:
        return read_bytes(f"{root}/{path}", follow=False)
    except OSError:
        return None


@dataclass(slots=True)
class Staged:
    """Files below ``site`` that are written under temporary names and not yet renamed."""

    site: Path
    paths: list[str] = field(default_factory=list)
    _folders: set[str] = field(default_factory=set)

    def write_if_new(self, path: str, data: bytes) -> None:
        """Write a file under its temporary name, unless the present one is the same.

        Raises:
            SystemRefused: the disk cannot be written, or a link is in the place of a folder.
        """
        if read(self.site, path) == data:
            return
        try:  # what an interrupted build left is replaced
            self._make(path.rpartition("/")[0])
            write_new(f"{self.site}/{temporary_name(path)}", data, leftover=True)
        except OSError as error:
            raise refused(error) from error
        self.paths.append(path)

    def _make(self, folder: str) -> None:
        if folder in self._folders:
            return
        if folder:
            self._make(folder.rpartition("/")[0])
        place = self.site / folder
        place.mkdir(parents=not folder, exist_ok=True)
        if folder and place.is_symlink():
            raise NotADirectoryError(20, "is a link to elsewhere", str(place))
        self._folders.add(folder)


def temporary_name(path: str) -> str:
    """Return the temporary path of a file, within the site."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}{_TEMPORARY}"


def put_in_place(site: Path, paths: list[str]) -> dict[str, Look]:
    """Rename staged files to their final names; return size and time of each.

    Raises:
        SystemRefused: the disk cannot be written.
    """
    placed = {}
    try:
        for path in paths:
            place = f"{site}/{path}"
            os.replace(f"{site}/{temporary_name(path)}", place)  # noqa: PTH105 - `Path` takes longer than the disk
            found = os.lstat(place)
            placed[path] = Look(found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise refused(error) from error
    return placed


def discard(site: Path, paths: list[str]) -> None:
    """Remove staged files."""
    for path in paths:
        (site / temporary_name(path)).unlink(missing_ok=True)


def remove(site: Path, path: str) -> bool:
    """Remove a file of the site and the folders that it leaves empty; return whether there was one.

    A file behind a symbolic link is not removed.
    """
    parents = [site / parent for parent in list(Path(path).parents)[:-1]]
    if any(parent.is_symlink() for parent in parents):
        return False
    try:
        (site / path).unlink()
        for parent in parents:
            parent.rmdir()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # a folder that is not empty
        pass
    return True


def refused(error: OSError) -> SystemRefused:
    """Return an error of the disk as a ``SystemRefused`` with a hint."""
    where = error.filename or "the site"
    return SystemRefused(
        f"the site cannot be written: {where}: {error.strerror or error}",
        hint="free some space or allow writing there, then run `research build`; nothing is lost",
    )
