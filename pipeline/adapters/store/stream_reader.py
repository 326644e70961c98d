"""Reads one stream from its files, with its problems."""

from __future__ import annotations

from pathlib import Path

from pipeline.adapters.store.branches.record_tree import Rule
from pipeline.adapters.store.layout import Layout
from pipeline.adapters.store.record_chain import RecordChain, join
from pipeline.adapters.store.segment_format import Finding, Segment, parse
from pipeline.system.files import read_bytes


def read_segments(layout: Layout, stream: str) -> list[Segment]:
    """Return the stream's segments, each as far as it is sound.

    Raises:
        LogUnreadable: the stream's folder cannot be read.
    """
    return [_read_segment(layout, path, stream) for path in layout.segments(stream)]


def read_chain(layout: Layout, stream: str, rule: Rule | None = None) -> RecordChain:
    """Return the stream joined to one chain; see its ``findings``, and ``record_chain.join`` for ``rule``.

    Raises:
        LogUnreadable: the stream's folder cannot be read.
        LogError: the rule cannot read the records that it would have to join.
    """
    return join(read_segments(layout, stream), rule)


def _read_segment(layout: Layout, path: Path, stream: str) -> Segment:
    name = layout.named(path)
    try:
        return parse(name, read_bytes(path), stream)
    except OSError as error:
        return Segment(name, finding=Finding(name, 0, "unreadable", f"the file cannot be read: {error.strerror}"))
