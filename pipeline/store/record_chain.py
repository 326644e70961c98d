"""The line format of the log: writing a record, reading a line, and distinguishing a torn segment from a damaged one.

A line is the record's canonical JSON object whose last brace is replaced by two more fields and a line end::

    {"id":"…","session_id":"…","version":7,"type":"…","at":"…","run_id":"…", … ,"prev":"<64 hex>","hash":"<64 hex>"}

``prev`` is the hash of the record before it (64 zeros for the first), ``hash`` the SHA-256 of the line's exact bytes
before ``,"hash"``. A line verifies alone; the chain of ``prev`` verifies the order.

What can be at the end of a segment, and what it means:

- a region without its line end, or with a block of zero bytes in it: an append that the power cut. It was never
  acknowledged, is ignored and reported as *torn*;
- a record that verifies but whose own line end is missing or altered: the record is whole, so it is kept;
- a line with its line end that does not verify: an acknowledged record was altered. That is *corrupt*, as is anything
  bad that a good line follows.

The segments of a stream become one chain of records by hash, and not by file name.
A stream is a chain as long as one machine at a time writes it. When two have continued the same record it has two ends. A merge
segment (its run id begins with ``merge-``) continues one of them, and its first record, ``branch.merged``, names the other. It
follows from the branches alone, so one that nobody has built on yet need not be believed: where a third branch turns up, all
are joined in the order of their hashes, whichever two met first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.domain.events.stream_records import MERGE, Branch, Record, kind_of, merge_run_id
from pipeline.errors import EventRejected, LogDamaged, LogForked, LogUnreadable
from pipeline.store.layout import Layout, is_plain
from pipeline.system.files import read_bytes
from pipeline.text.humanize import counted

ZEROS = b"0" * 64

DefectKind = Literal["torn", "corrupt", "unreadable", "detached", "fork", "object", "missing", "newer", "invalid", "leftover"]

_HASH_FIELD = len(b',"hash":"') + 64 + len(b'"}')
_SEAL = len(b',"prev":"') + 64 + len(b'"') + _HASH_FIELD
NAMED_OBJECT = re.compile(rb'"(?:digest|exchange)":"([0-9a-f]{64})"')  # of a line: a page's or an exchange's
_RECALLING = ("earlier.recalled", "memory.recalled", "changes.found")
_PREV_FIELD = re.compile(rb',"prev":"([0-9a-f]{64})"')
_HASH_ANYWHERE = re.compile(rb',"hash":"[0-9a-f]{64}"\}')
_PLAIN = rb'"([ !#-\[\]-~]+)"'
_ENVELOPE = re.compile(
    rb'\{"id":%b,"session_id":%b,"version":([1-9][0-9]*),"type":%b,"at":%b,"run_id":%b(?=[,}])' % ((_PLAIN,) * 5)
)


def recalls(record: Record) -> bool:
    """Tell whether a record repeats what earlier sessions found: the pages of these may have been pruned before."""
    return kind_of(record.session_id) == "memory" or record.type in _RECALLING


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong in the log's files. ``path`` is relative to the log's folder, ``line`` counts from 1 (0: the whole file).

    ``torn`` is harmless: an unacknowledged append that a crash cut. ``corrupt``: a line was altered or cut out.
    ``unreadable``: the system refuses to read the file.
    ``detached``: a segment continues a record that is not there. ``fork``: two segments continue the same record.
    ``object``: a stored object's bytes are not those of its digest. ``missing``: an event names an object, or a session,
    that is not stored. ``newer``: a newer program wrote it. ``invalid``: the record is sound, and no event.
    ``leftover`` is harmless: a file of a pruned session, which the next prune removes.
    """

    path: str
    line: int
    kind: DefectKind
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.kind}: {self.message}"


class Line(NamedTuple):
    """A sealed record; ``hash`` and ``prev`` as 64 hex digits."""

    record: Record
    hash: bytes
    prev: bytes


@dataclass(slots=True)
class Segment:
    """The longest sound prefix of one segment file, and what ends it, if anything does."""

    path: str
    lines: list[Line] = field(default_factory=list)
    finding: Defect | None = None


