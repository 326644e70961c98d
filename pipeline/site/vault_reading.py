"""A vault as the site read it: ``read_note`` reads one note, properties included; ``Notes`` are all, with who leads to whom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from pipeline.site.markdown_tree import wikilink
from pipeline.site.note_to_html import EARLIER, LINK, NOT_FOUND, Record, read_into
from pipeline.site.paths import HOME, NAMES, Places, list_page, page_of, root_of, stem_of, tag_list
from pipeline.text.cleaning import digest_of, one_line
from pipeline.text.translations import ENGLISH
from pipeline.text.words import language_code
from pipeline.vault.output import frontmatter

KINDS = ("home", "night", "report", "session", "worker", "source", "topic", "earlier")
OTHER = "note"
_WORK = ("home", "session", "worker", "source", EARLIER)  # what is found through the report or the night of it
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?")
_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")  # as HTML has it: anything else is no language
_COUNTED = ("changes", "sources", "facts", "quotes", "reports", "sessions", "earlier_reports", "done", "not_found", "failed")
_NOT_SHOWN = {"title", "kind", "aliases", "tags", "cssclasses", "created", "description", "lang"}


def read_note(path: str, data: bytes, places: Places) -> tuple[Record, str]:
    """Read a note; return it with the words of its text."""
    given, body = _split(data.decode("utf-8", "replace"))
    kind = given.get("kind")
    if path == HOME:
        kind = "home"
    elif kind == "report" and given.get("superseded_by"):
        kind = EARLIER
    elif not isinstance(kind, str) or kind not in KINDS[1:] or kind == EARLIER:
        kind = OTHER
    created, listed = _text(given.get("created")), given.get("tags")
    note = Record(path, kind, _text(given.get("title")), digest_of(data), created if _TIME.fullmatch(created) else "")
    note.status, note.description, note.place = _text(given.get("status")), _text(given.get("description")), _origin(given)
    note.properties = list(_shown(given))
    text = read_into(note, body, places, root_of(page_of(path)))
    note.title, note.description = one_line(note.title or stem_of(path)), one_line(note.description)
    # The program says what language it wrote a note in, or its owner; only a person's own note is looked at.
    said = _text(given.get("lang"))
    note.lang = said if _LANGUAGE.fullmatch(said) else ENGLISH if kind != OTHER else language_code(text)
    for name in _COUNTED if kind != "report" or note.status != NOT_FOUND else ():  # its figures are of nothing
        if isinstance(number := given.get(name), int):
            note.facts.append(_fact("passages" if (name, note.status) == ("facts", "passages") else name, number))
    tags = [_text(name).strip("#/ ") for name in (listed if isinstance(listed, list) else str(listed or "").split(","))]
    # Tags with the same list are one: a list knows no empty parts.
    note.tags = sorted({"/".join(filter(None, tag.split("/"))) for tag in (*tags, *note.tags) if tag})
    return note, text


def _origin(given: Mapping[str, Any]) -> str:
    where = "your documents" if given.get("origin") == "own" else _text(given.get("host"))
    published = _text(given.get("published"))
    return " · ".join(filter(None, (where, published and f"published {published}")))


def _split(text: str) -> tuple[dict[str, Any], str]:
    """A note's properties and the text behind them; properties that cannot be read are none."""
    raw, body = frontmatter.split(text)
    try:
        return frontmatter.load(raw), body
    except (ValueError, RecursionError):
        return {}, body


def body_of(data: bytes) -> str:
    """Return a note's text without its properties."""
    return _split(data.decode("utf-8", "replace"))[1]


def _fact(name: str, number: int) -> str:
    if name == "changes":
        return f"{number:,} {'change' if number == 1 else 'changes'}" if number else "nothing new"
    if name in {"done", "not_found", "failed", "earlier_reports"}:
        return f"{number:,} {name.removesuffix('_reports').replace('_', ' ')}"
    return f"{number:,} {name if number != 1 else name.removesuffix('s')}"


def _text(value: object) -> str:
    """A property's value on one line; "" for what is no single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value), 500) if isinstance(value, str | int | float) else ""


def _shown(given: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The properties worth showing, as texts."""
    for name, value in given.items():
        values = [text for item in (value if isinstance(value, list) else [value]) if (text := _text(item))]
        if values and name not in _NOT_SHOWN:
            yield name, values


def values_of(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield each value's words and the target of its link ("" without)."""
    for text in texts:
        found = LINK.fullmatch(text)
        link = wikilink(found[1]) if found else None
        yield (link.shown, link.target) if link else (text, "")


class Notes:
    """The records of ``files`` by path, ``by_path`` those of notes alone. Lists are in order of the notes' days, oldest first."""

    def __init__(self, files: Mapping[str, Record]) -> None:
        self.files = files
        self.by_path = {path: record for path, record in files.items() if path.endswith(".md")}

    @cached_property
    def marks(self) -> dict[str, str]:
        """By path: a digest of what other pages show of a note."""
        shown = attrgetter("path", "kind", "title", "created", "status", "description", "facts")
        return {path: digest_of(repr(shown(note)).encode("utf-8", "replace"))[:12] for path, note in self.by_path.items()}

    def linkers(self, path: str) -> list[Record]:
        """Return the notes that lead to a note, newest first: those that it does not lead to itself, and no parts of the work."""
        own = self.by_path[path].links
        found = (self.by_path[linker] for linker in self._linkers.get(path, ()) if linker not in own)
        notes = sorted((note for note in found if note.kind not in _WORK), key=lambda note: note.path)
        return sorted(notes, key=lambda note: note.created, reverse=True)

    @cached_property
    def _linkers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path, note in self.by_path.items():
            for target in note.links:
                found[target].append(path)
        return found

    @cached_property
    def of_kind(self) -> dict[str, list[Record]]:
        """The notes of each kind, oldest first."""
        found: dict[str, list[Record]] = {kind: [] for kind in (*KINDS, OTHER)}
        for note in sorted(self.by_path.values(), key=_place):
            found[note.kind].append(note)
        return found

    @cached_property
    def tags(self) -> dict[str, tuple[str, list[Record]]]:
        """By tag in small letters: the first of its spellings, and the notes that have it, oldest first."""
        spelt: dict[str, set[str]] = defaultdict(set)
        found: dict[str, list[Record]] = defaultdict(list)
        for note in sorted(self.by_path.values(), key=_place):
            for tag, words in {words.lower(): words for words in sorted(note.tags, reverse=True)}.items():
                spelt[tag].add(words)
                found[tag].append(note)
        return {tag: (min(spelt[tag]), found[tag]) for tag in sorted(found)}


def tag_page(tag: str) -> str:
    """Return the page that lists the notes with a tag: for the tag of a kind, the list of that kind."""
    first, _, kind = tag.lower().partition("/")
    if first == "research" and kind in NAMES:
        return list_page(NAMES[kind])
    return list_page(tag_list(tag))


def _place(note: Record) -> tuple[str, str]:
    return note.created, note.path
