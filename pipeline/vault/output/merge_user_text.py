"""Extracts what a person added to a note, and puts it into the newly rendered note. Pure: text in, text out.

Theirs are the texts of user blocks, properties the program does not own, and further entries of ``tags``, ``aliases`` and
``cssclasses``. The rest is the program's; the note's last line signs that rest (see ``signature``), so an edit is noticed. An
editor that merely writes the same properties in another style does not change it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.text.normalise import digest_of
from pipeline.vault.output import frontmatter, signature, user_blocks
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import ID, KINDS, OWN_CLASS, OWN_TAGS, OWNED, SHARED_LISTS, Rendered
from pipeline.vault.output.signature import Signature


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
    """A note's file taken apart; ``body`` is without its ``signature``."""

    raw: str
    properties: Mapping[str, Any]
    body: str
    signature: Signature = signature.NONE

    @property
    def is_ours(self) -> bool:
        """Return whether the program once made this note, by its properties."""
        tags = _entries(self.properties.get("tags"))
        return self.properties.get("kind") in KINDS and any(tag.startswith("research/") for tag in tags)

    @property
    def generated(self) -> tuple[bytes, ...]:
        """The lines of the generated part that are signed, as they are now."""
        return tuple(signature.significant(self.properties, user_blocks.blanked(self.body)))

    def is_untouched(self, old_digest: str = "") -> bool:
        """Return whether nobody edited the generated part. ``old_digest`` is the catalogue's for a note of before signatures."""
        if self.signature == signature.NONE:
            return bool(old_digest) and ID not in self.properties and old_digest == self._old_digest
        return self.signature.lines == signature.letters_of(self.generated)

    @property
    def _old_digest(self) -> str:
        """The digest by which versions before signatures knew the generated part."""
        ours = {name: signature.plain(self.properties[name]) for name in sorted(self.properties.keys() & OWNED - {*SHARED_LISTS})}
        said = json.dumps(ours, ensure_ascii=True) + "\n" + user_blocks.blanked(self.body).replace("\r\n", "\n")
        return digest_of(said.encode("utf-8", "surrogateescape"))


def parse(text: str) -> OnDisk:
    """Return a note's file taken apart.

    Raises:
        ValueError: properties or block markers that cannot be followed.
    """
    raw, signed = frontmatter.split(text)
    body, found = signature.taken_off(signed)
    properties = frontmatter.load(raw)
    user_blocks.find(body)
    others = frontmatter.load(frontmatter.lines_of_others(raw, OWNED))
    if others.keys() != properties.keys() - OWNED:
        raise ValueError("the properties are not written as one key a line")
    return OnDisk(raw, properties, body, found)


def kept(disk: OnDisk, fresh: Rendered, last_aliases: Collection[str] = ()) -> UserText:
    """Return what a person added to the note; ``last_aliases`` are those that the catalogue knows to be the program's."""
    lists = {name: _added(name, disk, fresh, last_aliases) for name in SHARED_LISTS}
    return UserText(frontmatter.lines_of_others(disk.raw, OWNED), lists, user_blocks.texts(disk.body))


def _added(name: str, disk: OnDisk, fresh: Rendered, last_aliases: Collection[str]) -> tuple[str, ...]:
    ours = set(_entries(fresh.properties.get(name)))
    found = (entry for entry in dict.fromkeys(_entries(disk.properties.get(name))) if entry not in ours)
    if name == "tags":
        return tuple(entry for entry in found if not entry.startswith(OWN_TAGS))
    if name == "aliases":
        old = {*last_aliases, disk.properties.get("title")} if disk.signature == signature.NONE else ()
        return tuple(entry for entry in found if entry not in old and not disk.signature.has_entry(name, entry))
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
    body = user_blocks.filled(fresh.body, additions.texts)
    signed = signature.signed(fresh.properties, user_blocks.blanked(body) if additions.texts else body)
    return f"---\n{head}---\n\n{body}\n{signed.text}"
