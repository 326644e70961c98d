"""A note as a value, and which properties the program owns. Nothing here knows a template or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.property_types import TYPES

Kind = Literal["home", "night", "report", "session", "source", "topic", "worker"]
KINDS: tuple[Kind, ...] = ("home", "night", "report", "session", "source", "topic", "worker")

# Lists that a person may add to: theirs stay beside ours.
SHARED_LISTS = ("aliases", "tags", "cssclasses")
# Tags under these are the program's; any other tag in a note is its reader's.
OWN_TAGS = ("research/", "status/", "topic/")
# Each note has this class, and this with its kind behind it: "research-report".
OWN_CLASS = "research"

# Every property that any note has ever had. What is not here belongs to the note's reader and is kept as it is.
OWNED: frozenset[str] = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class Note:
    """One note: where it stands (no suffix), what it is, its properties in order, and what its template is given.

    ``view`` is a frozen dataclass; each of its fields is a name in the template.
    """

    path: str
    kind: Kind
    properties: Mapping[str, Property]
    view: object


@dataclass(frozen=True, slots=True)
class Rendered:
    """A note as its template made it: properties apart from the body, user blocks empty."""

    path: str
    properties: Mapping[str, Property]
    body: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A generated file without places for a person's words: a canvas, a base, a chart, a style sheet. ``path`` has its suffix.

    ``yields``: once a person edited it, it is theirs, and stays as it is.
    """

    path: str
    text: str
    yields: bool = False
