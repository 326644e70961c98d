"""The folders of documents: lists their files, maps them to ``corpus:`` addresses and back, and reads them.

An address is ``corpus:`` plus the percent-encoded path relative to the folder. It is the same on every machine that has the
documents, and ASCII whatever bytes a file name has. Addresses in the first folder are ``corpus:<path>``; those in the others
contain the folder's name, ``corpus:@<name>/<path>``. If two folders have the same name, the second gets ``-2``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pipeline.documents.extract import accepted_kind
from pipeline.errors import GONE, CorpusUnusable, ReadFailed
from pipeline.system.files import open_regular
from pipeline.text.addresses import DOCUMENTS, path_of, readable
from pipeline.text.times import timestamp

_UNESCAPED = "/-._~+,@="
# Folders that documentation builders and package managers make beside the pages.
_IGNORED_FOLDERS = frozenset(("_sources", "_static", "_images", "node_modules", "__pycache__"))


class SkippedFile(NamedTuple):
    """A file that is not searched, and the reason. ``path`` is relative to the folder."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A regular file: address, size in bytes, time of last change in nanoseconds since the epoch."""

    url: str
    size: int
    changed: int


def address_of(path: str) -> str:
    """Return the address of the file at ``path``, relative to the folder."""
    return DOCUMENTS + quote(os.fsencode(path), safe=_UNESCAPED)


def scan(folder: Path) -> Iterator[FoundFile | SkippedFile]:
    """Yield the files of ``folder`` that may be documents and those that are skipped, in no fixed order.

    Hidden files and folders are left out, and links to folders are not followed. Links that leave ``folder`` are skipped.

    Raises:
        CorpusUnusable: ``folder`` is missing or cannot be listed.
    """
    root = resolved_folder(folder)
    skipped: list[SkippedFile] = []

    def report_unlisted(error: OSError) -> None:
        skipped.append(SkippedFile(printable(os.path.relpath(error.filename, root)), _reason(error)))

    def leaves(path: Path) -> bool:
        return path.is_symlink() and not path.resolve().is_relative_to(root)

    for place, folders, names in os.walk(root, onerror=report_unlisted):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _IGNORED_FOLDERS]
        for name in [*names, *(name for name in folders if leaves(Path(place, name)))]:
            if name.startswith("."):
                continue
            path = Path(place, name)
            relative = os.path.relpath(path, root)
            try:
                if leaves(path):
                    raise ReadFailed("a link that leaves the folder")
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    raise ReadFailed("not a regular file")
                accepted_kind(path, status.st_size)
                yield FoundFile(address_of(relative), status.st_size, status.st_mtime_ns)
            except (OSError, RuntimeError) as error:
                yield SkippedFile(printable(relative), _reason(error))
            except ReadFailed as error:
                yield SkippedFile(printable(relative), error.message)
    yield from skipped


def resolved_folder(folder: Path) -> Path:
    """Return the real path of ``folder``.

    Raises:
        CorpusUnusable: the folder is missing or cannot be listed.
    """
    hint = "name the folder that holds your documents under settings: corpus: in queries.yaml, or create it"
    try:
        root = folder.resolve(strict=True)
        os.scandir(root).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself, in Python before 3.13
        raise CorpusUnusable(f"The folder of documents {folder} cannot be used: {_reason(error)}.", hint=hint) from error
    return root


