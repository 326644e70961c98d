"""Notes as values before rendering, the properties and tags that the program owns, and the paths of notes.

A path is derived from what never changes in a log, so a note never moves.

File names are of lower-case letters and digits of any script and ``-``, at most 80 characters and 200 bytes, start with a letter
(a night's is its date), and are unique in the whole vault, letter case aside: file systems that fold case, and links by bare
name, then never meet two of them. ``names``, as in ``ResearchStarted``, says by which rules a session's notes are named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args
from urllib.parse import unquote

from pipeline.text.normalise import digest_of, name_slug, slug
from pipeline.vault.output.frontmatter import TYPES, Property

HOME = "Home"
OWN = "my"  # the folder for a person's own notes
ATTIC = "attic"  # the folder for what is set aside; a note that a person moves there is no part of the vault any more
MAX_STEM = 80
LATIN, NESTED = "latin", "nested"  # names of Latin letters only; names in any script, and workers in folders of their sessions
Workers = Literal["notes", "folded"]  # whether they have notes of their own, or are in their session's
# What may stand in a block id of Obsidian, and what may not in the end of a session's id.
_BLOCK_ID, _NOT_PLAIN = re.compile(r"[A-Za-z0-9-]{1,64}"), re.compile(r"[^a-z0-9]+")


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


def report_path(query: str, session: str, at: str, names: str = NESTED) -> str:
    """Return the path of a report: the question, and the end of the session's id."""
    words = _slug(query, 64, names)
    return f"reports/{at[:4]}/{words if words[0].isalpha() else f'q-{words}'}-{tail_of(session)}"


def session_path(query: str, session: str, at: str, names: str = NESTED) -> str:
    """Return the path of a session's note."""
    return f"sessions/{at[:4]}/session-{_slug(query, 60, names)}-{tail_of(session)}"


def worker_path(query: str, session: str, at: str, perspective: str, names: str = NESTED) -> str:
    """Return the path of a worker's note: its perspective, in the folder of its session."""
    tail = tail_of(session)
    if names != NESTED:
        return f"workers/{at[:7]}/worker-{_slug(query, 28, names)}-{tail}-{_slug(perspective, 32, names)}"
    words = _slug(perspective, 48, names)
    return f"workers/{at[:4]}/{_slug(query, 60, names)}-{tail}/{words if words[0].isalpha() else f'p-{words}'}-{tail}"


def source_path(url: str, at: str, names: str = NESTED) -> str:
    """Return the path of a source: its address in words, and six hex digits that tell it from its like.

    ``names`` are those of the session that read it first, at the time ``at``.
    """
    _, _, rest = url.partition(":")
    address, shown = rest or url, unquote(rest or url)  # letters of other scripts instead of their percent codes
    if names != LATIN and not shown.isascii() and "\ufffd" not in shown:
        address = shown
    return f"sources/{at[:7]}/source-{_slug(address, 60, names)}-{digest_of(url.encode())[:6]}"


@lru_cache(maxsize=4_096)  # a fact is linked to from all notes of its session, and from its source's
def block_id(fact_id: str) -> str:
    """Return the block id of a fact's quote; it consists of Latin letters, digits and ``-``."""
    if _BLOCK_ID.fullmatch(fact_id):
        return f"q-{fact_id}"
    return f"q-{digest_of(fact_id.encode('utf-8', 'replace'))[:16]}"


def tail_of(session: str) -> str:
    """Return the last four letters or digits of a session's id."""
    return _NOT_PLAIN.sub("", session.lower())[-4:] or digest_of(session.encode("utf-8", "replace"))[:4]


def _slug(text: str, limit: int, names: str) -> str:
    return slug(text, limit) if names == LATIN else name_slug(text, limit)


Kind = Literal["home", "night", "report", "session", "source", "topic", "worker"]
KINDS: tuple[Kind, ...] = get_args(Kind)
View = dict[str, Any]  # what a template, or a part of one, is given: values by name

ID = "id"  # the property that a note is known by, wherever a person puts it
# Lists that a person may add to: a rebuild keeps the added entries.
SHARED_LISTS = ("aliases", "tags", "cssclasses")
# Tags under these prefixes are the program's; a rebuild keeps all other tags.
OWN_TAGS = ("research/", "status/", "topic/")
# The CSS classes of each note: this one, and this one with the note's kind, e.g. "research-report".
OWN_CLASS = "research"

# Every property that any version of the program has written. All others are the user's and are kept.
OWNED: frozenset[str] = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class Note:
    """One note before rendering: its path without suffix, its kind, its properties in order, and the values for its template.

    ``key`` tells it from other notes of its kind that have the same owner.
    """

    path: str
    kind: Kind
    properties: Mapping[str, Property]
    view: View
    key: str = ""


@dataclass(frozen=True, slots=True)
class Plain:
    """A generated file without user blocks: a base or a style sheet. ``path`` has its suffix.

    ``yields``: a build does not overwrite it after a person edited it.
    """

    path: str
    text: str
    yields: bool = False
