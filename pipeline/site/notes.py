"""``Notes``: what is public of a vault as the site read it, in memory, with who leads to whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from pipeline.site.labels import LISTS, PLURALS
from pipeline.site.markdown.note_draft import Around
from pipeline.site.note_record import KINDS, OTHER, Face, Record
from pipeline.site.paths import HOME, list_page, tag_list
from pipeline.text.normalise import digest_of


class Notes:
    """The records of files by path. ``faces`` are those of notes; lists of them are in order of their days, oldest first."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self.records = records
        self.faces = {path: record.face for path, record in records.items() if path.endswith(".md")}

    @cached_property
    def marks(self) -> dict[str, str]:
        """By path: a digest of what other pages show of a note."""
        return {path: digest_of(repr(face).encode("utf-8", "replace"))[:12] for path, face in self.faces.items()}

    def targets(self, path: str) -> list[Face]:
        """Return the notes that a note leads to, newest first."""
        return _newest_first(self.faces[target] for target in self.records[path].links if target in self.faces)

    def linkers(self, path: str) -> list[Face]:
        """Return the notes that lead to a note, newest first."""
        return _newest_first(self.faces[linker] for linker in self._linkers.get(path, ()))

    @cached_property
    def _linkers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.faces:
            for target in self.records[path].links:
                found[target].append(path)
        return found

    def block(self, path: str, block: str) -> str:
        """Return the text of a marked block, "" if there is none."""
        return self.records[path].blocks.get(block, "") if path in self.records else ""

    def around(self, path: str, block: str) -> Around:
        """Return what stands around the quote of a marked block."""
        return Around(*(self.records[path].around.get(block, ()) if path in self.records else ()))

    def beside(self, face: Face) -> tuple[Face | None, Face | None]:
        """Return the note before and the note after one of the same kind, in the order of their days."""
        row, place = self.of_kind[face.kind], self._places[face.path]
        return row[place - 1] if place else None, row[place + 1] if place + 1 < len(row) else None

    @cached_property
    def of_kind(self) -> dict[str, list[Face]]:
        """The notes of each kind, oldest first."""
        found: dict[str, list[Face]] = {kind: [] for kind in (*KINDS, OTHER)}
        for face in sorted(self.faces.values(), key=_place):
            found[face.kind].append(face)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {face.path: place for row in self.of_kind.values() for place, face in enumerate(row)}

    @cached_property
    def tags(self) -> dict[str, tuple[str, list[Face]]]:
        """By tag in small letters: the first of its spellings, and the notes that have it, oldest first."""
        spelt: dict[str, set[str]] = defaultdict(set)
        found: dict[str, list[Face]] = defaultdict(list)
        for face in sorted(self.faces.values(), key=_place):
            for tag in {words.lower(): words for words in sorted(self.records[face.path].tags, reverse=True)}.items():
                spelt[tag[0]].add(tag[1])
                found[tag[0]].append(face)
        return {tag: (min(spelt[tag]), found[tag]) for tag in sorted(found)}

    def lists(self) -> dict[str, tuple[str, str, list[Face]]]:
        """Return all lists by name (see ``list_page``): title, kind ("" for a tag's), notes. A kind's tag has the kind's list."""
        kinds = {name: (PLURALS[kind], kind, self.of_kind[kind]) for name, kind in LISTS.items()}
        own = ((tag, words, faces) for tag, (words, faces) in self.tags.items() if tag_page(tag) == list_page(tag_list(tag)))
        return kinds | {tag_list(tag): (f"#{words}", "", faces) for tag, words, faces in own}

    @property
    def home(self) -> Face | None:
        """The home note, if it is in its place."""
        return self.faces.get(HOME)


def tag_page(tag: str) -> str:
    """Return the page that lists the notes with a tag: for the tag of a kind, the list of that kind."""
    first, _, kind = tag.lower().partition("/")
    if first == "research" and kind in PLURALS and kind != "home":
        return list_page(PLURALS[kind].lower())
    return list_page(tag_list(tag))


def _place(face: Face) -> tuple[str, str]:
    return face.created, face.path


def _newest_first(faces: Iterable[Face]) -> list[Face]:
    """The order of a note's links: the newest day first, those of one day by path."""
    return sorted(sorted(faces, key=lambda face: face.path), key=lambda face: face.created, reverse=True)
