"""Notes as values before and after rendering, and the properties and tags that the program owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pipeline.vault.output.frontmatter import TYPES, Property

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
