"""The files below what is imported: listed without following links, read with limits, and kept as one file or one archive."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.domain.imports.import_events import ImportFinding
from pipeline.system.files import read_bytes
from pipeline.text.normalise import one_line

LARGEST_FILE = 64_000_000  # bytes
LARGEST_ORIGINAL = 256_000_000  # bytes of all files of one session
MOST_FILES = 100_000
_DEEPEST = 8  # folders below the one that is imported
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", "__pycache__", ".venv"})

Redact = Callable[[bytes], bytes]


class Unreadable(Exception):
    """A file cannot be read; the text says why."""


@dataclass
class SourceFiles:
    """The regular files of a folder, or one file, by their path below ``root``. ``findings`` say what was not followed.

    ``redact`` takes the user's own keys out of text before anything else sees it.
    """

    root: Path
    redact: Redact = lambda data: data
    findings: list[ImportFinding] = field(default_factory=list)

    def names(self) -> list[str]:
        """Return the names of all regular files, sorted; of a file, its own name."""
        if not self.root.is_dir():
            return [self.root.name]
        found: list[str] = []
        for name in self._walk(self.root, 0):
            found.append(name)
            if len(found) >= MOST_FILES:
                self._note(
                    ".", f"there are more than {MOST_FILES:,} files; the others are not read: import its folders one by one"
                )
                break
        return sorted(found)

    def path(self, name: str) -> Path:
        """Return where a file is."""
        return self.root / name if self.root.is_dir() else self.root

    def read(self, name: str, most: int = LARGEST_FILE) -> bytes:
        """Return a file's bytes, without the user's own keys if it is text.

        Raises:
            Unreadable: the system refuses, or it has more than ``most`` bytes.
        """
        try:
            data = read_bytes(self.path(name), most + 1)
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror or error}") from error
        if len(data) > most:
            raise Unreadable(f"has more than {most // 1_000_000:,} MB; nothing of it is read")
        return self.redact(data)

    def begins_with(self, name: str, sign: bytes) -> bool:
        """Return whether a file begins with ``sign``; False if it cannot be read."""
        try:
            return read_bytes(self.path(name), len(sign)) == sign
        except OSError:
            return False

    def _walk(self, folder: Path, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._note(self._shown(folder), f"the folder cannot be listed: {error.strerror}")
            return
        for entry in entries:
            yield from self._entry(entry, depth)

    def _entry(self, entry: os.DirEntry[str], depth: int) -> Iterator[str]:
        path = Path(entry.path)
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            yield from self._regular(path)
        elif stat.S_ISLNK(mode):
            self._note(self._shown(path), "is a symbolic link; links are not followed, import what it leads to by its own path")
        elif not stat.S_ISDIR(mode):
            self._note(self._shown(path), "is no regular file; it is not read")
        elif entry.name not in _SKIPPED_FOLDERS and depth < _DEEPEST:
            yield from self._walk(path, depth + 1)
        elif depth >= _DEEPEST:
            self._note(self._shown(path), f"lies more than {_DEEPEST} folders deep; it is not read")

    def _regular(self, path: Path) -> Iterator[str]:
        name = path.relative_to(self.root).as_posix()
        try:
            name.encode()
        except UnicodeEncodeError:
            self._note(self._shown(path), "has a name that is not UTF-8; rename it to import it")
            return
        yield name

    def _shown(self, path: Path) -> str:
        return os.fsencode(path.relative_to(self.root)).decode("utf-8", "backslashreplace")

    def _note(self, where: str, what: str) -> None:
        self.findings.append(ImportFinding(where=one_line(where, 300), what=one_line(what, 500)))


def archived(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive that depends on their names and bytes alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return buffer.getvalue()


def first_folder(name: str) -> str:
    """Return the first folder of a path, "" for a plain name."""
    return name.partition("/")[0] if "/" in name else ""


def below(names: Iterable[str], folder: str) -> Sequence[str]:
    """Return the names below a folder ("" for all), in order."""
    prefix = f"{folder}/" if folder else ""
    return [name for name in names if name.startswith(prefix)]
