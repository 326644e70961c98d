"""The paths of notes. A path is derived from what never changes in a log, so a note never moves.

File names are of lower-case letters and digits of any script and ``-``, at most 80 characters and 200 bytes, start with a letter
(a night's is its date), and are unique in the whole vault, letter case aside: file systems that fold case, and links by bare
name, then never meet two of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from pipeline.text.normalise import digest_of, name_slug, slug

HOME = "Home"
OWN = "my"  # the folder for a person's own notes
ATTIC = "attic"  # the folder for what is set aside; a note that a person moves there is no part of the vault any more
MAX_STEM = 80
Workers = Literal["notes", "folded"]  # whether they have notes of their own, or are in their session's
_BLOCK_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


class Names:
    """Assigns each path once: a second note with the same name gets a digest of its key appended.

    The names are compared without folders and letter case.
    """

    def __init__(self) -> None:
        self._given = {HOME.casefold(), "memory", "readme"}

    def claim(self, path: str, key: str) -> str:
        """Return ``path``, or with eight hex digits of ``key``'s digest when another note has that name."""
        folder, _, stem = path.rpartition("/")
        if stem.casefold() in self._given:
            stem = f"{stem[: MAX_STEM - 9].rstrip('-')}-{digest_of(key.encode())[:8]}"
        self._given.add(stem.casefold())
        return f"{folder}/{stem}"


def report_stem(query: str, session_id: str, names: str = "any") -> str:
    """Return the file name of a report: the question, and the end of the session's id. ``names`` as in ``ResearchStarted``."""
    return f"{_worded(query, 64, names)}-{tail_of(session_id)}"


def session_stem(query: str, session_id: str, names: str = "any") -> str:
    """Return the file name of a session's note."""
    return f"session-{_slug(query, 60, names)}-{tail_of(session_id)}"


def worker_stem(query: str, session_id: str, perspective: str, names: str = "any") -> str:
    """Return the file name of a worker's note."""
    return f"worker-{_slug(query, 28, names)}-{tail_of(session_id)}-{_slug(perspective, 32, names)}"


def source_stem(url: str, names: str = "any") -> str:
    """Return the file name of a source: its address in words, and six hex digits that tell it from its like.

    ``names`` are those of the session that read it first.
    """
    _, _, rest = url.partition(":")
    return f"source-{_slug(_decoded(rest or url) if names == 'any' else rest or url, 60, names)}-{digest_of(url.encode())[:6]}"


def _decoded(address: str) -> str:
    """The address with letters of other scripts instead of their percent codes; one without any stays as it is."""
    shown = unquote(address)
    return address if shown.isascii() or "\ufffd" in shown else shown


@lru_cache(maxsize=4_096)  # a fact is linked to from all notes of its session, and from its source's
def block_id(fact_id: str) -> str:
    """Return the block id of a fact's quote; it consists of Latin letters, digits and ``-``."""
    if _BLOCK_ID.fullmatch(fact_id):
        return f"q-{fact_id}"
    return f"q-{digest_of(fact_id.encode('utf-8', 'replace'))[:16]}"


def tail_of(session_id: str) -> str:
    """Return the last four letters or digits of a session's id."""
    return _NOT_PLAIN.sub("", session_id.lower())[-4:] or digest_of(session_id.encode("utf-8", "replace"))[:4]


def _worded(text: str, limit: int, names: str) -> str:
    words = _slug(text, limit, names)
    return words if words[0].isalpha() else f"q-{words}"


def _slug(text: str, limit: int, names: str) -> str:
    return name_slug(text, limit) if names == "any" else slug(text, limit)


def in_year(at: str) -> str:
    """Return the year of an envelope's time: ``2026``."""
    return at[:4]


def in_month(at: str) -> str:
    """Return the month of an envelope's time: ``2026-11``."""
    return at[:7]