def contents(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        ReadFailed: the file is no document by its name, too large or unreadable; the message does not name the path.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            accepted_kind(path, size)
            return file.read(size + 1)
    except OSError as error:
        raise ReadFailed(_reason(error)) from error


def last_change(path: Path) -> str:
    """Return when a file was written, renamed or put there last, as an event's ``at``; "" if that is not known."""
    with suppress(OSError):
        return timestamp(datetime.fromtimestamp(path.stat().st_ctime, UTC))
    return ""


def _reason(error: OSError | RuntimeError) -> str:
    if isinstance(error, RuntimeError) or error.errno == errno.ELOOP:
        return "a link that leads back to itself"
    return (error.strerror or str(error)).lower()


def printable(path: str) -> str:
    """Return ``path`` with bytes that are not UTF-8 replaced, so that it can be printed."""
    return os.fsencode(path).decode("utf-8", "replace")


class Corpus:
    """The folders of documents in the order of the settings; a folder listed twice counts once."""

    def __init__(self, folders: Path | Sequence[Path]) -> None:
        once = {os.path.realpath(folder): folder for folder in ([folders] if isinstance(folders, Path) else folders)}
        self._folders: dict[str, Path] = {}  # by the part of their addresses between scheme and path: "" or "@<name>/"
        for folder in once.values():
            base = Path(os.path.normpath(folder.absolute())).name or "folder"
            names = (f"@{base}/" if n == 1 else f"@{base}-{n}/" for n in range(1, len(once) + 1))
            self._folders[next(name for name in names if name not in self._folders) if self._folders else ""] = folder

    def __str__(self) -> str:
        return ", ".join(map(str, self._folders.values()))

    def place(self, url: str) -> int:
        """Return the place, from 0, of an address's folder in the order of the settings."""
        return list(self._folders).index(self._split(url)[0])

    def prefixes(self, folder: str) -> tuple[str, ...]:
        """Return how the addresses in ``folder`` begin: one of the folders by its name, or a folder within one of them.

        Raises:
            CorpusUnusable: there is no such folder.
        """
        parts = Path(os.path.normpath(folder)).parts
        found: list[str] = []
        for prefix, known in self._folders.items():
            for cut in range(len(parts) + 1):
                inner = Path(*parts[cut:])
                named = not cut or known.absolute().parts[-cut:] == parts[:cut]
                if named and ".." not in parts and (known / inner).is_dir():
                    found.append(self._address(prefix, f"{inner}/" if inner.parts else ""))
        if not found:
            hint = "write under in: a folder of settings: corpus:, or one within it"
            raise CorpusUnusable(f"Your documents have no folder {folder}.", hint=hint)
        return tuple(dict.fromkeys(found))

    def unusable(self) -> dict[str, CorpusUnusable]:
        """Return an error for each folder that is missing or cannot be listed, by the part of its addresses that names it."""
        found: dict[str, CorpusUnusable] = {}
        for prefix, folder in self._folders.items():
            try:
                resolved_folder(folder)
            except CorpusUnusable as error:
                found[prefix] = error
        return found

    def scan(self) -> Iterator[FoundFile | SkippedFile]:
        """Yield the files of all folders, as ``scan`` does; an unusable folder is yielded as a skipped file.

        Raises:
            CorpusUnusable: none of the folders can be used.
        """
        faults = self.unusable()
        if len(faults) == len(self._folders):
            raise next(iter(faults.values()))
        for prefix, folder in self._folders.items():
            if error := faults.get(prefix):
                yield SkippedFile(prefix.rstrip("/") or ".", error.message.rstrip("."))
                continue
            for entry in scan(folder):
                if isinstance(entry, SkippedFile):
                    yield entry._replace(path=prefix + entry.path)
                else:
                    yield entry._replace(url=self._address(prefix, path_of(entry.url)))

    def path_at(self, url: str) -> Path:
        """Return the path of an address that ``scan`` yielded; it is not checked."""
        prefix, inner = self._split(url)
        return self._folders[prefix] / path_of(inner)

    def locate(self, url: str) -> Path:
        """Return the path of the document at ``url``.

        Raises:
            ReadFailed: ``url`` is no address of a file in one of the folders; ``..`` and links that leave it are refused.
        """
        prefix, address = self._split(url.partition("#")[0])
        parts = path_of(address).split("/")
        if not address.startswith(DOCUMENTS) or any(not part or part.startswith(".") or "\0" in part for part in parts):
            raise ReadFailed(f"{url} is not the address of a document in the folder")
        try:
            root = self._folders[prefix].resolve()
            path = root.joinpath(*parts)
            inside = path.resolve(strict=True).is_relative_to(root)
        except (OSError, RuntimeError) as error:
            raise ReadFailed(f"{readable(url)} cannot be read: {GONE}") from error
        if not inside:
            raise ReadFailed(f"{readable(url)} cannot be read: it is a link that leaves the folder")
        return path

    def _address(self, prefix: str, path: str) -> str:
        url = address_of(path)
        if not prefix and self._split(url)[0]:  # its "@" would be read as another folder's prefix
            return f"{DOCUMENTS}%40{url.removeprefix(DOCUMENTS)[1:]}"
        return address_of(prefix) + url.removeprefix(DOCUMENTS)

    def _split(self, url: str) -> tuple[str, str]:
        """Return the prefix of an address's folder, and its address within that folder."""
        for prefix in self._folders:
            if prefix and url.startswith(address_of(prefix)):
                return prefix, DOCUMENTS + url.removeprefix(address_of(prefix))
        return "", url
