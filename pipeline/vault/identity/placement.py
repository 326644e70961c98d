"""``Placement``: where each note is to be, and rendered files with their own path and their links changed accordingly.

Notes are rendered with the paths that the log gives them. Only where a person decided otherwise, the links are changed after
that: to the path where the note is, or into plain text if it is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from pipeline.text.linked_blocks import without_blocks
from pipeline.text.normalise import digest_of
from pipeline.vault.identity.decisions import Decisions
from pipeline.vault.kept import KnownNote
from pipeline.vault.output.escaping import inert
from pipeline.vault.output.files import GeneratedFile, composed
from pipeline.vault.output.frontmatter import Property

# The target of a wikilink in a file; a whole wikilink.
_TARGET = re.compile(rb"\[\[([^\[\]|#\\\n]+)")
_LINK = re.compile(r"!?\[\[(?P<to>[^\[\]|#\\\n]+)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<words>[^\[\]\n]*))?\]\]")
# Signs in a path that a wikilink cannot hold.
_UNLINKABLE = re.compile(r'[\[\]#^|\\"\x00-\x1f]|%%|::|<%|%>')
_OF_SESSION = ("report", "session", "worker")


@dataclass
class Placement:
    """Where each note is to be, by ``decisions``; ``links`` has the links to change: by the log's path, the path to link to.

    Both paths are without suffix; "" stands for a note that is hidden, or that no link can lead to. ``left_out``
    are the log's paths of hidden reports and their sessions: other notes say nothing of these.
    """

    decisions: Decisions
    links: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._owners: dict[str, str] = {}
        for note, path in self.decisions.paths.items():
            if note not in self.decisions.hidden:
                self._owners.setdefault(path, note)

    def place(self, note: str, canonical: str) -> str:
        """Return the path of a note, "" if it is hidden; ``canonical`` is the one that the log gives it.

        A path that a person gave to another note gets a digest of the id appended.
        """
        if note in self.decisions.hidden:
            return ""
        path = self.decisions.paths.get(note, canonical)
        if self._owners.get(path, note) == note:
            return path
        return f"{path.removesuffix('.md')}-{digest_of(note.encode())[:8]}.md"

    def enter(self, note: str, canonical: str) -> str:
        """Return the path of a note, and have links to it changed if it is not ``canonical``."""
        path = self.place(note, canonical)
        kind, _, name = note.partition(":")
        if kind in ("report", "session") and f"report:{name}" in self.decisions.hidden:
            self.left_out.add(canonical.removesuffix(".md"))
        if path != canonical:
            self.links[canonical.removesuffix(".md")] = "" if _UNLINKABLE.search(path) else path.removesuffix(".md")
        return path

    def enter_all(self, notes: Iterable[KnownNote]) -> dict[str, str]:
        """Enter notes of which there may be very many; return the path of each by its id."""
        if not self.decisions.paths and not self.decisions.hidden:
            return {note.id: note.canonical for note in notes}
        return {note.id: self.enter(note.id, note.canonical) for note in notes}

    def placed(self, fresh: GeneratedFile) -> GeneratedFile:
        """Return a rendered file with its path and its links; call it when all notes were entered."""
        if fresh.id and (path := self.place(fresh.id, fresh.path)) != fresh.path:
            fresh = replace(fresh, path=path)
        if self.left_out and fresh.kind not in _OF_SESSION and not targets_in(fresh.data).isdisjoint(self.left_out):
            fresh = composed(fresh, without_blocks(fresh.note.body, self.left_out.__contains__))
        if fresh.properties is None or not self.links or targets_in(fresh.data).isdisjoint(self.links):
            return fresh

        def changed(value: Property) -> Property:
            if isinstance(value, tuple):
                return tuple(relinked(entry, self.links.get) for entry in value)
            return relinked(value, self.links.get) if isinstance(value, str) else value

        properties = {name: changed(value) for name, value in fresh.properties.items()}
        return composed(replace(fresh, properties=properties), relinked(fresh.note.body, self.links.get, inert))


def targets_in(data: bytes) -> set[str]:
    """Return the paths, without suffix, that a file links to."""
    return {found[1].decode("utf-8", "replace") for found in _TARGET.finditer(data)}


def relinked(text: str, links: Callable[[str], str | None], plain: Callable[[str], str] = str) -> str:
    """Return a text with its wikilinks changed.

    ``links`` returns the path to link to for the path that is there, both without suffix; "" makes plain words of the link, None
    leaves it. ``plain`` makes these words fit for where they are.
    """

    def link(found: re.Match[str]) -> str:
        path = links(found["to"])
        if path is None:
            return found[0]
        return found[0].replace(found["to"], path, 1) if path else plain(found["words"] or "")

    return _LINK.sub(link, text)
