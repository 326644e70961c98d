"""The sentence that says what a name means, out of the statements that hold it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.domain.memory.naming.definitions import abbreviations, definitions, title_meaning, titled
from pipeline.domain.memory.naming.prose import sentences_of
from pipeline.domain.memory.values import Statement
from pipeline.text.stemming import stems

_ARTICLE = re.compile(r"\A(?:the|an?) ", re.IGNORECASE)
_LONGEST = 400  # characters of a sentence that defines


class Defining(NamedTuple):
    """A sentence or a document's title that says what a name means, and the fact that it is from, by id."""

    text: str
    fact: str


def defining_sentence(names: Iterable[str], statements: Iterable[Statement]) -> Defining | None:
    """Return what the statements say that one of the ``names`` is; None if they only mention it.

    The title of a manual page comes first, then a sentence that can only be a definition, then the shortest of the others.
    """
    known, wanted = tuple(statements), {_key(name) for name in names}
    for one in known:
        if titled(one.title) and _key(titled(one.title)) in wanted:
            return Defining(f"{titled(one.title)}: {title_meaning(one.title)}", one.fact)
    found = []
    for sentence in sentences_of(known):
        for name, certain in definitions(sentence.text, sentence.language):
            if _key(name) in wanted and len(sentence.text) <= _LONGEST:
                found.append((not certain, len(sentence.text), sentence.text, sentence.fact))
        for short, long in abbreviations(sentence):
            if {_key(short), _key(long)} & wanted and len(sentence.text) <= _LONGEST:
                begins = _ARTICLE.sub("", sentence.text, count=1).startswith((short, long))
                text = (
                    sentence.text if begins else f"{short}: {long}"
                )  # another thing's sentence may explain a short name by the way
                found.append((True, _LONGEST + len(sentence.text), text, sentence.fact))
    return Defining(*min(found)[2:]) if found else None


def _key(name: str) -> str:
    return " ".join(stems(name)) or name