def seal(data: bytes, prev: bytes) -> tuple[bytes, bytes]:
    """Return the line (with its line end) that stores ``data`` after the record of hash ``prev``, and its own hash."""
    body = b'%b,"prev":"%b"' % (data[:-1], prev)
    digest = sha256(body).hexdigest().encode()
    return b'%b,"hash":"%b"}\n' % (body, digest), digest


def envelope_of(data: bytes) -> Record | None:
    """Return ``data`` as a record, read from the six fields that it must begin with; None when it does not."""
    found = _ENVELOPE.match(data)
    if found is None:
        return None
    identity, session_id, version, kind, at, run_id = found.groups()
    return Record(identity.decode(), session_id.decode(), int(version), kind.decode(), at.decode(), run_id.decode(), data)


def open_line(raw: bytes) -> Line | None:
    """Return the record in one line (without its line end), or None when the line does not verify."""
    digest = sha256(raw[:-_HASH_FIELD]).hexdigest().encode()
    if raw[-_HASH_FIELD:] != b',"hash":"%b"}' % digest:
        return None
    prev = _PREV_FIELD.fullmatch(raw, len(raw) - _SEAL, len(raw) - _HASH_FIELD)
    record = envelope_of(raw[:-_SEAL] + b"}")
    if prev is None or record is None:
        return None
    return Line(record, digest, prev[1])


def parse(path: str, content: bytes, stream: str) -> Segment:
    """Return the sound prefix of a segment of ``stream``; ``path`` is how findings name it."""
    segment = Segment(path)
    if not content:  # a segment appears whole, with its first records in it
        segment.finding = Defect(path, 0, "corrupt", "the file is empty: its records are lost")
        return segment
    rest = content[content.rfind(b"\n") + 1 :]
    for number, raw in enumerate(_complete_lines(content), 1):
        line = open_line(raw)
        fault = _altered(raw) if line is None else _misplaced(segment, line, stream)
        if line is None or fault:
            cut = b"\0\0" in raw and number == content.count(b"\n") and not rest.strip(b"\0")
            segment.finding = Defect(path, number, "torn" if cut else "corrupt", fault)
            return segment
        segment.lines.append(line)
    if rest:
        _end(segment, rest, content.count(b"\n") + 1, stream)
    return segment


