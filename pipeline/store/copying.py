"""Copying a whole log into another store."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.domain.events.records import KINDS, kind_of
from pipeline.errors import LogUnreadable, ObjectMissing
from pipeline.store.layout import is_plain, is_shared, object_path, segment_path, stream_of
from pipeline.store.objects import opened
from pipeline.store.segments import Finding, RecordChain, Segment, join
from pipeline.store.verification import StoredLog, tombstones_in

_NAMED_OBJECT = re.compile(rb'"(?:digest|exchange|report)":"([0-9a-f]{64})"')


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


@dataclass(slots=True)
class CopyReport:
    """What was copied, or would be: streams by id, segments by path, objects by digest; and what was ``refused``, and why.

    ``same`` counts the streams that were there already, ``ahead`` those that go on in the target; ``torn`` the ends left out,
    ``gone`` the streams that are pruned or forgotten in the target.
    """

    streams: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    same: int = 0
    ahead: int = 0
    torn: int = 0
    gone: int = 0


def copy_log(source: StoredLog, target: CopyTarget, *, check: bool = False) -> CopyReport:
    """Copy all of ``source`` that ``target`` lacks; ``check``: write nothing.

    Raises:
        LogUnreadable, LogUnwritable: one of the stores does not let us.
        WorkspaceLocked: a process writes one of the streams.
    """
    copying = _Copying(source, target, check)
    copying.take_objects(sorted(copying.here))
    for stream in (name for kind in KINDS for name in source.streams(kind)):
        copying.take_stream(stream)
    if not check:
        for session in sorted(set(source.written_off()) - set(target.written_off())):
            target.write_off(session)
    return copying.report


class _Copying:
    def __init__(self, source: StoredLog, target: CopyTarget, check: bool) -> None:
        self.source, self.target, self.check = source, target, check
        self.report = CopyReport()
        self.here, self.there = frozenset(source.objects.ids()), set(target.objects.ids())
        self.ours, self.theirs = tombstones_in(source), tombstones_in(target)

    def take_objects(self, digests: Iterable[str]) -> None:
        """Copy those of the objects that the target lacks and the source has."""
        for digest in digests:
            pruned_there = digest in self.theirs.objects and digest not in self.ours.objects
            if digest in self.there or pruned_there or digest not in self.here:
                continue
            try:
                body = self.source.objects.packed(digest)
                opened(body, digest, self.source.objects.name_of(digest))
            except ObjectMissing as error:
                self.report.refused.append(Finding(object_path(digest), 0, "object", error.message))
                continue
            if not self.check:
                self.target.objects.put_packed(digest, body)
            self.there.add(digest)
            self.report.objects.append(digest)

    def take_stream(self, stream: str) -> None:
        """Copy a stream, unless it must be refused."""
        try:
            segments = [segment for segment in self.source.segments(stream) if segment.lines or segment.finding]
            theirs = self.target.segments(stream)
        except LogUnreadable as error:
            self.report.refused.append(Finding(segment_path(stream, ""), 0, "unreadable", error.message))
            return
        chain = join(segments)
        self.report.torn += len(chain.torn)
        segments = [segment for segment in segments if segment.lines]
        pruned = self.theirs.sessions.get(stream)
        forgotten = kind_of(stream) == "session" and self.theirs.is_forgotten(stream)
        if forgotten or (pruned is not None and chain.version <= pruned.up_to):  # there, and it did not go on since
            self.report.gone += 1
            return
        if refused := _refused(stream, segments, chain):
            self.report.refused += refused
        elif fresh := self._fresh(stream, segments, theirs):
            named = {x.decode() for s in fresh for line in s.lines for x in _NAMED_OBJECT.findall(line.record.data)}
            self.take_objects(sorted(named - self.there))
            if not self.check:
                self.target.write(stream, segments, chain)
            self.report.streams.append(stream)
            self.report.segments += [segment.path for segment in fresh]

    def _fresh(self, stream: str, ours: Sequence[Segment], theirs: Sequence[Segment]) -> list[Segment]:
        """Return the segments of which the target lacks records; none if it goes on by itself."""
        known = {segment.path: [line.hash for line in segment.lines] for segment in theirs}
        given = {segment.path: [line.hash for line in segment.lines] for segment in ours}
        fresh = [segment for segment in ours if len(given[segment.path]) > len(known.get(segment.path, ()))]
        is_ahead = any(len(hashes) > len(given.get(path, ())) for path, hashes in known.items())
        pairs = (zip(hashes, given.get(path, ()), strict=False) for path, hashes in known.items())
        differs = any(one != other for pair in pairs for one, other in pair)
        damaged = [segment.finding for segment in theirs if segment.finding and segment.finding.kind != "torn"]
        if differs and self.theirs.forgotten and self.theirs.forgotten.keys() >= self.ours.forgotten.keys():
            self.report.ahead += 1  # what was forgotten there is struck out of it there
            return []
        if damaged or differs or (is_ahead and fresh):
            self._refuse(stream, damaged)
            return []
        self.report.ahead += is_ahead
        self.report.same += not (fresh or is_ahead)
        return fresh

    def _refuse(self, stream: str, damaged: Sequence[Finding]) -> None:
        message = "it goes on in both logs, each in another way"
        if damaged:
            message = f"in the target it is damaged: {damaged[0]}"
        elif self.ours.forgotten.keys() - self.theirs.forgotten.keys():
            message = "something was forgotten that the target still has: run research forget there too, then copy again"
        self.report.refused.append(Finding(segment_path(stream, ""), 0, "corrupt" if damaged else "fork", message))


def _refused(stream: str, segments: Collection[Segment], chain: RecordChain) -> list[Finding]:
    """Return why a stream must not be copied: it is damaged, has branches that were not joined, or names that no log has."""
    names = [segment.path.rpartition("/")[2] for segment in segments]
    odd = [name for name in names if not is_plain(name.replace("~", "-")) or not name.endswith(".jsonl")]
    if not is_plain(stream) or odd or (is_shared(stream) and any(stream_of(name) != stream for name in names)):
        return [Finding(segment_path(stream, ""), 0, "invalid", "no log has a stream or a file of this name")]
    return [finding for finding in chain.findings if finding.kind != "torn"]
