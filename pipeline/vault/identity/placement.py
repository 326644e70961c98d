"""``Placement``: where each note is to be, and rendered files with their own path and their links changed accordingly.

Notes are rendered with the paths that the log gives them. Only where a person decided otherwise, the links are changed after
that: to the path where the note is, or into plain text if it is hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pipeline.text.normalise import digest_of
from pipeline.vault.identity import plain_files
from pipeline.vault.identity.decisions import Decisions
from pipeline.vault.output.escaping import inert
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.rendering.generated_file import GeneratedFile, composed

_LINK = re.compile(r"!?\[\[(?P<to>[^\[\]|#\\\n]+)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<words>[^\[\]\n]*))?\]\]")
_TARGET = re.compile(rb'\[\[([^\[\]|#\\\n]+)|"file":"([^"\n]+)\.md"')
# Signs in a path that a wikilink cannot hold.
_UNLINKABLE = re.compile(r'[\[\]#^|\\"\x00-\x1f]|%%|::|<%|%>')
_HIDDEN = ""


@dataclass
class Placement:
    """Where each note is to be, by ``decisions``; ``links`` has the links to change: by the log's path, the path to link to.

    Both paths are without suffix; "" stands for a note that is hidden, or that no link can lead to.
    """

    decisions: Decisions
    links: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._owners: dict[str, str] = {}
        for note, path in self.decisions.paths.items():
            self._owners.setdefault(path, note)

    def place(self, note: str, canonical: str) -> str:
        """Return the path of a note, "" if it is hidden; ``canonical`` is the one that the log gives it.

        A path that a person gave to another note gets a digest of the id appended.
        """
        if note in self.decisions.hidden:
            return _HIDDEN
        path = self.decisions.paths.get(note, canonical)
        if self._owners.get(path, note) == note:
            return path
        return f"{path.removesuffix('.md')}-{digest_of(note.encode())[:8]}.md"

    def enter(self, note: str, canonical: str) -> str:
        """Return the path of a note, and have links to it changed if it is not ``canonical``."""
        path = self.place(note, canonical)
        if path != canonical:
            self.links[canonical.removesuffix(".md")] = "" if _UNLINKABLE.search(path) else path.removesuffix(".md")
        return path

    def placed(self, fresh: GeneratedFile) -> GeneratedFile:
        """Return a rendered file with its path and its links; call it when all notes were entered."""
        if fresh.id:
            fresh = replace(fresh, path=self.place(fresh.id, fresh.path))
        if not self.links or targets_in(fresh.data).isdisjoint(self.links):
            return fresh
        if fresh.properties is None:
            return replace(fresh, data=self._relinked_canvas(fresh.data)) if fresh.path.endswith(".canvas") else fresh
        properties = {name: self._relinked_property(value) for name, value in fresh.properties.items()}
        return composed(replace(fresh, properties=properties), self._relinked(fresh.note.body, inert))

    def _relinked(self, text: str, plain: Callable[[str], str] = str) -> str:
        return _LINK.sub(lambda found: self._link(found, plain), text)

    def _link(self, found: re.Match[str], plain: Callable[[str], str]) -> str:
        path = self.links.get(found["to"])
        if path is None:
            return found[0]
        return found[0].replace(found["to"], path, 1) if path else plain(found["words"] or "")

    def _relinked_property(self, value: Property) -> Property:
        if isinstance(value, tuple):
            return tuple(map(self._relinked, value))
        return self._relinked(value) if isinstance(value, str) else value

    def _relinked_canvas(self, data: bytes) -> bytes:
        """A canvas has each node on a line of its own."""
        bare = plain_files.bare_of(".canvas", data).decode()
        return plain_files.signed(".canvas", "\n".join(map(self._relinked_node, bare.split("\n"))).encode())

    def _relinked_node(self, line: str) -> str:
        inside = line.strip().removesuffix(",")
        if not inside.startswith("{") or not inside.endswith("}"):
            return line
        node = json.loads(inside)
        changed = self._node(node)
        return line.replace(inside, json.dumps(changed, ensure_ascii=False, separators=(",", ":"))) if changed != node else line

    def _node(self, node: Mapping[str, object]) -> dict[str, object]:
        file, text = node.get("file"), node.get("text")
        if isinstance(text, str):
            return {**node, "text": self._relinked(text, inert)}
        if not isinstance(file, str) or (path := self.links.get(file.removesuffix(".md"))) is None:
            return dict(node)
        if path:
            return {**node, "file": f"{path}.md"}
        return {("text" if name == "file" else name): value for name, value in {**node, "type": "text", "file": "Hidden"}.items()}


def targets_in(data: bytes) -> set[str]:
    """Return the paths, without suffix, that a file links to."""
    return {(found[1] or found[2]).decode("utf-8", "replace") for found in _TARGET.finditer(data)}
