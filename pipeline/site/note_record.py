"""One file of the vault as a record: its face (what other pages show of it), and what its own page needs besides the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.site.markdown.inline_syntax import wikilink
from pipeline.site.markdown.note_draft import Draft, Embed
from pipeline.site.paths import HOME, Places, page_of, root_of, stem_of
from pipeline.site.plain_properties import split_plain
from pipeline.text.labels import ENGLISH
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.words import language_code

if TYPE_CHECKING:
    from pipeline.site.markdown.note_to_html import Reader

KINDS = ("home", "night", "report", "session", "worker", "source", "topic", "earlier")
OTHER = "note"
NOT_FOUND = "not-found"  # the status of a report that is none: the sources do not answer
EARLIER = "earlier"  # a report that a newer one on the same question supersedes: it has lists of its own
QUOTING = ("report", EARLIER, OTHER)  # their citations lead to quotes on the same page
_FENCED = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINKS = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?")
_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")  # as HTML has it: anything else is no language
_COUNTED = ("changes", "sources", "facts", "quotes", "reports", "sessions", "earlier_reports", "done", "not_found", "failed")
_NOT_SHOWN = {"title", "kind", "aliases", "tags", "cssclasses", "created", "description", "lang"}


class Face(NamedTuple):
    """What other pages show of a note. ``created`` is ISO 8601 or ""; ``facts`` are short texts such as ``5 sources``."""

    path: str
    kind: str
    title: str
    created: str = ""
    status: str = ""
    description: str = ""
    facts: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        """The day, ``2026-11-21`` or ""."""
        return self.created[:10]

    @property
    def label(self) -> str:
        """What stands before the title where no page shows the status: ``Not found: `` or ""."""
        return "Not found: " if self.kind == "report" and self.status == NOT_FOUND else ""


@dataclass(slots=True)
class Record:
    """A file as read. Of what is no note only ``face`` says anything.

    ``links`` and ``names`` as in ``Draft``; ``cites`` are (number, source's path, block, anchor); ``toc`` (level, title, anchor);
    ``slots`` are what it shows of other files: (path, place, words).
    """

    face: Face
    digest: str
    heading: str = ""
    properties: list[tuple[str, list[str]]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    toc: list[tuple[int, str, str]] = field(default_factory=list)
    links: dict[str, bool] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    around: dict[str, list[str]] = field(default_factory=dict)
    cites: list[tuple[str, str, str, str]] = field(default_factory=list)
    slots: list[list[str]] = field(default_factory=list)
    lang: str = ENGLISH
    text: str = ""

    def packed(self) -> str:
        """Return it as one text, without ``text``."""
        return json.dumps([getattr(self, name) for name in _PACKED], ensure_ascii=False)


_PACKED = [name for name in Record.__dataclass_fields__ if name != "text"]


def unpacked(packed: str) -> Record:
    """Return the record that ``packed`` made one text of."""
    (path, kind, title, created, status, description, facts), *rest = json.loads(packed)
    return Record(Face(path, kind, title, created, status, description, tuple(facts)), *rest)


def read_note(path: str, data: bytes, places: Places, reader: Reader) -> tuple[Record, Draft]:
    """Read a note."""
    given, body = _split(data.decode("utf-8", "replace"))
    kind = _kind(path, given)
    page = page_of(path)
    draft = reader.read(body, Draft(path, root_of(page), places, at_hand=kind in QUOTING))
    properties = _shown(given, draft)
    return _record(path, kind, given, properties, draft, digest_of(data)), draft


def _split(text: str) -> tuple[dict[str, Any], str]:
    """A note's properties and the text behind them; properties that cannot be read are none."""
    if plain := split_plain(text):
        return plain
    import frontmatter  # slow to import: only where a note is read
    import yaml

    try:
        post = frontmatter.loads(text)
    except (yaml.YAMLError, ValueError, AttributeError, TypeError):
        return {}, _FENCED.sub("", text)
    return {str(name): value for name, value in post.metadata.items()}, post.content


def body_of(data: bytes) -> str:
    """Return a note's text without its properties."""
    return _split(data.decode("utf-8", "replace"))[1]


def _kind(path: str, given: Mapping[str, Any]) -> str:
    if path == HOME:
        return "home"
    kind = given.get("kind")
    if kind == "report" and given.get("superseded_by"):
        return EARLIER
    return kind if isinstance(kind, str) and kind in KINDS[1:] and kind != EARLIER else OTHER


def _record(
    path: str, kind: str, given: Mapping[str, Any], properties: list[tuple[str, list[str]]], draft: Draft, digest: str
) -> Record:
    title = one_line(_text(given.get("title")) or draft.heading_text or stem_of(path))
    description = one_line(_text(given.get("description")) or draft.summary or draft.first)
    status = _text(given.get("status"))
    counted = () if kind == "report" and status == NOT_FOUND else _COUNTED  # its figures are of nothing
    facts = tuple(_fact(name, number) for name in counted if isinstance(number := given.get(name), int))
    created = _text(given.get("created"))
    created = created if _TIME.fullmatch(created) else ""
    face = Face(path, kind, title, created, status, description, facts)
    return Record(
        face,
        digest,
        heading=draft.heading,
        properties=properties,
        tags=_tags(given, draft),
        toc=draft.toc,
        links=draft.links,
        names=draft.names,
        blocks=draft.blocks,
        around={
            block: parts for block, one in draft.around.items() if any(parts := [one.before, one.after, one.standing, one.there])
        },
        cites=[(cite.number, cite.path, cite.block, cite.anchor) for cite in draft.cites.values()],
        slots=[[slot.path, slot.place, slot.words] for slot in draft.slots if isinstance(slot, Embed)],
        text="\n".join(draft.text),
        lang=_language(kind, given, draft),
    )


def _language(kind: str, given: Mapping[str, Any], draft: Draft) -> str:
    """The code of the language that the program wrote a note in, or its owner, unless the note says it."""
    said = _text(given.get("lang"))
    return said if _LANGUAGE.fullmatch(said) else ENGLISH if kind != OTHER else language_code("\n".join(draft.text))


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
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    return one_line(str(value), 500) if isinstance(value, str | int | float) else ""


def _shown(given: Mapping[str, Any], draft: Draft) -> list[tuple[str, list[str]]]:
    """The properties worth showing, as texts; their links count as the note's."""
    shown = []
    for name, value in given.items():
        values = [text for item in (value if isinstance(value, list) else [value]) if (text := _text(item))]
        if values and name not in _NOT_SHOWN:
            shown.append((name, values))
            for inside in _LINKS.findall(" ".join(values)):
                draft.find(wikilink(inside).target)
    return shown


def _tags(given: Mapping[str, Any], draft: Draft) -> list[str]:
    listed = given.get("tags")
    own = listed if isinstance(listed, list) else str(listed or "").split(",")
    tags = (_text(name).strip("#/ ") for name in own)
    # Tags with the same list are one: a list knows no empty parts.
    return sorted({"/".join(filter(None, tag.split("/"))) for tag in (*tags, *draft.tags) if tag})


def values_of(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield each value's words and the target of its link ("" without)."""
    for text in texts:
        found = _LINKS.fullmatch(text)
        link = wikilink(found[1]) if found else None
        yield (link.shown, link.target) if link else (text, "")