def _complete_lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines one by one; all at once would be a second copy of the file in memory."""
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        yield content[start:end]
        start = end + 1


def _end(segment: Segment, rest: bytes, number: int, stream: str) -> None:
    """Classify the bytes after the last line end."""
    ends = (found.end() for found in _HASH_ANYWHERE.finditer(rest))
    line = next((line for end in ends if (line := open_line(rest[:end]))), None)
    fault = _misplaced(segment, line, stream) if line else ""
    if fault:
        segment.finding = Defect(segment.path, number, "corrupt", fault)
    elif line:
        segment.lines.append(line)
        segment.finding = Defect(segment.path, number, "torn", "the line end is missing; the record itself is whole and kept")
    else:
        message = f"a record was cut while it was written; the last {counted(len(rest), 'byte is', 'bytes are')} ignored"
        segment.finding = Defect(segment.path, number, "torn", message)


def _misplaced(segment: Segment, line: Line, stream: str) -> str:
    if line.record.session_id != stream:
        return f"the record belongs to {line.record.session_id}"
    if not segment.lines:
        return ""
    before = segment.lines[-1]
    if line.prev != before.hash or line.record.version != before.record.version + 1:
        return "the record does not continue the one before it: a line was removed, added or moved"
    return ""


def _altered(raw: bytes) -> str:
    if raw.endswith(b"\r"):
        return "the line ends in CR LF: a tool rewrote the line ends"
    if raw.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return "a merge left its conflict marks here"
    if b"\0\0" in raw:
        return "a block of zero bytes in the record"
    return "the record was altered: its hash does not fit its bytes"


Rule = Callable[[Branch, Branch], tuple[Branch, list[Record]]]
Merge = tuple[list[Line], bytes]


class RecordTree:
    """All sound records of a stream."""

    def __init__(self) -> None:
        self.lines: dict[bytes, Line] = {}
        self.files: dict[bytes, str] = {}

    def add(self, path: str, lines: Sequence[Line]) -> None:
        """Add a segment's records. A record that is here already keeps its file."""
        for line in lines:
            self.lines.setdefault(line.hash, line)
            self.files.setdefault(line.hash, path)

    def ends(self) -> list[bytes]:
        """Return the hashes of the records that nothing continues, sorted.

        If there are several, merges that nobody has continued are left out; a merge that is not here as a whole always is.
        """
        gone: set[bytes] = set()
        ends = self._open_ends(gone)
        while merges := [
            end for end in ends if _is_merge(self.lines[end]) and (gone or len(ends) > 1 or not self._is_whole(end))
        ]:
            gone.update(merges)
            ends = self._open_ends(gone)
        return ends

    def _open_ends(self, gone: set[bytes]) -> list[bytes]:
        here = [line for hash_, line in self.lines.items() if hash_ not in gone]
        continued = {parent for line in here for parent in self._parents(line)}
        return sorted(line.hash for line in here if line.hash not in continued)

    def path(self, end: bytes) -> list[Line]:
        """Return the chain from version 1 to a record."""
        found = []
        while end != ZEROS:
            found.append(self.lines[end])
            end = found[-1].prev
        return found[::-1]

    def branch(self, end: bytes) -> Branch:
        """Return the branch that ends in a record."""
        return Branch(end.decode(), [line.record for line in self.path(end)], dict(self._known(end)))

    def _known(self, end: bytes) -> Iterator[tuple[str, Record]]:
        """Yield hash and record of all that runs wrote and that a record builds on, also by a merge; in order of version."""
        seen: set[bytes] = set()
        ahead = [end]
        while ahead:
            line = self.lines.get(ahead.pop())
            if line is not None and line.hash not in seen:
                seen.add(line.hash)
                ahead += self._parents(line)
        for hash_ in sorted(seen, key=lambda one: (self.lines[one].record.version, one)):
            if not _is_merge(self.lines[hash_]):
                yield hash_.decode(), self.lines[hash_].record

    def merge(self, first: bytes, second: bytes) -> Merge | None:
        """Return the stored merge of two branches and the hash of its last record; None if there is none."""
        run_id = merge_run_id(first.decode(), second.decode())
        stored = [line for line in self.lines.values() if line.record.run_id == run_id]
        for line in sorted(stored, key=lambda line: (-line.record.version, line.hash)):
            chain = self._merge_up_to(line.hash)
            if {*self._parents(chain[0])} == {first, second} and self._is_whole(line.hash):
                return chain, line.hash
        return None

    def _merge_up_to(self, end: bytes) -> list[Line]:
        run_id = self.lines[end].record.run_id
        return [line for line in self.path(end) if line.record.run_id == run_id]

    def _is_whole(self, end: bytes) -> bool:
        """Return whether a merge holds all that its first record says was adopted: a copy of its file may still be under way."""
        first, *rest = self._merge_up_to(end)
        return {*json.loads(first.record.data).get("adopted", ())} <= {line.record.id for line in rest}

    def make_merge(self, first: bytes, second: bytes, rule: Rule) -> Merge:
        """Return the merge of two branches, which is not stored yet, and the hash of its last record."""
        kept, records = rule(self.branch(first), self.branch(second))
        lines = []
        head = kept.head.encode()
        for record in records:
            lines.append(Line(record, seal(record.data, head)[1], head))
            head = lines[-1].hash
        self.add("", lines)
        return lines, head

    @staticmethod
    def _parents(line: Line) -> Iterator[bytes]:
        yield line.prev
        if line.record.type == "branch.merged":
            yield str(json.loads(line.record.data).get("taken", "")).encode()


def _is_merge(line: Line) -> bool:
    return line.record.run_id.startswith(MERGE)


@dataclass(slots=True)
class RecordChain:
    """One stream as read: the sound records from version 1 on, the file each came from, and what is wrong.

    ``findings`` leaves out torn ends that a later segment has sealed by going on before them. ``merges`` are the records of the
    merge segments that are in ``lines`` and in no file yet; their files are "".
    """

    lines: list[Line] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    findings: list[Defect] = field(default_factory=list)
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
    def torn(self) -> list[Defect]:
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
    _join_branches(chain, by_version, rule)
    last = next((path for path in reversed(chain.files) if path), "")
    chain.findings = [finding for finding in chain.findings if finding.kind != "torn" or finding.path >= last]
    return chain


