"""Verifies every file of the log, and repairs damaged ones while keeping a copy of the original."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pipeline.domain.events.stream_records import KINDS, Kind, Tombstones, tombstones_of
from pipeline.errors import LogUnreadable, LogUnwritable, ObjectMissing
from pipeline.store.file_store import FileStore
from pipeline.store.layout import Layout, object_path, segment_path
from pipeline.store.objects import StoredObjects
from pipeline.store.record_chain import NAMED_OBJECT, Defect, Segment, envelope_of, join, read_segments, recalls, seal
from pipeline.system import files
from pipeline.system.process_lock import Lock

_NAMED_SESSION = re.compile(rb'"type":"query\.ended".*?,"session":"([^"]+)"')


class StoredLog(Protocol):
    """All streams and objects of one store, read only. Names are those of the files, also where there are none."""

    @property
    def objects(self) -> StoredObjects:
        """Pages and exchanges."""
        ...

    def streams(self, kind: Kind) -> Iterable[str]:
        """Return the ids of all streams of a kind that have a segment, sorted; also of sessions that are pruned or forgotten."""
        ...

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments, each as far as it is sound.

        Raises:
            LogUnreadable: they cannot be read.
        """
        ...

    def written_off(self) -> Collection[str]:
        """Return the ids of the sessions whose loss is accepted."""
        ...


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done to one file. ``kept`` counts the records that stayed (0: the file was removed), ``dropped`` names the others.

    ``path`` and ``copy``, where the whole file as it was lies now, are relative to the log's folder. Without a copy the session
    ``path`` was missing, and is written off.
    """

    path: str
    copy: str
    kept: int = 0
    dropped: tuple[str, ...] = ()


def verify(root: Path) -> list[Defect]:
    """Return all that is wrong in the log at ``root``; see ``findings_in``."""
    return findings_in(FileStore(root))


def findings_in(log: StoredLog) -> list[Defect]:
    """Return all that is wrong in a log: streams first, then objects. Changes nothing, takes no lock."""
    findings: list[Defect] = []
    stones, there = tombstones_in(log), frozenset(log.objects.ids())
    for stream in (name for kind in KINDS for name in log.streams(kind)):
        findings += _verify_stream(log, stream, stones, there)
    findings += _kept_reports(log, stones, there)
    return [*findings, *_lost_sessions(log, stones), *log.objects.damaged()]


def repair(root: Path) -> list[Repair]:
    """Keep the longest sound prefix of every damaged stream; return what was done.

    A copy of each file is set aside first, in ``damaged/<time>/``. A segment that continues a record which is not there, and an
    object whose bytes are not those of its digest, are set aside as a whole. Forks lose nothing and are left. A session of which
    nothing is there, although a night names it, is written off.

    Raises:
        WorkspaceLocked: a run writes one of the damaged streams.
        LogUnwritable: the disk refuses.
    """
    layout, log = Layout(root), FileStore(root)
    aside = layout.damaged / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    done: list[Repair] = []
    try:
        for stream in (name for kind in KINDS for name in log.streams(kind)):
            if _cuts(read_segments(layout, stream)):
                done += _repair_stream(layout, stream, aside)
        for finding in list(log.objects.damaged()):
            done.append(_set_aside(layout, finding.path, aside))
            _remove(root / finding.path)
        for lost in [Path(finding.path).name for finding in _lost_sessions(log, tombstones_in(log))]:
            log.write_off(lost)
            done.append(Repair(lost, ""))
    except OSError as error:
        raise LogUnwritable(f"the log cannot be repaired: {error}", hint="check space and permissions") from error
    return done


def tombstones_in(log: StoredLog) -> Tombstones:
    """Return the tombstones in all sound records of prunes."""
    segments = (segment for name in log.streams("prune") for segment in _readable(log, name))
    return tombstones_of(line.record for segment in segments for line in segment.lines)


def _verify_stream(log: StoredLog, stream: str, stones: Tombstones, there: Collection[str]) -> list[Defect]:
    segments = _readable(log, stream)
    pruned = stones.sessions.get(stream)
    if stones.is_forgotten(stream) or (
        pruned and max((x.record.version for s in segments for x in s.lines), default=0) <= pruned.up_to
    ):
        message = "a prune of this session was interrupted; the next `research forget --by-settings` ends it"
        return [Defect(segment_path(stream, ""), 0, "leftover", message)]
    named = (
        (s.path, number, "" if recalls(line.record) else line.record.at, line.record.data)
        for s in segments
        for number, line in enumerate(s.lines, 1)
    )
    return join(segments).findings + list(_missing_objects(named, stones, there))


def _missing_objects(
    records: Iterable[tuple[str, int, str, bytes]], stones: Tombstones, there: Collection[str]
) -> Iterator[Defect]:
    """The objects that records (path, line, time, JSON) name and that are neither stored nor pruned since."""
    seen: set[str] = set()
    for path, number, at, data in records:
        for digest in set(map(bytes.decode, NAMED_OBJECT.findall(data))) - seen:
            stone = stones.objects.get(digest)
            if not (digest in there or (stone and at <= stone)):
                yield Defect(path, number, "missing", f"the record names object {digest}, which is not stored")
                seen.add(digest)


def _kept_reports(log: StoredLog, stones: Tombstones, there: Collection[str]) -> Iterator[Defect]:
    """The objects that hold what is kept of pruned sessions, if they are missing, and the pages that these name."""
    for session, stone in stones.sessions.items():
        try:
            kept = log.objects.get(stone.report).splitlines()
        except ObjectMissing as error:
            if stone.report not in there:  # else it is found among the damaged objects
                yield Defect(f"sessions/{session}", 0, "missing", f"its log was pruned, and {error.message}")
            continue
        named = ((object_path(stone.report), number, "", data) for number, data in enumerate(kept, 1))
        yield from _missing_objects(named, stones, there)


def _lost_sessions(log: StoredLog, stones: Tombstones) -> Iterator[Defect]:
    """The sessions that a night names and of which nothing is there, unless they are pruned, forgotten or written off."""
    named: dict[str, str] = {}
    for batch in log.streams("batch"):
        for segment in _readable(log, batch):
            for line in segment.lines:
                if found := _NAMED_SESSION.search(line.record.data):
                    named.setdefault(found[1].decode(), segment.path)
    given_up = frozenset(log.written_off()) | stones.sessions.keys()
    for session in sorted(name for name in named.keys() - given_up if not stones.is_forgotten(name)):
        found_here = _readable(log, session)
        if not any(segment.lines or (segment.finding and segment.finding.kind != "torn") for segment in found_here):
            message = f"{named[session]} names it, and it is not here; bring it back from a backup, or --repair writes it off"
            yield Defect(f"sessions/{session}", 0, "missing", message)


def _readable(log: StoredLog, stream: str) -> list[Segment]:
    try:
        return log.segments(stream)
    except LogUnreadable as error:
        path = segment_path(stream, "")
        return [Segment(path, finding=Defect(path, 0, "unreadable", error.message))]


def _cuts(segments: list[Segment]) -> dict[str, list[bytes]]:
    """Return the files to cut, each with the sound lines it keeps."""
    sound = {segment.path: [seal(line.record.data, line.prev)[0] for line in segment.lines] for segment in segments}
    cuts: dict[str, list[bytes]] = {}
    for finding in join(segments).findings:
        if finding.kind in ("torn", "corrupt"):
            cuts.setdefault(finding.path, sound[finding.path])
        elif finding.kind == "detached":
            cuts[finding.path] = []
    return cuts


def _repair_stream(layout: Layout, stream: str, aside: Path) -> list[Repair]:
    with Lock(layout.lock(stream), f"writes {stream}"):
        cuts = _cuts(read_segments(layout, stream))
        done = [_set_aside(layout, name, aside, lines) for name, lines in cuts.items()]
        for name, lines in cuts.items():
            _keep(layout, layout.root / name, b"".join(lines))
        return done


def _set_aside(layout: Layout, name: str, aside: Path, kept: Sequence[bytes] = ()) -> Repair:
    copy, content = aside / name, files.read_bytes(layout.root / name)
    files.make_directories(copy.parent)
    files.close(files.create(copy, content, layout.scratch))
    lines = content.splitlines()[len(kept) :] if name.endswith(".jsonl") else []
    dropped = tuple(_described(raw, number) for number, raw in enumerate(lines, len(kept) + 1))
    return Repair(name, layout.named(copy), len(kept), dropped)


def _described(raw: bytes, number: int) -> str:
    found = envelope_of(raw)
    return f"version {found.version}, {found.type}" if found else f"line {number}, which cannot be read"


def _keep(layout: Layout, path: Path, content: bytes) -> None:
    if content:
        files.replace(path, content, layout.scratch)
    else:
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink()
    files.sync_directory(path.parent)
