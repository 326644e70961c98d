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
_MOST_BEGUN = 4  # words of a title whose first two or three may be a name: "Repeatable Read Isolation Level"
_LONGEST_ENDING = 4  # letters and signs of a word after its stem
_SHORTEST = 30  # signs of a description
_ASIDE = re.compile(r"\([A-Z0-9]+_\w+\)")  # a constant
_NUMBER = re.compile(r"\A(?:(?:[A-Z]\.)?\d+(?:\.\d+)*\.?|[QA]:|§+\s*\d+)\s+|\s*[¶#]\Z|\s+\([^()]*\)\Z")
_LOCATED = re.compile(r"\s+(?:in|im|an|am|auf|bei|of|for|on|with)\s+(?:(?:the|den|der|dem)\s+)?[A-ZÄÖÜ].*\Z")
_CLASS = re.compile(
    r"\s+(?:faq|guide|manual|handbook|tutorial|overview|documentation|utils|utilities|command|program|tool|daemon|library|"
    r"module|level|status|mode|format|protocol)\Z",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"\s(?:and|or|und|oder|et|ou|y|o)\s|,\s")
_PAIR = re.compile(r"([a-z][\w.+-]+)\s+(?:and|und)\s+([a-z][\w.+-]+)")  # "tar and libtar"
_ABOUT = re.compile(
    r"\A(?:(?:an? )?(?:introduction to|overview of|guide to|tutorial on)|about|all about|einführung in|überblick über|"
    r"introduction à|introducción a|introduzione a)\s+",
    re.IGNORECASE,
)
_APART = str.maketrans("_.-", "   ")
_INNER_SIGN = re.compile(r"\w_\w|[a-z][A-Z]")
_WHAT_IS = re.compile(
    r"(?:what (?:is|are)|was (?:ist|sind))\s+(?:(?:an?|the|eine?|der|die|das)\s+)?(?P<name>[^?]+)\?", re.IGNORECASE
)
_OVERVIEW = re.compile(r"\A(?:overview|introduction|guide|tutorial|notes?)\b", re.IGNORECASE)


def is_document_of(title: str, names: Iterable[str]) -> bool:
    """Return whether a document is about one of the ``names`` and nothing else, by its title."""
    subjects = subjects_of(title)
    return any(subject_key(name) in subjects for name in names)


def homes_of(statement: Statement, text: str) -> frozenset[str]:
    """Return the subjects that a statement's sentence ``text`` is about because its document is called so.

    If only its section is, or the title says more ("Kettle guide"), or it is from a block of a page, it must name the subject.
    """
    is_other = is_of_another(statement.heading)
    just = _just_called(statement.title) if statement.fact and not is_other else frozenset()
    called = subjects_of(statement.heading) | (frozenset() if is_other else subjects_of(statement.title))
    return just | {subject for subject in called - just if _is_said(subject, text)}


def is_of_another(heading: str) -> bool:
    """Return whether a section is called by one word that only a name is written like: what is said there is on another thing."""
    word = _NUMBER.sub("", heading.strip("` "))
    return re.fullmatch(r"\w+(?:\(\))?", word) is not None and not word.isupper() and _INNER_SIGN.search(word) is not None


def _is_said(subject: str, text: str) -> bool:
    if " " in subject:
        return f" {subject} " in f" {subject_key(text)} "
    return any(word.startswith(subject) and len(word) <= len(subject) + _LONGEST_ENDING for word in subject_key(text).split())


@lru_cache(maxsize=4_096)
def _just_called(title: str) -> frozenset[str]:
    """Return the subjects of a title without what kind of document it is."""
    if name := titled(title):
        return frozenset({subject_key(name)})
    if asked := _asked_in(title):
        return frozenset(map(subject_key, asked))
    parts = [_ARTICLE.sub("", _VERSION.sub("", part)) for part in (_NUMBER.sub("", title.strip()), *_PARTS.split(title))]
    parts += [name for part in parts if (pair := _PAIR.fullmatch(part)) for name in pair.groups()]
    parts += [_ARTICLE.sub("", _ABOUT.sub("", part)) for part in parts]
    return frozenset(subject_key(text) for part in parts for text in (part, _PLACE.sub("", part), _LOCATED.sub("", part)))


@lru_cache(maxsize=4_096)
def subjects_of(title: str) -> frozenset[str]:
    """Return the names, as their stems, that a title or a heading gives what stands under it."""
    return frozenset(filter(None, map(subject_key, calls_of(title))))


@lru_cache(maxsize=4_096)
def names_in_title(title: str) -> tuple[str, ...]:
    """Return the names that a title, or a heading, gives what stands under it, the longest first; none if it is a sentence.

    Numbers, articles, versions, places and what kind of thing it is are left out in turn: "2.1. The Kettle Gates of Obertal",
    "kettle faq", "Kettle Gates Manual".
    """
    if name := titled(title):
        return (name,)
    if asked := _asked_in(title):
        return asked
    if title.rstrip().endswith(("?", "…")):
        return ()
    plain = _ABOUT.sub("", _NUMBER.sub("", _NUMBER.sub("", title.strip())))
    parts = [_ARTICLE.sub("", _VERSION.sub("", part.strip(' `"“”'))) for part in (plain, *_PARTS.split(plain))]
    parts += [name for part in parts if (pair := _PAIR.fullmatch(part)) for name in pair.groups()]
    shorter = [pattern.sub("", part) for part in parts for pattern in (_PLACE, _LOCATED, _CLASS)]
    one_thing = (text for text in dict.fromkeys((*parts, *shorter)) if text and not _CONJUNCTION.search(text))
    return tuple(sorted(one_thing, key=lambda text: -len(text)))


def _asked_in(title: str) -> tuple[str, ...]:
    """Return the name in a title like "What is a Kettle? - The Harbour Book"."""
    parts = (_NUMBER.sub("", part.strip()) for part in _PARTS.split(title))
    return tuple(found["name"] for part in parts if (found := _WHAT_IS.fullmatch(part)))


def is_called_just(title: str, names: Iterable[str]) -> bool:
    """Return whether a title is one of the ``names``, with an article, a version or a place at most."""
    return not _just_called(title).isdisjoint(map(subject_key, names))


@lru_cache(maxsize=4_096)
def calls_of(title: str) -> tuple[str, ...]:
    """Return the names in a title, and the first two and three words of a short one: "Repeatable Read Isolation Level"."""
    names = names_in_title(title)
    begun = (" ".join(name.split()[:size]) for name in names if len(name.split()) <= _MOST_BEGUN for size in (2, 3))
    return tuple(dict.fromkeys((*names, *(text for text in begun if "'" not in text and "’" not in text))))


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
    """Return what the spellings of a name have in common as a title: its stems, without brackets, dots, hyphens, underscores."""
    return " ".join(stems(name.removesuffix("()").translate(_APART)))
