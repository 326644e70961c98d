"""The records of one stream by hash: which continues which, and which branches were joined into which.

A stream is a chain as long as one machine at a time writes it. When two have continued the same record it has two ends. A merge
segment (its run id begins with ``merge-``) continues one of them, and its first record, ``branch.merged``, names the other. It
follows from the branches alone, so one that nobody has built on yet need not be believed: where a third branch turns up, all
are joined in the order of their hashes, whichever two met first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from pipeline.adapters.store.segment_format import ZEROS, Line, seal
from pipeline.domain.events.records import MERGE, Branch, Record, merge_run_id

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
