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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, NamedTuple

from pipeline.domain.events.records import Record
from pipeline.text.normalise import counted

ZEROS = b"0" * 64

FindingKind = Literal["torn", "corrupt", "unreadable", "detached", "fork", "object", "missing", "newer", "invalid", "leftover"]

_HASH_FIELD = len(b',"hash":"') + 64 + len(b'"}')
_SEAL = len(b',"prev":"') + 64 + len(b'"') + _HASH_FIELD
_PREV_FIELD = re.compile(rb',"prev":"([0-9a-f]{64})"')
_HASH_ANYWHERE = re.compile(rb',"hash":"[0-9a-f]{64}"\}')
_PLAIN = rb'"([ !#-\[\]-~]+)"'
_ENVELOPE = re.compile(
    rb'\{"id":%b,"session_id":%b,"version":([1-9][0-9]*),"type":%b,"at":%b,"run_id":%b(?=[,}])' % ((_PLAIN,) * 5)
)


@dataclass(frozen=True, slots=True)
class Finding:
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
    kind: FindingKind
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
    finding: Finding | None = None


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


def begins_with_envelope(record: Record) -> bool:
    """Return whether ``envelope_of`` would read the same record from its data, without parsing them."""
    identity, session_id, version, kind, at, run_id, data = record
    text = f'{{"id":"{identity}","session_id":"{session_id}","version":{version},"type":"{kind}","at":"{at}","run_id":"{run_id}"'
    is_plain = text.isascii() and text.isprintable() and text.count('"') == 22 and '""' not in text and "\\" not in text
    return is_plain and data.startswith(text.encode()) and data[len(text) : len(text) + 1] in (b",", b"}")


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
        segment.finding = Finding(path, 0, "corrupt", "the file is empty: its records are lost")
        return segment
    rest = content[content.rfind(b"\n") + 1 :]
    for number, raw in enumerate(_complete_lines(content), 1):
        line = open_line(raw)
        fault = _altered(raw) if line is None else _misplaced(segment, line, stream)
        if line is None or fault:
            cut = b"\0\0" in raw and number == content.count(b"\n") and not rest.strip(b"\0")
            segment.finding = Finding(path, number, "torn" if cut else "corrupt", fault)
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
    line = _whole_record_at_start_of(rest)
    fault = _misplaced(segment, line, stream) if line else ""
    if fault:
        segment.finding = Finding(segment.path, number, "corrupt", fault)
    elif line:
        segment.lines.append(line)
        segment.finding = Finding(segment.path, number, "torn", "the line end is missing; the record itself is whole and kept")
    else:
        message = f"a record was cut while it was written; the last {counted(len(rest), 'byte is', 'bytes are')} ignored"
        segment.finding = Finding(segment.path, number, "torn", message)


def _whole_record_at_start_of(rest: bytes) -> Line | None:
    ends = (found.end() for found in _HASH_ANYWHERE.finditer(rest))
    return next((line for end in ends if (line := open_line(rest[:end]))), None)


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
