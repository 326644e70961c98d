"""Copies what one log has and another lacks. Nothing of it is believed before it was verified.

Objects come before the records that name them, segments before those that continue them. So whenever the copying ends, what is
there is sound. What either log has pruned or forgotten is not brought back.

One's own log is copied stream by stream: as a whole, or refused by name. Another workspace's log, which somebody else may have
written, is taken segment by segment, with the objects that these name: each must hold events, of which no object is missing, and
continue what is known. A stream that both continued has two branches then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import KINDS, Kind, kind_of
from pipeline.errors import LogError, LogUnreadable, ObjectMissing
from pipeline.store.layout import Layout, is_plain, is_shared, object_path, segment_path, stream_of
from pipeline.store.objects import FileObjects, opened
from pipeline.store.record_chain import NAMED_OBJECT, Defect, Line, RecordChain, Segment, join, read_segment, recalls
from pipeline.store.verification import StoredLog, tombstones_in

_KEPT_REPORT = re.compile(rb'"report":"([0-9a-f]{64})"')  # of a line: what is kept of a pruned session
_LARGEST = 1 << 30  # bytes of a segment
_SUFFIX = ".jsonl"


class CopyTarget(StoredLog, Protocol):
    """A log that another one is copied into."""

    def write(self, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:
        """Store a stream: all of these segments, of which the first lines of some may be stored already.

        Raises:
            WorkspaceLocked: a process writes the stream.
        """
        ...

    def write_off(self, session: str) -> None:
        """Accept that a session's log is missing."""
        ...


