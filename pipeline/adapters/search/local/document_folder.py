"""A folder of documents as addresses: which files it holds, and the way from an address back to a file inside it.

An address is ``corpus:`` and the path relative to the folder, percent-encoded: the same on every machine that has the
same documents, and plain ASCII whatever bytes a file name is made of.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from pipeline.adapters.search.local.read_document import refuse_by_name_and_size
from pipeline.errors import CorpusUnusable, ReadFailed

SCHEME = "corpus:"
_PLAIN = "/-._~+,@="
# What documentation builders leave beside the pages: their sources and their furniture.
_NO_DOCUMENTS = frozenset(("_sources", "_static", "_images", "node_modules", "__pycache__"))


class SkippedFile(NamedTuple):
    """A file that is not searched, and why. ``path`` is relative to the folder."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A regular file: its address, its size in bytes, its time of change in nanoseconds."""

    url: str
    size: int
    changed: int


def address_of(path: str) -> str:
    """Return the address of the file at ``path``, relative to the folder."""
    return SCHEME + quote(os.fsencode(path), safe=_PLAIN)


def path_of(url: str) -> str:
    """Return the path that an address names, relative to the folder; nothing is checked."""
    return os.fsdecode(unquote_to_bytes(url.removeprefix(SCHEME)))


def scan(folder: Path) -> Iterator[FoundFile | SkippedFile]:
    """Yield all files of ``folder`` that could be documents, in no fixed order, and those that are skipped.

    Hidden files and folders are passed over. Links to folders are not followed, nor are links that leave ``folder``.

    Raises:
        CorpusUnusable: ``folder`` is missing or cannot be listed.
    """
    root = usable(folder)
    skipped: list[SkippedFile] = []

    def unlisted(error: OSError) -> None:
        skipped.append(SkippedFile(printable(os.path.relpath(error.filename, root)), _why(error)))

    for place, folders, names in os.walk(root, onerror=unlisted):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_DOCUMENTS]
        for name in names:
            if not name.startswith("."):
                yield _looked_at(root, Path(place, name))
    yield from skipped


def usable(folder: Path) -> Path:
    """Return ``folder`` with all links followed.

    Raises:
        CorpusUnusable: it is missing or cannot be listed.
    """
    hint = "name the folder that holds your documents under settings: corpus: in queries.yaml, or create it"
    try:
        root = folder.resolve(strict=True)
        os.scandir(root).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself, in Python before 3.13
        raise CorpusUnusable(f"The folder of documents {folder} cannot be used: {_why(error)}.", hint=hint) from error
    return root


def _looked_at(root: Path, path: Path) -> FoundFile | SkippedFile:
    relative = os.path.relpath(path, root)
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            return SkippedFile(printable(relative), "a link that leaves the folder")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return SkippedFile(printable(relative), "not a regular file")
        refuse_by_name_and_size(path, status.st_size)
    except (OSError, RuntimeError) as error:
        return SkippedFile(printable(relative), _why(error))
    except ReadFailed as error:
        return SkippedFile(printable(relative), error.message)
    return FoundFile(address_of(relative), status.st_size, status.st_mtime_ns)


def located(folder: Path, url: str) -> Path:
    """Return the file that the address ``url`` names.

    Raises:
        ReadFailed: no address of a document in ``folder``, whatever stands in its way: ``..``, a link that leaves.
    """
    address = url.partition("#")[0]
    parts = path_of(address).split("/")
    if not address.startswith(SCHEME) or any(not part or part.startswith(".") or "\0" in part for part in parts):
        raise ReadFailed(f"{url} is no address of a document in the folder")
    try:
        root = folder.resolve()
        path = root.joinpath(*parts)
        inside = path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError) as error:
        raise ReadFailed(f"{address} cannot be read: it is no longer in the folder") from error
    if not inside:
        raise ReadFailed(f"{address} cannot be read: it is a link that leaves the folder")
    return path


def contents(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        ReadFailed: not a document by name, too large, or the system refuses; the message says why, without the path.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ReadFailed("not a regular file")
            refuse_by_name_and_size(path, status.st_size)
            return file.read(status.st_size + 1)
    except OSError as error:
        raise ReadFailed(_why(error)) from error


def _why(error: OSError | RuntimeError) -> str:
    if isinstance(error, RuntimeError) or error.errno == errno.ELOOP:
        return "a link that leads back to itself"
    return (error.strerror or str(error)).lower()


def printable(path: str) -> str:
    """Return ``path`` with the replacement sign for bytes that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
