"""Joins the segments of a stream into one chain of records, by hash and not by file name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.adapters.store.branches.record_tree import RecordTree, Rule
from pipeline.adapters.store.segment_format import ZEROS, Finding, Line, Segment
from pipeline.errors import LogDamaged, LogForked, LogUnreadable


@dataclass(slots=True)
class RecordChain:
    """One stream as read: the sound records from version 1 on, the file each came from, and what is wrong.

    ``findings`` leaves out torn ends that a later segment has sealed by going on before them. ``merges`` are the records of the
    merge segments that are in ``lines`` and in no file yet; their files are "".
    """

    lines: list[Line] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    merges: list[list[Line]] = field(default_factory=list)

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


def join(segments: Iterable[Segment], rule: Rule | None = None) -> RecordChain:
    """Join the segments of one stream. Where it has several ends, ``rule`` joins them; without it each is a finding.

    A record that repeats the one stored at its version (same hash, so same bytes) is that record: a writer whose
    file failed writes what it is unsure of again into its next segment.

    Raises:
        LogError: the rule cannot read the records that it would have to join.
    """
    parsed = sorted(segments, key=lambda segment: segment.path)
    chain = RecordChain(findings=[segment.finding for segment in parsed if segment.finding])
    by_version = sorted((s for s in parsed if s.lines), key=lambda segment: segment.lines[0].record.version)
    if not _is_one_line(chain, by_version):
        _join_branches(chain, by_version, rule)
    last = next((path for path in reversed(chain.files) if path), "")
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
        raise LogForked(f"the log of {stream} has two ends: {finding}", hint="`research merge` joins its branches")
    return chain


def _is_one_line(chain: RecordChain, segments: Sequence[Segment]) -> bool:
    """Put the segments into the chain if each continues the one before; return whether they do, as nearly always."""
    heads = [ZEROS, *(segment.lines[-1].hash for segment in segments)]
    if any(segment.lines[0].prev != head for segment, head in zip(segments, heads, strict=False)):
        return False
    for segment in segments:
        chain.lines += segment.lines
        chain.files += [segment.path] * len(segment.lines)
    return not segments or chain.lines[0].record.version == 1


def _join_branches(chain: RecordChain, segments: Sequence[Segment], rule: Rule | None) -> None:
    tree = RecordTree()
    for segment in segments:
        _attach(chain, tree, segment)
    damaged = any(finding.kind != "torn" for finding in chain.findings)
    _choose_end(chain, tree, None if damaged else rule)


def _attach(chain: RecordChain, tree: RecordTree, segment: Segment) -> None:
    first = segment.lines[0]
    before = tree.lines.get(first.prev)
    if (before.record.version if before else 0) != first.record.version - 1 or (before is None and first.prev != ZEROS):
        message = f"the segment continues version {first.record.version - 1}, and that record is not here"
        chain.findings.append(Finding(segment.path, 1, "detached", message))
    else:
        tree.add(segment.path, segment.lines)


def _choose_end(chain: RecordChain, tree: RecordTree, rule: Rule | None) -> None:
    """Let the chain be the one that leads to the stream's end; join its ends if there are several."""
    ends = tree.ends()
    head = next(iter(ends), ZEROS)
    for other in ends[1:]:
        merge = tree.merge(head, other)
        if merge is None and rule is None:
            chain.findings.append(_forked(tree, head, other))
            break
        if merge is None and rule is not None:
            merge = tree.make_merge(head, other, rule)
            chain.merges.append(merge[0])
        head = merge[1] if merge else head
    chain.lines = tree.path(head)
    chain.files = [tree.files[line.hash] for line in chain.lines]


def _forked(tree: RecordTree, first: bytes, second: bytes) -> Finding:
    known = {line.hash for line in tree.path(first)}
    branch = [line for line in tree.path(second) if line.hash not in known]
    path, version = tree.files[branch[0].hash], branch[0].record.version
    message = f"a second branch begins with version {version}; the next run joins them"
    return Finding(path, 0, "fork", message)
