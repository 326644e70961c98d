"""The little world that all services tell of: documents on subjects, the same facts worded by several hosts.

A subject's facts follow from its name alone. Four documents tell of each; the fourth disputes one number. A search for anything
finds documents: those of a known subject first, then some made for the query's own words. A query with the word
``unfindable`` finds nothing.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

VARIANTS = 4
SUBJECTS = (
    "append-only event logs",
    "heat pumps in cold climates",
    "battery recycling rules",
    "tidal turbines",
    "soil moisture sensors",
    "passage ranking in search engines",
)
FIXED = len(SUBJECTS) * VARIANTS
"""Documents with a number: ``/pages/1`` … ``/pages/24``."""

_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_COMMON = frozenset(
    _WORD.findall(
        """a an and are as at be by can did do does for from has have how in is it its of on or should than that the their there
        these they this to was were what when where which who why will with work works site most about into over under many much
        evidence known between against question answer latest main"""
    )
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its paragraphs; ``anchor`` is the HTML id."""

    heading: str
    anchor: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One document: ``path`` on its host, ``host`` as an index into the server's hosts, ``published`` as an ISO date."""

    path: str
    host: int
    subject: str
    title: str
    author: str
    published: str
    sections: tuple[Section, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences in order."""
        return tuple(paragraph for section in self.sections for paragraph in section.paragraphs)

    @property
    def snippet(self) -> str:
        """What a search engine shows of it."""
        return " ".join(self.sentences[:2])


@lru_cache(maxsize=16_384)
def terms(text: str) -> frozenset[str]:
    """Return the words of a text that mean something, in lower case."""
    return frozenset(word for word in _WORD.findall(text.lower()) if len(word) > 2 and word not in _COMMON)


def document(number: int, revision: int = 0) -> Document | None:
    """Return the document of ``/pages/<number>``, counted from 1."""
    if not 1 <= number <= FIXED:
        return None
    subject, variant = divmod(number - 1, VARIANTS)
    return replace(_written(f"/pages/{number}", SUBJECTS[subject], variant, revision), host=number)


def about(slug: str, variant: int, revision: int = 0) -> Document:
    """Return the document of ``/about/<slug>/<variant>``: a subject nobody thought of before."""
    variant %= VARIANTS
    host = zlib.crc32(slug.encode()) * VARIANTS + variant
    return replace(_written(f"/about/{slug}/{variant}", slug.replace("-and-", " and "), variant, revision), host=host)


def find(query: str, limit: int, offset: int = 0) -> tuple[Document, ...]:
    """Return documents for a query, best first."""
    wanted = terms(query)
    if not wanted or "unfindable" in wanted:
        return ()
    known = [found for number in range(1, FIXED + 1) if (found := document(number)) and _likeness(wanted, found) >= 2]
    known.sort(key=lambda found: (-_likeness(wanted, found), found.path))
    made = [about(_slug(query), variant) for variant in range(VARIANTS)]
    return tuple(known + made)[offset : offset + limit]


def _likeness(wanted: frozenset[str], found: Document) -> int:
    return len(wanted & _subject_terms(found.subject))


@lru_cache(maxsize=64)
def _subject_terms(subject: str) -> frozenset[str]:
    return terms(subject) | terms(subject.replace("-", " "))


def _slug(query: str) -> str:
    longest = sorted(terms(query), key=lambda word: (-len(word), word))[:2]
    return "-and-".join(sorted(longest))


@lru_cache(maxsize=4096)
def _written(path: str, subject: str, variant: int, revision: int) -> Document:
    facts = _facts(subject, variant)
    sections = (
        Section(f"What {subject} are for", "purpose", facts[0:2]),
        Section("Measurements", "measurements", (*facts[2:4], *_revised(subject, revision))),
        Section("Costs and limits", "limits", facts[4:7]),
    )
    kinds = ("An overview of", "Field results on", "A guide to", "A critique of")
    published = f"{2019 + variant}-0{variant + 3}-1{variant}"
    return Document(path, variant, subject, f"{kinds[variant]} {subject}", f"Working group {variant + 1}", published, sections)


def _revised(subject: str, revision: int) -> tuple[str, ...]:
    return (f"Revision {revision} of this page adds that {subject} were measured again.",) if revision else ()


def _facts(subject: str, variant: int) -> tuple[str, ...]:
    numbers = Random(hashlib.sha256(subject.encode()).digest())
    saved, trials, year = numbers.randint(11, 48), numbers.randint(12, 90), numbers.randint(2008, 2018)
    before, after, failed = numbers.randint(500, 900), numbers.randint(100, 400), numbers.randint(3, 9)
    if variant == VARIANTS - 1:
        saved += 30
    rows: Sequence[tuple[str, ...]] = (
        (f"The purpose of {subject} is to keep losses low.", f"People turn to {subject} in order to keep losses low."),
        (f"The idea behind {subject} dates from {year}.", f"The first use of {subject} was reported in {year}."),
        (
            f"In {trials} trials, {subject} reduced losses by {saved} per cent.",
            f"Across {trials} trials the losses with {subject} fell by {saved} per cent.",
        ),
        (f"Tests of {subject} were repeated in {year + 3}.", f"A repetition of the tests of {subject} followed in {year + 3}."),
        (
            f"The cost of {subject} fell from {before} to {after} euros per unit.",
            f"Per unit, the cost of {subject} went down from {before} to {after} euros.",
        ),
        (
            f"About {failed} per cent of {subject} failed within ten years.",
            f"Within ten years {failed} per cent of {subject} failed.",
        ),
        (
            f"The main limit of {subject} is the need for regular checks.",
            f"Critics say that {subject} need regular checks, which is their main limit.",
        ),
    )
    return tuple(row[variant % 2] for row in rows)
