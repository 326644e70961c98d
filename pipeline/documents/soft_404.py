"""Detection of soft 404s: pages sent with status 200 in place of the page asked for, such as errors, walls and empty shells.

They are recognised by what their title, their headings and the beginnings of their sentences say, in the languages of
``soft_pages.toml``. What stands between quotation marks does not count: an article on error pages quotes them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from pipeline.system.files import read_text
from pipeline.text.words import word_count

# Sizes of pages in words.
_BARE = 20  # no more than a message
_LITTLE = 25  # no content beside the message
_SHORT = 80  # read as a whole; of a longer page only the lead is
_LEAD = 60
_TEASER = 250  # the beginning of an article in front of a paywall
_SHELL_WORDS = 40

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,500})", re.IGNORECASE)
_PARTS = re.compile(r"\s[-–—|·•»«:]\s|[|｜]")
_AROUND = " \t.!…,;:()[]-–—。！，"
_QUOTATION_MARKS = ("“”", "„“", "„”", "«»", '""', "「」", "『』", "‘’")
_QUOTED = re.compile("|".join(f"{mark[0]}[^{mark[1]}]{{1,200}}{mark[1]}" for mark in _QUOTATION_MARKS))
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_LONGEST = 300
_LONGEST_LINE = 5_000
_HEADINGS = 3
_MARKUP = 300_000  # characters of HTML in which titles and marks are looked for
_NEVER = r"(?!)"
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_NO_WORDS = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_WANTS_SCRIPT = re.compile(r"(?:enable|requires?|needs?|turn on|without) javascript", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One table of ``soft_pages.toml``."""

    name: str
    why: str
    title: re.Pattern[str]
    weak: re.Pattern[str]
    sentence: re.Pattern[str]
    marks: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Page:
    """What a page says, in lower case: parts of titles and headings, and its lines of text, in all ``size`` words."""

    source: str
    heads: tuple[str, ...]
    lines: tuple[str, ...]
    size: int

    def sentences(self, most: int) -> Iterator[str]:
        """Yield the sentences of the first ``most`` words, without quotations."""
        for line in self.lines:
            if most <= 0:
                return
            most -= word_count(line)
            sentences = _SENTENCE_END.split(_QUOTED.sub("“”", line[:_LONGEST_LINE]))
            yield from (_opened(sentence[:_LONGEST]) for sentence in sentences)


def soft_404_reason(source: str, title: str, text: str) -> str:
    """Return why a reply with status 200 is no real page, or "". ``source`` is its HTML, ``text`` the extracted text.

    A title that says it beyond doubt decides at any length; other signs count on short pages, or at the beginning.
    """
    page = _page(source, title, text)
    found = next((kind.why for kind in _kinds() if _is_of(kind, page)), "")
    return found or (_kind("script").why if page.size < _SHELL_WORDS and _is_shell(source) else "")


def _page(source: str, title: str, text: str) -> _Page:
    declared = _TITLE.search(source[:_MARKUP])
    lines = [line for line in _plain(text).split("\n") if line.strip()]
    headings = [line.lstrip("# ").partition(" {#")[0] for line in lines if line.startswith("#")]
    heads = [head for said in (unescape(declared[1]) if declared else "", title, *headings[:_HEADINGS]) for head in _heads(said)]
    own = tuple(line.removeprefix("- ").strip() for line in lines if not line.startswith("#"))
    return _Page(source[:_MARKUP], tuple(heads), own, sum(map(word_count, own)))


def _is_of(kind: _Kind, page: _Page) -> bool:
    clear = any(kind.title.fullmatch(head) for head in page.heads)
    weak = any(kind.weak.fullmatch(head) for head in page.heads)
    marked = bool(kind.marks.search(page.source))
    if kind.name == "consent":
        return _is_consent_alone(page) and (clear or _says(kind, page, _TEASER) or (weak and page.size < _BARE))
    if kind.name == "paywall":
        return page.size <= _TEASER and (marked or _says(kind, page, _TEASER))
    if clear or (weak and page.size < _BARE) or (marked and page.size < _LITTLE):
        return True
    short = page.size <= _SHORT
    return (short or weak or (marked and page.size <= _TEASER)) and _says(kind, page, _SHORT if short else _LEAD)


def _says(kind: _Kind, page: _Page, most: int) -> bool:
    return any(kind.sentence.match(sentence) for sentence in page.sentences(most))


def _is_consent_alone(page: _Page) -> bool:
    """Return whether hardly any line is about something else than consent."""
    consent = _kind("consent")
    others = (line for line in page.lines if not consent.marks.search(line) and not consent.sentence.match(line))
    return page.size <= _TEASER and sum(map(word_count, others)) < _LITTLE


def _heads(title: str) -> list[str]:
    """Return the title and its parts, without site names, interjections, "error 404:" and final signs."""
    plain = _plain(title)[:_LONGEST]
    code = ["404"] if "(404)" in plain else []
    return code + [_opened(part) for part in dict.fromkeys((plain, *_PARTS.split(plain))) if part.strip()]


def _opened(sentence: str) -> str:
    """Return a sentence or title without what comes before its message; "404" if there is no more to it."""
    rest = sentence.strip(_AROUND)
    while (shorter := _openers().sub("", rest, count=1).strip(_AROUND)) != rest:
        if not shorter:
            return "404" if "404" in rest else rest
        rest = shorter
    return rest


def _plain(text: str) -> str:
    return text.lower().replace("\u2019", "'").replace("\xa0", " ")


def _is_shell(source: str) -> bool:
    """Return whether the HTML has hardly any words, navigation included, but has scripts."""
    if not _SCRIPT.search(source):
        return False
    written = word_count(_NO_WORDS.sub(" ", source))
    return written < _SHELL_WORDS and (len(source) > 1_000 or bool(_WANTS_SCRIPT.search(source)))


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(read_text(Path(__file__).with_name("soft_pages.toml")))


@cache
def _kinds() -> tuple[_Kind, ...]:
    return tuple(_compiled(name, entry) for name, entry in _table().items() if isinstance(entry, dict))


def _compiled(name: str, entry: dict[str, Any]) -> _Kind:
    title, weak, sentence = ("|".join(entry.get(key, ())) or _NEVER for key in ("title", "weak", "sentence"))
    marks = re.compile(entry.get("marks", _NEVER), re.IGNORECASE)
    return _Kind(name, entry["why"], re.compile(title), re.compile(weak), re.compile(sentence), marks)


def _kind(name: str) -> _Kind:
    return next(kind for kind in _kinds() if kind.name == name)


@cache
def _openers() -> re.Pattern[str]:
    openers, code = _table()["openers"].replace("\n", ""), _table()["not_found_code"]
    return re.compile(rf"\A(?:(?:{openers})(?![\w-])|{code}(?!\w))|(?<=\w)\W+{code}\Z")
