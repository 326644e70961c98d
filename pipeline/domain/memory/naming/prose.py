"""The sentences of statements that names are looked for in. Option lists, code and tables are left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.domain.memory.naming.word_classes import is_function_word
from pipeline.domain.memory.values import Statement
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import DEFAULT_LANGUAGE, language_of

UNSPACED = "cjk"  # the language of texts in Chinese or Japanese: no spaces separate their words
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINE = re.compile(r"\n|\s\|\s|^\|\s|\s\|$")
_MARK = re.compile(r"^\s*(?:[-*•>]|#+|\d+[.)]|\(?[a-z]\))\s+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_CJK_END = re.compile("(?<=[。！？])")
_SYNTAX = re.compile(r"[\[\]{}|<>=\\]|(?<!\w)--?\w")
_WORD = re.compile(r"[^\W_](?:[\w’'.+#/-]*[\w+#])?(?:\(\))?")
_CLOSED = re.compile(r"[.!?。！？][\"'”’»)\]]*\Z")
_LEAST_WORDS = 4
_MOST_SYNTAX = 1 / 3  # of the words of a sentence that hold brackets, options and the like
_LEAST_SIGNS = 8
_MOST_AFTER = 8  # sentences after one that are kept with it
_SMALL, _SMALL_CLOSED, _SMALL_GERMAN = 1 / 2, 1 / 3, 1 / 5  # of a sentence's words begin with a small letter
CAPITALISED_NOUNS = frozenset({"german"})  # languages in which a capital letter makes no name


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a statement, its words as written, its language ("" if unknown), and the sentences after it in its line."""

    text: str
    words: tuple[str, ...]
    language: str
    statement: Statement
    after: tuple[str, ...] = ()

    @property
    def fact(self) -> str:
        """The id of its statement."""
        return self.statement.fact


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as written; identifiers are not split."""
    return tuple(_WORD.findall(text))


def sentences_of(statements: Iterable[Statement]) -> tuple[Sentence, ...]:
    """Return the sentences of running text in the statements, in order; a document's language is that of all its statements."""
    known = tuple(statements)
    languages = _languages(known)
    return tuple(found for one in known for found in _sentences(one, languages[one.url]))


def _languages(statements: Iterable[Statement]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for one in statements:
        texts.setdefault(one.url, []).append(one.quote)
    return {url: _language(" ".join(found)[:4_000]) for url, found in texts.items()}


def _language(text: str) -> str:
    letters = sum(sign.isalpha() for sign in text)
    return UNSPACED if 3 * len(_CJK.findall(text)) > letters else language_of(text) or DEFAULT_LANGUAGE


def _sentences(statement: Statement, language: str) -> Iterator[Sentence]:
    split = _CJK_END.split if language == UNSPACED else split_sentences
    for line in _LINE.split(_FENCE.sub("\n", _text_of(statement))):
        texts = tuple(text.strip() for text in split(_MARK.sub("", line)))
        for place, text in enumerate(texts):
            if is_prose(text, language):
                yield Sentence(text, words_of(text), language, statement, texts[place + 1 : place + 1 + _MOST_AFTER])


def _text_of(statement: Statement) -> str:
    """Return the quote, which has lines, if the claim says the same; else the claim."""
    claim, quote = statement.claim, statement.quote
    return quote if not claim or "".join(claim.split()) == "".join(quote.split()) else claim


def is_closed(text: str) -> bool:
    """Return whether a text ends as a sentence does."""
    return _CLOSED.search(text) is not None


def is_prose(text: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Return whether a line is a sentence of running text, and no call, heading, option or row of a table."""
    if language == UNSPACED:
        return len(text) >= _LEAST_SIGNS and text[-1] in "。！？"
    words = text.split()
    if len(words) < _LEAST_WORDS or sum(_SYNTAX.search(word) is not None for word in words) > _MOST_SYNTAX * len(words):
        return False
    small = sum(word[0].islower() for word in words)
    least = _SMALL_GERMAN if language in CAPITALISED_NOUNS else _SMALL_CLOSED if is_closed(text) else _SMALL
    return small >= least * len(words) and any(is_function_word(word, language) for word in words)
