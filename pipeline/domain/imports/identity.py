"""The ids of imports: the same original has the same stream and the same events, wherever and however often it is imported."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.text.normalise import digest_of, slug

_MOST_WORDS = 40  # characters of the question in an id


def stream_id(kind: str, original_id: str, words: str, known: Iterable[str]) -> str:
    """Return the stream of an original: the one among ``known`` that it has, else a new one named after ``words``."""
    tail = _digest(kind, original_id)[:8]
    same = (name for name in known if name.startswith(f"import-{kind}-") and name.endswith(f"-{tail}"))
    return next(same, f"import-{kind}-{slug(words or original_id, _MOST_WORDS)}-{tail}")


def import_event_id(kind: str, original_id: str, number: int) -> str:
    """Return the id of the ``number``-th event ``research.imported`` of an original, from 0."""
    return _digest(kind, original_id, "imported", str(number))[:32]


def item_event_id(kind: str, original_id: str, ordinal: int, revision: int = 0) -> str:
    """Return the id of an item's event; ``revision`` counts how often the item was another one before."""
    parts = (str(ordinal), *([str(revision)] if revision else []))
    return _digest(kind, original_id, *parts)[:32]


def _digest(*parts: str) -> str:
    return digest_of("\0".join(parts).encode("utf-8", "replace"))
