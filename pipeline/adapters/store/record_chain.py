"""Joins the segments of a stream into one chain of records, by hash and not by file name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.adapters.store.segment_format import ZEROS, Finding, Line, Segment
from pipeline.errors import LogDamaged, LogForked, LogUnreadable


@dataclass(slots=True)
class RecordChain:
    """One stream as read: the sound records from version 1 on, the file each came from, and what is wrong.

    ``findings`` leaves out torn ends that a later segment has sealed by going on before them.
    """

    lines: list[Line] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    branched: set[bytes] = field(default_factory=set)

    @property
    def version(self) -> int:
        """The last record's version; 0 for an empty stream."""
        return len(self.lines)

    @property
    def head(self) -> bytes:
        """The last record's hash."""
        return self.lines[-1].hash if self.lines else ZEROS

    @property
    def torn(self) -> list[Finding]:
        """The findings that are no damage."""
        return [finding for finding in self.findings if finding.kind == "torn"]


def join(segments: Iterable[Segment]) -> RecordChain:
    """Join the segments of one stream.

    A record that repeats the one stored at its version (same hash, so same bytes) is that record: a writer whose
    file failed writes what it is unsure of again into its next segment.
    """
    parsed = sorted(segments, key=lambda segment: segment.path)
    chain = RecordChain(findings=[segment.finding for segment in parsed if segment.finding])
    for segment in sorted((s for s in parsed if s.lines), key=lambda segment: segment.lines[0].record.version):
        _attach(chain, segment)
    last = chain.files[-1] if chain.files else ""
    chain.findings = [finding for finding in chain.findings if finding.kind != "torn" or finding.path >= last]
    return chain


def refuse_damage(chain: RecordChain, stream: str) -> RecordChain:
    """Return the chain if it can be trusted.

    Raises:
        LogUnreadable: the system does not let us read a file.
        LogDamaged: a record was altered, cut out or lost; the message names file and line.
        LogForked: two segments continue the same record.
    """
    bad = [finding for finding in chain.findings if finding.kind != "torn"]
    for finding in bad:
        if finding.kind == "unreadable":  # the segment after it would look detached
            raise LogUnreadable(f"{stream}: {finding.path}: {finding.message}", hint="check the permissions, and the disk")
    for finding in bad:
        if finding.kind != "fork":
            raise LogDamaged(
                f"the log of {stream} is damaged: {finding}",
                hint="`research verify` lists all damage; `research verify --repair` sets a copy aside and keeps the sound part",
            )
    for finding in bad:
        raise LogForked(f"the log of {stream} has two ends: {finding}", hint="`research merge` joins them")
    return chain


def _attach(chain: RecordChain, segment: Segment) -> None:
    first = segment.lines[0]
    start = first.record.version - 1
    if first.prev in chain.branched:
        chain.branched.update(line.hash for line in segment.lines)
    elif start > chain.version or first.prev != (chain.lines[start - 1].hash if start else ZEROS):
        message = f"the segment continues version {start}, and that record is not here"
        chain.findings.append(Finding(segment.path, 1, "detached", message))
    else:
        _continue(chain, segment, start)


def _continue(chain: RecordChain, segment: Segment, start: int) -> None:
    stored = chain.lines[start:]
    for offset, (ours, theirs) in enumerate(zip(stored, segment.lines, strict=False)):
        if ours.hash != theirs.hash:
            message = f"{chain.files[start + offset]} holds another record of version {theirs.record.version}"
            chain.findings.append(Finding(segment.path, offset + 1, "fork", message))
            chain.branched.update(line.hash for line in segment.lines[offset:])
            return
    rest = segment.lines[len(stored) :]
    chain.lines += rest
    chain.files += [segment.path] * len(rest)
