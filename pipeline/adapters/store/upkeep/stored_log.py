"""A log as a whole, for what reads all of it: verifying and copying. Segments and objects, wherever they are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from pipeline.adapters.store import object_store
from pipeline.adapters.store.layout import Layout
from pipeline.adapters.store.segment_format import Finding, Segment
from pipeline.adapters.store.stream_reader import read_segments
from pipeline.domain.events.records import Kind
from pipeline.errors import ObjectMissing
from pipeline.system.files import read_bytes


class StoredLog(Protocol):
    """All streams and objects of one store, read only. Names are those of the files, also where there are none."""

    def ids(self, kind: Kind) -> Iterable[str]:
        """Return the ids of all streams of a kind that have a segment, sorted; also of sessions that are pruned or forgotten."""
        ...

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments, each as far as it is sound.

        Raises:
            LogUnreadable: they cannot be read.
        """
        ...

    def holds(self, digest: str) -> bool:
        """Return whether an object is stored; it may be damaged."""
        ...

    def digests(self) -> Iterator[str]:
        """Yield the digests under which objects are stored, sorted."""
        ...

    def packed(self, digest: str) -> bytes:
        """Return an object's bytes as they are stored, compressed.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        ...

    def read_object(self, digest: str) -> bytes:
        """Return an object's bytes, held against its digest.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        ...

    def damaged_objects(self) -> Iterator[Finding]:
        """Yield a finding for each stored object whose bytes do not have its digest."""
        ...

    def written_off(self) -> Collection[str]:
        """Return the ids of the sessions whose loss is accepted."""
        ...


class FileLog:
    """The log in the folder of ``layout``."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @classmethod
    def at(cls, root: Path) -> FileLog:
        """Return the log in a folder."""
        return cls(Layout(root))

    def ids(self, kind: Kind) -> Iterator[str]:
        """Yield the ids of all streams of a kind, sorted."""
        return self.layout.ids(kind)

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments.

        Raises:
            LogUnreadable: its folder cannot be read.
        """
        return read_segments(self.layout, stream)

    def holds(self, digest: str) -> bool:
        """Return whether there is a file for the object."""
        return self.layout.object(digest).exists()

    def digests(self) -> Iterator[str]:
        """Yield the digests that name files of objects, sorted; files that no reader finds are left out."""
        return (name for path in self._object_files() if self.layout.object(name := path.name.removesuffix(".gz")) == path)

    def damaged_objects(self) -> Iterator[Finding]:
        """Yield a finding for each file of an object whose bytes do not have the digest that it is named by."""
        for path in self._object_files():
            try:
                object_store.read(path, path.name.removesuffix(".gz"))
            except ObjectMissing as error:
                yield Finding(self.layout.named(path), 0, "object", error.message)

    def _object_files(self) -> list[Path]:
        return sorted((self.layout.root / "objects").glob("*/*.gz"))

    def packed(self, digest: str) -> bytes:
        """Return the bytes of an object's file.

        Raises:
            ObjectMissing: there is none, or it was altered.
        """
        self.read_object(digest)
        return read_bytes(self.layout.object(digest))

    def read_object(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        return object_store.read(self.layout.object(digest), digest)

    def written_off(self) -> frozenset[str]:
        """Return the ids of the sessions whose loss is accepted."""
        return self.layout.written_off_sessions()
