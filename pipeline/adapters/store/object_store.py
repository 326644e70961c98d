"""Stores pages and exchanges once, compressed, under the SHA-256 of their bytes."""

from __future__ import annotations

import errno
import gzip
import re
import zlib
from pathlib import Path

from pipeline.errors import ObjectMissing
from pipeline.system import durable_files
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
        raise OSError(errno.EFBIG, f"it has {len(data)} bytes, {LARGEST} are allowed")
    durable_files.make_directories(path.parent)
    if holds(path, data):
        # Whoever stored it may have died before its name was durable.
        durable_files.sync_directory(path.parent)
        return
    durable_files.replace(path, gzip.compress(data, compresslevel=6, mtime=0), scratch)


def holds(path: Path, data: bytes) -> bool:
    """Return whether ``path`` is an object with exactly these bytes."""
    try:
        return _unpacked(path) == data
    except _UNREADABLE:
        return False


def read(path: Path, digest: str) -> bytes:
    """Return the object's bytes, held against its digest.

    Raises:
        ObjectMissing: it is not stored, cannot be read, or was altered.
    """
    hint = "`research verify` lists all damage; restore the file from a backup, or research the query again"
    try:
        data = _unpacked(path)
    except FileNotFoundError:
        raise ObjectMissing(f"the stored object {digest} is missing: {path}", hint=hint) from None
    except _UNREADABLE as error:
        raise ObjectMissing(f"the stored object {path} cannot be read: {error}", hint=hint) from error
    if digest_of(data) != digest:
        raise ObjectMissing(f"the stored object {path} was altered: its bytes do not have its digest", hint=hint)
    return data


def _unpacked(path: Path) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)  # 31: as gzip, with its header and checksum
    with path.open("rb") as file:
        data = unpacking.decompress(file.read(LARGEST + 1), LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST} bytes")
    if not unpacking.eof or unpacking.unused_data.strip(b"\0"):  # a disk may leave zeros behind what was written
        raise ValueError("it is cut off, or something follows it")
    return data


def is_digest(text: str) -> bool:
    """Return whether ``text`` is a SHA-256 in hex, the name of an object."""
    return _DIGEST.fullmatch(text) is not None