class OtherLog:
    """The files of another workspace's log. Links, and names that no log has, are not followed but ``refused``."""

    def __init__(self, root: Path) -> None:
        self._layout, self.refused = Layout(root), list[Defect]()
        self._paths: dict[str, list[Path]] = {}
        try:
            for path in self._segment_files(root):
                shared = path.parent.name != "events"
                self._paths.setdefault(stream_of(path.name) if shared else path.parent.parent.name, []).append(path)
        except OSError as error:
            hint = "check the folder and its permissions"
            raise LogUnreadable(f"{root} cannot be read: {error.strerror}", hint=hint) from error

    def _segment_files(self, folder: Path) -> Iterator[Path]:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            path, name = Path(entry.path), self._layout.named(Path(entry.path))
            if name in ("local", "damaged", "objects") or name.startswith("."):
                continue
            if entry.is_symlink():
                self.refused.append(Defect(name, 0, "invalid", "it is a link"))
            elif not is_plain(entry.name.replace("~", "-")):
                self.refused.append(Defect(name, 0, "invalid", "no log has a file of this name"))
            elif entry.is_dir():
                yield from self._segment_files(path)
            elif not entry.name.endswith(_SUFFIX) or not entry.is_file():
                continue
            elif entry.stat().st_size > _LARGEST:
                self.refused.append(Defect(name, 0, "corrupt", "it is larger than any segment"))
            else:
                yield path

    @property
    def objects(self) -> FileObjects:
        """Pages and exchanges."""
        return FileObjects(self._layout)

    def streams(self, kind: Kind) -> list[str]:
        """Return the ids of all streams of a kind that have a segment, sorted."""
        return sorted(name for name in self._paths if kind_of(name) == kind)

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments, each as far as it is sound; of a prune, which counts before it is copied, only events."""
        found = [read_segment(path, self._layout.named(path), stream) for path in self._paths[stream]]
        for segment in found if kind_of(stream) == "prune" else ():
            if why := _no_event(segment):
                segment.lines, segment.finding = [], why
        return found

    def written_off(self) -> tuple[str, ...]:
        """Return nothing: what was accepted there need not be accepted here."""
        return ()


@dataclass(slots=True)
class CopyReport:
    """What was copied, or would be: streams by id, segments by path, objects by digest; and what was ``refused``, and why.

    ``same`` counts the streams that were there already, ``ahead`` those that go on in the target; ``torn`` the ends left out,
    ``gone`` the streams that are pruned or forgotten.
    """

    streams: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    refused: list[Defect] = field(default_factory=list)
    same: int = 0
    ahead: int = 0
    torn: int = 0
    gone: int = 0


def copy_log(source: StoredLog, target: CopyTarget, *, check: bool = False) -> CopyReport:
    """Copy all of ``source`` that ``target`` lacks, whole streams only if it is one's own log; ``check``: write nothing.

    Raises:
        LogUnreadable, LogUnwritable: one of the stores does not let us.
        WorkspaceLocked: a process writes one of the streams.
    """
    copying = _Copying(source, target, check)
    if copying.is_own:
        copying.take_objects(sorted(copying.here - (copying.theirs.objects.keys() - copying.ours.objects.keys())))
    for stream in (name for kind in KINDS for name in source.streams(kind)):
        copying.take_stream(stream)
    if not check:
        for session in sorted(set(source.written_off()) - set(target.written_off())):
            target.write_off(session)
    return copying.report


class _Copying:
    """Two logs, and what was copied so far. ``here`` and ``there`` are the objects of the source and of the target."""

    def __init__(self, source: StoredLog, target: CopyTarget, check: bool) -> None:
        self.source, self.target, self.check = source, target, check
        self.is_own = not isinstance(source, OtherLog)
        self.report = CopyReport(refused=source.refused if isinstance(source, OtherLog) else [])
        self.here, self.there = frozenset(source.objects.ids()), set(target.objects.ids())
        self.ours, self.theirs = tombstones_in(source), tombstones_in(target)

    def take_objects(self, digests: Iterable[str]) -> None:
        """Copy those of the objects that the target lacks and the source has."""
        for digest in digests:
            if digest in self.there or digest not in self.here:
                continue
            try:
                body = self.source.objects.packed(digest)
                opened(body, digest, self.source.objects.name_of(digest))
            except ObjectMissing as error:
                self.report.refused.append(Defect(object_path(digest), 0, "object", error.message))
                continue
            if not self.check:
                self.target.objects.put_packed(digest, body)
            self.there.add(digest)
            self.report.objects.append(digest)

    def take_stream(self, stream: str) -> None:
        """Copy a stream, or of another workspace's those of its segments that can be."""
        report = self.report
        try:
            ours = [segment for segment in self.source.segments(stream) if segment.lines or segment.finding]
            theirs = self.target.segments(stream)
        except LogUnreadable as error:
            report.refused.append(Defect(segment_path(stream, ""), 0, "unreadable", error.message))
            return
        last = max((line.record.version for segment in ours for line in segment.lines), default=0)
        pruned = [stones.sessions[stream] for stones in (self.ours, self.theirs) if stream in stones.sessions]
        if self.ours.is_forgotten(stream) or self.theirs.is_forgotten(stream) or any(last <= one.up_to for one in pruned):
            report.gone += 1
            return
        report.torn += len(join(ours).torn)
        fresh, refused, is_ahead = self._compared(stream, ours, theirs)
        united = {segment.path: segment for segment in theirs} | {one.path: replace(one, finding=None) for one in fresh}
        chain = join(united.values())
        broken = {one.path: one for one in chain.findings if one.kind == "detached" or (self.is_own and one.kind != "torn")}
        if self.is_own and fresh and is_ahead:
            broken = {"": Defect(segment_path(stream, ""), 0, "fork", "it goes on in both logs, each in another way")}
        told, taken = {one.path for one in refused}, {one.path for one in fresh}
        refused += [one for path, one in broken.items() if path not in told and (self.is_own or path in taken)]
        fresh = [one for one in fresh if one.path not in broken and not (self.is_own and refused)]
        report.refused += refused
        if fresh:
            needed = {digest for one in fresh for line in one.lines for digest in self._needed(line)} - self.there
            kept = needed.intersection(one.report for one in self.ours.sessions.values())  # of pruned sessions
            for digest in () if self.is_own else kept:
                needed.update(map(bytes.decode, NAMED_OBJECT.findall(self.source.objects.get(digest))))
            self.take_objects(sorted(needed))
            if not self.check:
                self.target.write(stream, [one for one in united.values() if one.lines and one.path not in broken], chain)
            report.streams.append(stream)
            report.segments += [segment.path for segment in fresh]
        elif not refused:
            report.ahead += is_ahead
            report.same += not is_ahead

    def _compared(
        self, stream: str, ours: Sequence[Segment], theirs: Sequence[Segment]
    ) -> tuple[list[Segment], list[Defect], bool]:
        """Return the segments of which the target lacks records, what is refused, and whether the target goes on by itself."""
        fresh, refused, given = list[Segment](), list[Defect](), {one.path: len(one.lines) for one in ours}
        is_ahead = any(len(one.lines) > given.get(one.path, 0) for one in theirs)
        held = {segment.path: segment for segment in theirs}
        pairs = ((one.path, zip(one.lines, held[one.path].lines, strict=False)) for one in ours if one.path in held)
        others = {path for path, lines in pairs if any(line.hash != other.hash for line, other in lines)}
        # What was forgotten is struck out of all but sessions and imports, and what is left of such a stream is in one file.
        can_be_struck = kind_of(stream) not in ("session", "import")
        is_struck = can_be_struck and bool(others and (self.ours.forgotten or self.theirs.forgotten))
        is_left = is_struck and not (self.is_own and self.ours.forgotten.keys() - self.theirs.forgotten.keys())
        for segment in ours:
            known = held.get(segment.path) or Segment(segment.path)
            if segment.finding and segment.finding.kind != "torn":
                refused.append(segment.finding)
            elif not _has_place(stream, segment.path):
                refused.append(Defect(segment.path, 0, "invalid", "no log has a file of this name"))
            elif is_left:
                continue
            elif segment.path in others:
                message = "another file of this name is there, and neither continues the other"
                if is_struck:
                    message = "something was forgotten that the target still has: run research forget there too, then copy again"
                refused.append(Defect(segment.path, 0, "fork", message))
            elif len(segment.lines) > len(known.lines):
                if known.finding and known.finding.kind != "torn":
                    refused.append(Defect(segment.path, 0, "corrupt", f"in the target it is damaged: {known.finding}"))
                elif self.is_own or not (why := self._unfit(segment)):
                    fresh.append(segment)
                else:
                    refused.append(why)
        return fresh, refused, is_ahead or is_left

    def _needed(self, line: Line) -> Iterator[str]:
        """Yield the objects that a record names, without those that were pruned since."""
        record = line.record
        named = NAMED_OBJECT.findall(record.data)
        if record.type == "session.pruned":
            named += _KEPT_REPORT.findall(record.data)
        for digest in map(bytes.decode, named):
            stone = max(stones.objects.get(digest, "") for stones in (self.ours, self.theirs))
            if not stone or (record.at > stone and not recalls(record)):
                yield digest

    def _unfit(self, segment: Segment) -> Defect | None:
        """Return why a sound segment must not be copied: it holds what is no event, or names an object that is nowhere."""
        if why := _no_event(segment):
            return why
        for number, line in enumerate(segment.lines, 1):
            for digest in self._needed(line):
                try:
                    if digest not in self.there:
                        self.source.objects.get(digest)
                except ObjectMissing as error:
                    lacks = f"the record names object {digest}, which is in neither log"
                    return Defect(segment.path, number, "object", error.message if digest in self.here else lacks)
        return None


def _no_event(segment: Segment) -> Defect | None:
    """Return which sound record of a segment is no event, and why."""
    try:
        for _ in decode_all(line.record.data for line in segment.lines):
            pass
    except LogError as error:
        return Defect(segment.path, 0, "invalid", error.message)
    return None


def _has_place(stream: str, path: str) -> bool:
    """Return whether a log keeps a segment of the stream there."""
    folder, _, name = path.rpartition("/")
    is_named = is_plain(name.replace("~", "-")) and name.endswith(_SUFFIX) and is_plain(stream)
    return is_named and folder == segment_path(stream, "") and (not is_shared(stream) or stream_of(name) == stream)