def relinked(segments: Sequence[Segment]) -> Sequence[Segment]:
    """Let segments that continue a record of the first one as it was before that was rewritten continue it as it is now.

    Only what was forgotten is rewritten, and into the first segment: damage leaves no sound record of another hash there.
    """
    now = {line.hash: line.hash for segment in segments for line in segment.lines}
    places = {line.record.version: line.hash for line in segments[0].lines}
    for segment in sorted(segments[1:], key=lambda one: one.lines[0].record.version if one.lines else 0):
        for number, (record, hash_, prev) in enumerate(segment.lines):
            before = now.get(prev) or places.get(record.version - 1, prev)
            if before != prev:
                now[hash_] = seal(record.data, before)[1]
                segment.lines[number] = Line(record, now[hash_], before)
    return segments


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


def _join_branches(chain: RecordChain, segments: Sequence[Segment], rule: Rule | None) -> None:
    """Let the chain be the one that leads to the stream's end; join its ends if there are several."""
    tree = RecordTree()
    for segment in segments:
        first = segment.lines[0]
        before = tree.lines.get(first.prev)
        if (before.record.version if before else 0) != first.record.version - 1 or (before is None and first.prev != ZEROS):
            message = f"the segment continues version {first.record.version - 1}, and that record is not here"
            chain.findings.append(Defect(segment.path, 1, "detached", message))
        else:
            tree.add(segment.path, segment.lines)
    if any(finding.kind != "torn" for finding in chain.findings):
        rule = None
    head, *others = tree.ends() or [ZEROS]
    for other in others:
        merge = tree.merge(head, other)
        if merge is None and rule is None:
            known = {line.hash for line in tree.path(head)}
            first = next(line for line in tree.path(other) if line.hash not in known)
            message = f"a second branch begins with version {first.record.version}; the next run joins them"
            chain.findings.append(Defect(tree.files[first.hash], 0, "fork", message))
            break
        if merge is None and rule is not None:
            merge = tree.make_merge(head, other, rule)
            chain.merges.append(merge[0])
        head = merge[1] if merge else head
    chain.lines = tree.path(head)
    chain.files = [tree.files[line.hash] for line in chain.lines]


def refuse_unfit(stream: str, records: Sequence[Record], expected_version: int) -> None:
    """Refuse records that cannot follow version ``expected_version`` of a stream in one append.

    Raises:
        EventRejected: they do not fit; the message says why.
    """
    fault = ""
    if not is_plain(stream) or not all(is_plain(record.run_id) for record in records):
        fault = "an id that becomes a file name may hold letters, digits, '_', '.' and '-' only"
    elif len({record.run_id for record in records}) > 1 or len({record.id for record in records}) < len(records):
        fault = "the records of one append must be of one run, each with an id of its own"
    for version, record in enumerate(records, expected_version + 1):
        if record.version != version or record.session_id != stream:
            fault = fault or f"record {record.id} is not version {version} of this stream"
        elif envelope_of(record.data) != record or not record.data.endswith(b"}") or b"\n" in record.data:
            fault = fault or f"the data of record {record.id} is not one line of JSON that begins with the record's own envelope"
    if fault:
        raise EventRejected(f"{stream}: {fault}", hint="this is a fault of the program: please report it")


def read_segment(path: Path, name: str, stream: str) -> Segment:
    """Return the sound prefix of a file, or why it cannot be read; ``name`` is how findings name it."""
    try:
        return parse(name, read_bytes(path), stream)
    except OSError as error:
        return Segment(name, finding=Defect(name, 0, "unreadable", f"the file cannot be read: {error.strerror}"))


def read_segments(layout: Layout, stream: str) -> list[Segment]:
    """Return the stream's segments, each as far as it is sound.

    Raises:
        LogUnreadable: the stream's folder cannot be read.
    """
    return [read_segment(path, layout.named(path), stream) for path in layout.segments(stream)]


def read_chain(layout: Layout, stream: str, rule: Rule | None = None) -> RecordChain:
    """Return the stream joined to one chain; see its ``findings``, and ``join`` for ``rule``.

    Raises:
        LogUnreadable: the stream's folder cannot be read.
        LogError: the rule cannot read the records that it would have to join.
    """
    return join(read_segments(layout, stream), rule)
