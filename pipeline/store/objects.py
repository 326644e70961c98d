"""Pages and exchanges, stored once, compressed, under the SHA-256 of their bytes."""

from __future__ import annotations

import contextlib
import errno
import gzip
import re
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.errors import ObjectMissing
from pipeline.store.layout import FORGETTING_GOES_ON, Layout, object_path, refusals
from pipeline.store.record_chain import Defect
from pipeline.system import files
from pipeline.text.cleaning import digest_of

LARGEST = 256_000_000  # bytes of an object, packed or not: no page comes near, and a damaged file may unpack to anything
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HINT = "`research verify` lists all damage; restore it from a backup, or research the query again"


class StoredObjects(ABC):
    """The port ``Objects`` over a place that keeps them packed; as they are packed, they are copied from place to place."""

    @abstractmethod
    def put_packed(self, digest: str, body: bytes) -> None:
        """Store a packed object durably; one that is there may be left.

        Raises:
            LogUnwritable: it is refused.
        """

    @abstractmethod
    def packed(self, digest: str) -> bytes:
        """Return an object as it is stored.

        Raises:
            ObjectMissing: it is not stored.
        """

    @abstractmethod
    def size(self, digest: str) -> int:
        """Return the bytes that an object takes up, 0 if it is not stored."""

    @abstractmethod
    def ids(self) -> Iterator[str]:
        """Yield the digests of all objects, sorted."""

    @abstractmethod
    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good. Some may be gone already.

        Raises:
            LogUnwritable: it is refused; some may be left.
        """

    def put(self, data: bytes) -> str:
        """Store an object durably; return its SHA-256.

        Raises:
            LogUnwritable: it is refused, or larger than could be read again.
        """
        digest = digest_of(data)
        self.put_packed(digest, packed(data))
        return digest

    def get(self, digest: str) -> bytes:
        """Return an object's bytes, held against its digest.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        if not is_digest(digest):
            raise ObjectMissing(f"{digest!r} names no object: it is no SHA-256", hint="run `research verify`")
        return opened(self.packed(digest), digest, self.name_of(digest))

    def name_of(self, digest: str) -> str:
        """Return how messages call an object."""
        return digest

    def damaged(self) -> Iterator[Defect]:
        """Yield a finding for each object whose bytes do not have its digest."""
        for digest in self.ids():
            try:
                self.get(digest)
            except ObjectMissing as error:
                yield Defect(object_path(digest), 0, "object", error.message)


class FileObjects(StoredObjects):
    """Objects as files in the folder of ``layout``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._guard = threading.Lock()

    def put(self, data: bytes) -> str:
        """Store an object durably; return its SHA-256. A sound object of these bytes is left as it is, a damaged one replaced.

        Raises:
            LogUnwritable: the disk refuses.
        """
        digest = digest_of(data)
        path = self._layout.object(digest)
        if _holds(path, data):
            with refusals("an object cannot be stored"):
                files.sync_directory(path.parent)  # whoever stored it may have died before its name was durable
            return digest
        return super().put(data)

    def put_packed(self, digest: str, body: bytes) -> None:
        """Store a packed object durably.

        Raises:
            LogUnwritable: the disk refuses.
        """
        path = self._layout.object(digest)
        with refusals("an object cannot be stored"):
            with self._guard:  # else another thread could take a folder for durable that is only just made
                self._layout.prepare()
                files.make_directories(path.parent)
            files.replace(path, body, self._layout.scratch)

    def packed(self, digest: str) -> bytes:
        """Return the bytes of an object's file.

        Raises:
            ObjectMissing: there is none, or it cannot be read.
        """
        return _content(self._layout.object(digest), digest)

    def name_of(self, digest: str) -> str:
        """Return an object's path."""
        return str(self._layout.object(digest))

    def size(self, digest: str) -> int:
        """Return the bytes of an object's file, 0 if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self._layout.object(digest).stat().st_size
        return 0

    def ids(self) -> Iterator[str]:
        """Yield the digests that name files of objects, sorted; files that no reader finds are left out."""
        return (name for path in self._files() if self._layout.object(name := path.name.removesuffix(".gz")) == path)

    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good, and make it durable folder by folder.

        Raises:
            LogUnwritable: the disk refuses; some objects may be left.
        """
        paths = sorted(map(self._layout.object, digests))
        with refusals("an object cannot be removed", FORGETTING_GOES_ON):
            for path in paths:
                path.unlink(missing_ok=True)
            for folder in sorted({path.parent for path in paths}):
                if folder.is_dir():
                    files.sync_directory(folder)

    def damaged(self) -> Iterator[Defect]:
        """Yield a finding for each file of an object whose bytes do not have the digest that it is named by."""
        for path in self._files():
            try:
                digest = path.name.removesuffix(".gz")
                opened(_content(path, digest), digest, str(path))
            except ObjectMissing as error:
                yield Defect(self._layout.named(path), 0, "object", error.message)

    def _files(self) -> list[Path]:
        return sorted((self._layout.root / "objects").glob("*/*.gz"))


def is_digest(text: str) -> bool:
    """Return whether ``text`` is a SHA-256 in hex, the name of an object."""
    return _DIGEST.fullmatch(text) is not None


def packed(data: bytes) -> bytes:
    """Return an object as it is stored: compressed, the same bytes for the same object.

    Raises:
        LogUnwritable: it is larger than could be read again.
    """
    with refusals("an object cannot be stored"):
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, f"it has {len(data)} bytes, {LARGEST} are allowed")
        return gzip.compress(data, compresslevel=6, mtime=0)


def opened(packed_bytes: bytes, digest: str, name: str) -> bytes:
    """Return the bytes of a stored object, held against its digest; ``name`` is how messages call it.

    Raises:
        ObjectMissing: it was altered.
    """
    try:
        data = _unpacked(packed_bytes)
    except (ValueError, zlib.error) as error:
        raise ObjectMissing(f"the stored object {name} cannot be read: {error}", hint=_HINT) from error
    if digest_of(data) != digest:
        raise ObjectMissing(f"the stored object {name} was altered: its bytes do not have its digest", hint=_HINT)
    return data


def _holds(path: Path, data: bytes) -> bool:
    """Return whether ``path`` is an object with exactly these bytes."""
    try:
        return _unpacked(files.read_bytes(path, LARGEST + 1)) == data
    except (OSError, ValueError, zlib.error):
        return False


def _content(path: Path, digest: str) -> bytes:
    try:
        return files.read_bytes(path, LARGEST + 1)
    except FileNotFoundError:
        raise ObjectMissing(f"the stored object {digest} is missing: {path}", hint=_HINT) from None
    except (OSError, ValueError) as error:
        raise ObjectMissing(f"the stored object {path} cannot be read: {error}", hint=_HINT) from error


def _unpacked(packed_bytes: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)  # 31: as gzip, with its header and checksum
    data = unpacking.decompress(packed_bytes, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST} bytes")
    if not unpacking.eof or unpacking.unused_data.strip(b"\0"):  # a disk may leave zeros behind what was written
        raise ValueError("it is cut off, or something follows it")
    return data
