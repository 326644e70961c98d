"""Copies what is missing from the log of another workspace. Nothing of it is believed before it was verified.

Objects come before the records that name them, segments before those that continue them. So whenever the copying ends, what is
here is sound. A file that cannot be verified is refused by name and left out; so are the segments that build on it. What either
log has pruned or forgotten is not brought back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import kind_of, tombstones_of
from pipeline.errors import LogError, LogUnreadable, LogUnwritable, ObjectMissing
from pipeline.store.file_store import FileStore
from pipeline.store.layout import Layout, is_plain, stream_of
from pipeline.store.objects import FileObjects
from pipeline.store.segments import NAMED_OBJECT, Finding, Line, Segment, join, parse, read_segments
from pipeline.system import files

_KEPT_REPORT = re.compile(rb'"report":"([0-9a-f]{64})"')
_LARGEST = 1 << 30  # bytes of a segment
_NOT_COPIED = {"local", "damaged", "objects"}
_SUFFIX = ".jsonl"


@dataclass(slots=True)
class Copied:
    """What was copied, or would be: segments by path, objects by digest; and what was ``refused``, with the reason."""

    segments: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    streams: set[str] = field(default_factory=set)


def copy_missing(root: Path, other: Path, *, check: bool = False) -> Copied:
    """Copy the segments and objects that the log ``other`` has and the log ``root`` lacks; ``check``: write nothing.

    Raises:
        LogUnreadable: the other log cannot be read.
        LogUnwritable: the disk refuses.
        WorkspaceLocked: a run writes one of the streams.
    """
    copied, there = Copied(), Layout(other)
    try:
        found = _segments_of(there, copied)
    except OSError as error:
        raise LogUnreadable(f"{other} cannot be read: {error.strerror}", hint="check the folder and its permissions") from error
    try:
        copying = _Copying(root, there, copied, check)
        for stream, segments in sorted(found.items()):
            copying.take(stream, segments)
    except OSError as error:
        raise LogUnwritable(f"{root} cannot be written: {error.strerror}", hint="check space and permissions there") from error
    return copied


def _segments_of(there: Layout, copied: Copied) -> dict[str, list[Segment]]:
    """Return the other log's segments by stream, each as far as it is sound; refuse what is none."""
    found: dict[str, list[Segment]] = {}
    for entry in _files(there, there.root, copied):
        name, stream = there.named(Path(entry.path)), _stream_of(there.named(Path(entry.path)))
        if entry.stat(follow_symlinks=False).st_size > _LARGEST:
            copied.refused.append(Finding(name, 0, "corrupt", "it is larger than any segment"))
            continue
        segment = parse(name, files.read_bytes(entry.path), stream)
        if segment.finding and segment.finding.kind != "torn":
            copied.refused.append(segment.finding)
        elif segment.lines:
            found.setdefault(stream, []).append(segment)
    return found


