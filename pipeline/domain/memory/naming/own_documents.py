"""Which names a document is about by its title: ``tar(1): …``, "Apache License", "Die Mühle von Obertal". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from pipeline.domain.memory.naming.definitions import title_meaning, titled
from pipeline.domain.memory.values import Statement
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import stems

_ARTICLE = re.compile(r"\A(?:an?|the|der|die|das|eine?|le|la|les|une?|el|los|las|il)\s+", re.IGNORECASE)
_VERSION = re.compile(r",?\s+(?:(?:version|v)\b\.?\s*)?\d[\w.]*\Z|,?\s+version\Z", re.IGNORECASE)
_PLACE = re.compile(r"\s+(?:of|in|at|von|in|an|bei|de|di|van)\s+[A-ZÄÖÜ][\w-]+\Z")
_PARTS = re.compile(r"\s+[-–—|]\s+|:\s+")
_NAMED = re.compile(r"(?P<name>[a-z][a-z0-9_.+-]{1,30})(?:\s+[-–—]+\s+(?P<what>\S+\s+\S+\s+\S.*))?\Z")
_LONG = 8  # words of a meaning that may name the thing once more without going in a circle
_SHORTEST = 30  # signs of a description
_ASIDE = re.compile(r"\([A-Z0-9]+_\w+\)")  # a constant
_OVERVIEW = re.compile(r"\A(?:overview|introduction|guide|tutorial|notes?)\b", re.IGNORECASE)


def is_document_of(title: str, names: Iterable[str]) -> bool:
    """Return whether a document is about one of the ``names`` and nothing else, by its title."""
    subjects = subjects_of(title)
    return any(subject_key(name) in subjects for name in names)


@lru_cache(maxsize=4_096)
def subjects_of(title: str) -> frozenset[str]:
    """Return the names, as their stems, that a title gives its document: with and without an article, a version, a place."""
    if name := titled(title):
        return frozenset({subject_key(name)})
    parts = {title, *_PARTS.split(title)}
    plain = {_ARTICLE.sub("", _VERSION.sub("", part.strip())) for part in parts}
    return frozenset(filter(None, map(subject_key, plain | {_PLACE.sub("", part) for part in plain})))


def gloss_of(title: str) -> str:
    """Return what a manual's title says of its name; "" if it says nothing: "tcp: TCP protocol", "sched: overview of …"."""
    meaning = title_meaning(title)
    inside = f" {subject_key(titled(title))} " in f" {' '.join(stems(_ASIDE.sub(' ', meaning)))} "
    short = len(meaning.split()) < _LONG
    return "" if (inside and short) or _OVERVIEW.match(meaning) or len(meaning.split()) < 2 else meaning


def retitled(statements: Iterable[Statement], titles: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the statements; those from an address among the ``titles`` with that title."""
    return (one.model_copy(update={"title": titles[one.url]}) if one.url in titles else one for one in statements)


def glossed_titles(pages: Iterable[Statement]) -> dict[str, str]:
    """Return ``secrets: Generate …`` for the address of each page whose section "NAME" gives its name, and what it is.

    If that section has the name alone, the first sentence of the section "DESCRIPTION" says what it is.
    """
    names: dict[str, str] = {}
    glosses: dict[str, str] = {}
    for one in pages:
        heading, text = one.heading.strip().upper(), " ".join(one.quote.split())
        if heading == "NAME" and not titled(one.title) and one.url not in names and (found := _NAMED.match(text)):
            names[one.url] = found["name"]
            glosses |= {one.url: found["what"]} if found["what"] else {}
        elif heading == "DESCRIPTION" and one.url in names and len(text) > _SHORTEST:
            glosses.setdefault(one.url, split_sentences(text)[0])
    return {url: f"{name}: {glosses[url]}" for url, name in names.items() if url in glosses}


@lru_cache(maxsize=65_536)
def subject_key(name: str) -> str:
    """Return what the spellings of a name have in common as a title: its stems, without brackets, dots and underscores."""
    return " ".join(stems(name.removesuffix("()").replace("_", " ").replace(".", " ")))
