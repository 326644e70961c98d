"""Extracts what a person added to a note, and puts it into the newly rendered note. Pure: text in, text out.

Theirs are the texts of user blocks, properties the program does not own, and further entries of ``tags``, ``aliases`` and
``cssclasses``. The rest is the program's; ``skeleton`` is the digest of that rest, by which an edit is noticed. It does not
change when an editor merely writes the same properties in another style.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from pipeline.text.normalise import digest_of
from pipeline.vault.output import frontmatter, user_blocks
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import KINDS, OWN_CLASS, OWN_TAGS, OWNED, SHARED_LISTS, Rendered


@dataclass(frozen=True, slots=True)
class UserText:
    """A person's additions: raw property lines, further list entries by key, texts by block."""

    lines: str = ""
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lines.strip() or self.texts or any(self.lists.values()))


NOTHING = UserText()


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A note's file taken apart."""

    raw: str
    properties: Mapping[str, Any]
    body: str

    @property
    def is_ours(self) -> bool:
        """Return whether the program once made this note, by its properties."""
        tags = _entries(self.properties.get("tags"))
        return self.properties.get("kind") in KINDS and any(tag.startswith("research/") for tag in tags)

    @property
    def skeleton(self) -> str:
        """The digest of the program's part."""
        return _digest(self.properties, self.body)


def parse(text: str) -> OnDisk:
    """Return a note's file taken apart.

    Raises:
        ValueError: properties or block markers that cannot be followed.
    """
    raw, body = frontmatter.split(text)
    properties = frontmatter.load(raw)
    user_blocks.find(body)
    others = frontmatter.load(frontmatter.lines_of_others(raw, OWNED))
    if others.keys() != properties.keys() - OWNED:
        raise ValueError("the properties are not written as one key a line")
    return OnDisk(raw, properties, body)


def kept(disk: OnDisk, fresh: Rendered, last_aliases: Iterable[str]) -> UserText:
    """Return what a person added to the note; ``last_aliases`` are those that the program wrote there."""
    lists = {name: _added(name, disk, fresh, set(last_aliases)) for name in SHARED_LISTS}
    return UserText(frontmatter.lines_of_others(disk.raw, OWNED), lists, user_blocks.texts(disk.body))


def _added(name: str, disk: OnDisk, fresh: Rendered, last_aliases: set[str]) -> tuple[str, ...]:
    ours = set(_entries(fresh.properties.get(name)))
    found = (entry for entry in dict.fromkeys(_entries(disk.properties.get(name))) if entry not in ours)
    if name == "tags":
        return tuple(entry for entry in found if not entry.startswith(OWN_TAGS))
    if name == "aliases":
        return tuple(entry for entry in found if entry not in last_aliases)
    return tuple(entry for entry in found if entry != OWN_CLASS and not entry.startswith(f"{OWN_CLASS}-"))


def _entries(value: object) -> tuple[str, ...]:
    """A list property as its strings; people also write ``tags: a, b``, and Obsidian accepts it."""
    if isinstance(value, str):
        return tuple(part.strip().lstrip("#") for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple)):
        return tuple(str(entry) for entry in value if entry is not None)
    return ()


def compose(fresh: Rendered, additions: UserText) -> str:
    """Return the note's whole text with a person's additions in it.

    Raises:
        BlocksMalformed: the template's own markers do not pair up.
    """
    properties: dict[str, Property] = dict(fresh.properties)
    for name, entries in additions.lists.items():
        if entries:
            properties[name] = (*_entries(properties.get(name)), *entries)
    head = frontmatter.emit(properties) + additions.lines
    return f"---\n{head}---\n\n{user_blocks.filled(fresh.body, additions.texts)}"


def skeleton_of(fresh: Rendered, additions: UserText) -> str:
    """Return the skeleton that ``compose`` of the same leads to, without reading it back."""
    return _digest(fresh.properties, user_blocks.filled(fresh.body, additions.texts), lead="\n")


def _digest(properties: Mapping[str, Any], body: str, lead: str = "") -> str:
    ours = {name: _plain(properties[name]) for name in sorted(properties.keys() & OWNED) if name not in SHARED_LISTS}
    said = json.dumps(ours, ensure_ascii=True) + "\n" + lead + user_blocks.blanked(body).replace("\r\n", "\n")
    return digest_of(said.encode("utf-8", "surrogateescape"))


def _plain(value: object) -> object:
    """A property's value for comparing: dates as text, and one kind of number."""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return value if isinstance(value, (str, bool)) or value is None else str(value)
