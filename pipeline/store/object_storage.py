"""Pages and exchanges in an object storage, or in a folder that stands for it: the same bytes and names as in the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from pipeline.errors import LogUnwritable, ObjectMissing
from pipeline.store.layout import object_path
from pipeline.store.objects import StoredObjects
from pipeline.text.cleaning import one_line


class Bucket(StoredObjects):
    """Objects at ``address``: ``s3://bucket/prefix``, ``file:///folder``. Access is as the environment says.

    What is not there is looked for in ``older``, where objects were stored before.
    """

    def __init__(self, address: str, older: StoredObjects) -> None:
        self._address, self._older = address, older
        with self._refusals():
            more: dict[str, Any] = {"mkdir": True} if address.startswith("file:") else {}
            self._store = from_url(address, **more)

    def put_packed(self, digest: str, body: bytes) -> None:
        """Store a packed object under its digest."""
        with self._refusals():
            obstore.put(self._store, object_path(digest), body)

    def packed(self, digest: str) -> bytes:
        """Return an object as it is stored.

        Raises:
            ObjectMissing: it is not stored.
        """
        with self._refusals():
            try:
                return bytes(obstore.get(self._store, object_path(digest)).bytes())
            except FileNotFoundError:
                return self._older.packed(digest)

    def size(self, digest: str) -> int:
        """Return the bytes that an object takes up, 0 if it is not stored."""
        with self._refusals():
            try:
                return int(obstore.head(self._store, object_path(digest))["size"])
            except FileNotFoundError:
                return self._older.size(digest)

    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good. Some may be gone already."""
        gone = list(digests)
        with self._refusals():
            for digest in gone:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, object_path(digest))
        self._older.remove(gone)

    def ids(self) -> Iterator[str]:
        """Yield the digests of all objects, sorted."""
        with self._refusals():
            names = (found["path"] for page in obstore.list(self._store, "objects") for found in page)
            here = {name.rpartition("/")[2].removesuffix(".gz") for name in names if name.endswith(".gz")}
        return iter(sorted(here.union(self._older.ids())))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except (ObjectMissing, FileNotFoundError):
            raise
        except (BaseError, OSError, ValueError) as error:
            hint = "check `objects`, and the access that the environment gives (AWS_ACCESS_KEY_ID and the like)"
            raise LogUnwritable(f"{self._address} cannot be used: {one_line(str(error), 300)}", hint=hint) from error
