"""Stores pages and exchanges once, compressed, under the SHA-256 of their bytes."""

from __future__ import annotations

import errno
import gzip
import re
import zlib
from pathlib import Path

from pipeline.errors import ObjectMissing
from pipeline.system import files
from pipeline.text.normalise import digest_of

LARGEST = 256_000_000  # bytes of an object, packed or not: no page comes near, and a damaged file may unpack to anything
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = (OSError, ValueError, zlib.error)


def write(path: Path, data: bytes, scratch: Path) -> None:
    """Store ``data`` at ``path``, durable on return. A sound object there is left as it is, a damaged one replaced.

    Raises:
        OSError: the disk refuses, or ``data`` is larger than could be read again.
    """
    if len(data) > LARGEST:
        raise _too_large(data)
    files.make_directories(path.parent)
    if holds(path, data):
        # Whoever stored it may have died before its name was durable.
        files.sync_directory(path.parent)
        return
    files.replace(path, packed(data), scratch)


def holds(path: Path, data: bytes) -> bool:
    """Return whether ``path`` is an object with exactly these bytes."""
    try:
        return _unpacked(_content(path)) == data
    except _UNREADABLE:
        return False


def read(path: Path, digest: str) -> bytes:
    """Return the object's bytes, held against its digest.

    Raises:
        ObjectMissing: it is not stored, cannot be read, or was altered.
    """
    hint = "`research verify` lists all damage; restore the file from a backup, or research the query again"
    try:
        packed_bytes = _content(path)
    except FileNotFoundError:
        raise ObjectMissing(f"the stored object {digest} is missing: {path}", hint=hint) from None
    except OSError as error:
        raise ObjectMissing(f"the stored object {path} cannot be read: {error}", hint=hint) from error
    return opened(packed_bytes, digest, str(path))


def packed(data: bytes) -> bytes:
    """Return an object as it is stored: compressed, the same bytes for the same object.

    Raises:
        OSError: it is larger than could be read again.
    """
    if len(data) > LARGEST:
        raise _too_large(data)
    return gzip.compress(data, compresslevel=6, mtime=0)


def opened(packed_bytes: bytes, digest: str, name: str) -> bytes:
    """Return the bytes of a stored object, held against its digest; ``name`` is how messages call it.

    Raises:
        ObjectMissing: it was altered.
    """
    hint = "`research verify` lists all damage; restore the file from a backup, or research the query again"
    try:
        data = _unpacked(packed_bytes)
    except _UNREADABLE as error:
        raise ObjectMissing(f"the stored object {name} cannot be read: {error}", hint=hint) from error
    if digest_of(data) != digest:
        raise ObjectMissing(f"the stored object {name} was altered: its bytes do not have its digest", hint=hint)
    return data


def _too_large(data: bytes) -> OSError:
    return OSError(errno.EFBIG, f"it has {len(data)} bytes, {LARGEST} are allowed")


def _content(path: Path) -> bytes:
    return files.read_bytes(path, LARGEST + 1)


def _unpacked(packed_bytes: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)  # 31: as gzip, with its header and checksum
    data = unpacking.decompress(packed_bytes, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST} bytes")
    if not unpacking.eof or unpacking.unused_data.strip(b"\0"):  # a disk may leave zeros behind what was written
        raise ValueError("it is cut off, or something follows it")
    return data


def is_digest(text: str) -> bool:
    """Return whether ``text`` is a SHA-256 in hex, the name of an object."""
    return _DIGEST.fullmatch(text) is not None
