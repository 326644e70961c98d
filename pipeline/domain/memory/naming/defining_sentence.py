"""The sentence that says what a name means, out of the statements that hold it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.domain.memory.naming.definitions import abbreviations, definitions, title_meaning, titled
from pipeline.domain.memory.naming.own_documents import gloss_of, is_document_of
from pipeline.domain.memory.naming.prose import sentences_of
from pipeline.domain.memory.values import Statement
from pipeline.text.stemming import stems

_ARTICLE = re.compile(r"\A(?:the|an?) ", re.IGNORECASE)
_LEAST_WORDS = 5  # of a title that says enough
_LONGEST = 400  # characters of a sentence that defines


class Defining(NamedTuple):
    """A sentence or a document's title that says what a name means, and the fact that it is from, by id."""

    text: str
    fact: str
    is_brief: bool = False  # a title: a sentence of a page says more


def defining_sentence(names: Iterable[str], statements: Iterable[Statement]) -> Defining | None:
    """Return what the statements say that one of the ``names`` is; None if they only mention it.

    The title of a manual page comes first if it has five words and more, then a sentence from a document that is about the name
    alone, then one that can only be a definition, then the shortest of the others, then a shorter title.
    """
    known, names = tuple(statements), tuple(names)
    wanted = {_key(name) for name in names}
    found = []
    for one in known:
        if gloss_of(one.title) and _key(titled(one.title)) in wanted:
            text = f"{titled(one.title)}: {title_meaning(one.title)}"
            if len(title_meaning(one.title).split()) >= _LEAST_WORDS:
                return Defining(text, one.fact, is_brief=True)
            found.append((True, True, 2 * _LONGEST, text, one.fact))
    for sentence in sentences_of(known):
        for name, certain in definitions(sentence.text, sentence.language):
            if _key(name) in wanted and len(sentence.text) <= _LONGEST:
                own = is_document_of(sentence.statement.title, names)
                found.append((not own, not certain, len(sentence.text), sentence.text, sentence.fact))
        for short, long in abbreviations(sentence):
            if {_key(short), _key(long)} & wanted and len(sentence.text) <= _LONGEST:
                begins = _ARTICLE.sub("", sentence.text, count=1).startswith((short, long))
                text = (
                    sentence.text if begins else f"{short}: {long}"
                )  # another thing's sentence may explain a short name by the way
                found.append((True, True, _LONGEST + len(sentence.text), text, sentence.fact))
    if not found:
        return None
    _own, _certain, length, text, fact = min(found)
    return Defining(text, fact, length >= _LONGEST)


def _key(name: str) -> str:
    return " ".join(stems(name)) or name
