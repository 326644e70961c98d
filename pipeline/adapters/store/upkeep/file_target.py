"""The files as a log that another one is copied into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pipeline.adapters.store import verification
from pipeline.adapters.store.record_chain import RecordChain
from pipeline.adapters.store.segment_format import Segment, seal
from pipeline.adapters.store.upkeep.stored_log import FileLog
from pipeline.errors import LogUnwritable
from pipeline.system import files
from pipeline.system.process_lock import Lock


class FileTarget(FileLog):
    """The log in the folder of ``layout``; every file is durable when its method returns."""

    def prepare(self) -> None:
        """Make what a log has before its first record.

        Raises:
            LogUnwritable: the disk refuses.
        """
        with _refusals(str(self.layout.root)):
            self.layout.prepare()

    def put_packed(self, digest: str, body: bytes) -> None:
        """Store an object as it was stored elsewhere.

        Raises:
            LogUnwritable: the disk refuses.
        """
        path = self.layout.object(digest)
        with _refusals(str(path)):
            files.make_directories(path.parent)
            files.replace(path, body, self.layout.scratch)

    def write(self, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:  # noqa: ARG002 - a database needs it
        """Write the segments whose files lack records, those first that others continue.

        Raises:
            LogUnwritable: the disk refuses.
            WorkspaceLocked: a process writes the stream.
        """
        lock = Lock(self.layout.lock(stream), f"writes {stream}")
        lock.acquire()
        try:
            for segment in sorted(segments, key=lambda one: one.lines[0].record.version):
                self._write(segment)
        finally:
            lock.release()

    def _write(self, segment: Segment) -> None:
        content = b"".join(seal(line.record.data, line.prev)[0] for line in segment.lines)
        path = self.layout.root / segment.path
        with _refusals(str(path)):
            if not path.exists() or path.stat().st_size < len(content):
                files.make_directories(path.parent)
                files.replace(path, content, self.layout.scratch)

    def write_off(self, session: str) -> None:
        """Accept that a session's log is missing.

        Raises:
            LogUnwritable: the disk refuses.
        """
        verification.write_off(self.layout.root, session)

    def finish(self) -> None:
        """Do nothing: every file is durable already."""


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogUnwritable(f"{name} cannot be written: {error.strerror}", hint="check space and permissions there") from error