def _files(there: Layout, folder: Path, copied: Copied) -> Iterator[os.DirEntry[str]]:
    """Yield the segment files below a folder, sorted; refuse links, and names that no log has."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if folder == there.root and (entry.name in _NOT_COPIED or entry.name.startswith(".")):
            continue
        if entry.is_symlink() or not is_plain(entry.name.replace("~", "-")):
            message = "it is a link" if entry.is_symlink() else "no log has a file of this name"
            copied.refused.append(Finding(there.named(Path(entry.path)), 0, "invalid", message))
        elif entry.is_dir():
            yield from _files(there, Path(entry.path), copied)
        elif entry.name.endswith(_SUFFIX) and entry.is_file():
            yield entry


def _stream_of(name: str) -> str:
    """Return the stream of a segment: its session's folder, or for every other kind the file's name."""
    parts = name.split("/")
    return parts[1] if parts[0] == "sessions" and len(parts) > 2 else stream_of(parts[-1])


class _Copying:
    """Two logs, what either has pruned or forgotten (``stones``), and what was copied of the one into the other so far."""

    def __init__(self, root: Path, there: Layout, copied: Copied, check: bool) -> None:
        self.root, self.there, self.copied, self.check = root, there, copied, check
        self.ours, self.theirs = FileObjects(Layout(root)), FileObjects(there)
        prunes = (s for one in (Layout(root), there) for name in one.ids("prune") for s in read_segments(one, name))
        self.stones = tombstones_of(line.record for segment in prunes for line in segment.lines)

    def take(self, stream: str, theirs: Sequence[Segment]) -> None:
        """Copy the segments of a stream that are missing here, after the objects that they name."""
        pruned = self.stones.sessions.get(stream)
        last = max(line.record.version for segment in theirs for line in segment.lines)
        if kind_of(stream) == "session" and (self.stones.is_forgotten(stream) or (pruned is not None and last <= pruned.up_to)):
            return
        ours = {segment.path: segment for segment in self._own(stream, {str(Path(segment.path).parent) for segment in theirs})}
        fresh = [segment for segment in theirs if self._is_fresh(stream, segment, ours.get(segment.path))]
        refused = {segment.path: why for segment in fresh if (why := self._refused(stream, segment))}
        fresh = [segment for segment in fresh if segment.path not in refused]
        united = ours | {segment.path: replace(segment, finding=None) for segment in fresh}
        chain = join(united.values())
        detached = {finding.path: finding for finding in chain.findings if finding.kind == "detached"}
        self.copied.refused += [*refused.values(), *(detached[segment.path] for segment in fresh if segment.path in detached)]
        missing = [segment for segment in fresh if segment.path not in detached]
        for segment in sorted(missing, key=lambda one: one.lines[0].record.version):
            self._take_objects(stream, segment)
            self.copied.segments.append(segment.path)
            self.copied.streams.add(stream)
        if missing and not self.check:
            FileStore(self.root).write(stream, missing, chain)

    def _own(self, stream: str, folders: set[str]) -> Iterator[Segment]:
        """Yield this log's segments of the stream, from the folders where the other log has them."""
        for path in sorted(path for folder in folders for path in (self.root / folder).glob(f"*{_SUFFIX}")):
            if _stream_of(name := path.relative_to(self.root).as_posix()) == stream:
                yield parse(name, files.read_bytes(path), stream)

    def _is_fresh(self, stream: str, theirs: Segment, ours: Segment | None) -> bool:
        """Return whether a segment has records that are not here. If both logs have the file, one must begin the other."""
        if ours is None:
            return True
        hashes, known = [line.hash for line in theirs.lines], [line.hash for line in ours.lines]
        if hashes[: len(known)] == known and not (ours.finding and ours.finding.kind != "torn"):
            return len(hashes) > len(known)
        struck = kind_of(stream) == "memory" and bool(self.stones.forgotten)  # what was forgotten is struck out of these
        if known[: len(hashes)] != hashes and not struck:
            message = "another file of this name is here, and neither continues the other"
            self.copied.refused.append(Finding(theirs.path, 0, "fork", message))
        return False

    def _refused(self, stream: str, segment: Segment) -> Finding | None:
        """Return why a sound segment must not be copied: it holds what is no event, or names an object that is nowhere."""
        try:
            for _ in decode_all(line.record.data for line in segment.lines):
                pass
        except LogError as error:
            return Finding(segment.path, 0, "invalid", error.message)
        for number, line in enumerate(segment.lines, 1):
            for digest in _objects_of(line):
                stone = self.stones.objects.get(digest)
                is_pruned = stone is not None and (kind_of(stream) == "memory" or line.record.at <= stone)
                if not (is_pruned or _is_sound(self.ours, digest)) and (why := self._unusable(digest)):
                    return Finding(segment.path, number, "object", why)
        return None

    def _unusable(self, digest: str) -> str:
        """Return why an object cannot be copied, or ""."""
        path = self.there.object(digest)
        if not path.is_file() or path.is_symlink():
            return f"the record names object {digest}, which is in neither log"
        try:
            self.theirs.get(digest)
        except ObjectMissing as error:
            return error.message
        return ""

    def _take_objects(self, stream: str, segment: Segment) -> None:
        """Copy the objects that a segment names, and of a pruned session those that its kept report names."""

        def missing(digests: Iterable[str]) -> set[str]:
            return {digest for digest in digests if not _is_sound(self.ours, digest) and not self._unusable(digest)}

        wanted = missing(digest for line in segment.lines for digest in _objects_of(line))
        if kind_of(stream) == "prune":
            kept = [self.theirs.get(digest) for digest in wanted]
            wanted |= missing(found.decode() for data in kept for found in NAMED_OBJECT.findall(data))
        for digest in sorted(wanted - {*self.copied.objects}):
            self.copied.objects.append(digest)
            if not self.check:
                self.ours.put(self.theirs.get(digest))


def _is_sound(there: FileObjects, digest: str) -> bool:
    try:
        there.get(digest)
    except ObjectMissing:
        return False
    return True


def _objects_of(line: Line) -> list[str]:
    named = NAMED_OBJECT.findall(line.record.data)
    kept = _KEPT_REPORT.findall(line.record.data) if line.record.type == "session.pruned" else []
    return [digest.decode() for digest in (*named, *kept)]
