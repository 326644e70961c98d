"""``citekey``: the key under which a source is cited elsewhere, such as ``rogov2024autovacuum-9c1f``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pipeline.text.normalise import digest_of
from pipeline.text.word_lists import LANGUAGES
from pipeline.vault.output.escaping import host_of
from pipeline.vault.session_card import Reading

_WORD = re.compile(r"[a-z0-9]+")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_FUNCTION_WORDS = frozenset[str]().union(*LANGUAGES.values())
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})  # of a country: gov.uk, co.jp
_LONGEST_PART = 20
_TAIL = 4  # hex digits of the address: of two hundred sources with the same name two share them once in three


def citekey(url: str, title: str = "", author: str = "", published: str = "", *, tail: int = _TAIL) -> str:
    """Return the key of a source: who or where, the year, a word of its title, and the end of its address's digest.

    It depends on these values alone, so it stays the same whatever else is cited; give those of the source's first reading. Only
    ``[a-z0-9-]`` occur, and it begins with a letter: BibTeX, pandoc and Obsidian all take it.
    """
    who = _family(author) or _site(url) or _stem(url)
    year = year_of(published)
    word = next((word for word in _words(title) if word not in _FUNCTION_WORDS and len(word) > 2 and word not in who), "")
    name = f"{who}{year}{word}"
    return f"{name if name[:1].isalpha() else f's{name}'}-{digest_of(url.encode('utf-8', 'replace'))[:tail]}"


def key_of(readings: Sequence[Reading]) -> str:
    """Return a source's key, which derives from its first reading."""
    page = readings[0].page
    return citekey(page.url, page.title, page.author, page.published)


def year_of(published: str) -> str:
    """Return the year in a date, "" if there is none."""
    found = _YEAR.search(published)
    return found[0] if found else ""


def _words(text: str) -> list[str]:
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower().replace("'", "")
    return [word[:_LONGEST_PART] for word in _WORD.findall(bare)]


def _family(author: str) -> str:
    """The family name of the first author: what stands before a comma, else the last word before an ``and`` or ``;``."""
    first = re.split(r";|\band\b|&", author)[0].strip()
    named = _words(first.split(",")[0])
    return named[-1] if named else ""


def _site(url: str) -> str:
    """The name in a host: ``postgresql`` of ``www.postgresql.org``, ``ons`` of ``www.ons.gov.uk``."""
    labels = host_of(url).split(".")
    if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL:
        labels = labels[:-1]
    return "".join(_words(labels[-2] if len(labels) > 1 else labels[0]))[:_LONGEST_PART]


def _stem(url: str) -> str:
    """The first word of a document's file name."""
    words = _words(url.rpartition("/")[2].rpartition(":")[2].partition(".")[0])
    return words[0] if words else ""
