"""Analysis of a question: its content words, its parts, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pipeline.text.words import DEFAULT_LANGUAGE, QUESTION_WORDS, forms, language_of, stop_words, words

MOST_PARTS = 4
_FEW_TERMS = 2  # a part with fewer words of its own is about what the first part names: "… and when should I avoid it?"
# Where a question may end and another begin; without it "How does A work, and when does it fail?" is one search for both.
_PART_BOUNDARY = re.compile(
    r"[?;]\s+|,?\s+(?:and|or|but|und|oder)\s+"
    r"(?=(?:how|what|when|where|why|which|who|can|should|is|are|does|do|wie|was|wann|wo|warum|welche\w?|wer)\b)",
    re.IGNORECASE,
)

# Names in a question: what stands in quotation marks, and words as people part them.
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,60})[\"”“»]")
_TOKEN = re.compile(r"[^\s\"“”„«»()\[\]{}<>,;:!?]+")
_CASED = re.compile(r"(?=.*[^\W\d_])(?:.*\d|.*[^\W\d_A-Z][A-Z])")  # a letter, and a digit or an inner capital: ColBERTv3, 3com
_CLAUSE_END = re.compile(r"[.?!;,:]\s+")  # "My server is overloaded. What can I do?": any clause may ask

# What a question begins with that takes more than one passage to answer, in six languages; of 27 such questions 23 begin so, or
# consist of several, and of 154 others 13.
_BROAD_BEGINNINGS = (
    "how do", "how does", "how did", "how can", "how could", "how should", "how would", "how to", "what are", "what can",
    "what could", "what should", "what makes", "what ways", "what happens", "which ways", "explain", "describe", "compare",
    "summarise", "summarize",
    "wie funktioniert", "wie kann", "wie können", "wie soll", "wie sollte", "wie macht", "wie mache", "wie richte",
    "was kann", "was soll", "was sollte", "was muss", "welche möglichkeiten", "erkläre", "beschreibe", "vergleiche",
    "comment", "quels sont", "quelles sont", "que faire", "expliquez", "décrivez", "comparez",
    "cómo", "cuáles son", "qué puedo", "qué debo", "explica", "describe", "compara",
)  # fmt: skip
_BROAD_SIGNS = ("如何", "怎么", "怎样", "哪些", "比较", "解释", "どのように", "どうすれば", "方法", "比較", "説明")


class Term(NamedTuple):
    """A content word of a question: its stem, the stems of its parts if it is an identifier, and the word as written."""

    stem: str
    parts: tuple[str, ...]
    word: str

    def is_in(self, held: Container[str]) -> bool:
        """Return whether a text with the stems ``held`` contains the word or all its parts."""
        return self.stem in held or (bool(self.parts) and all(part in held for part in self.parts))


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question's words say of it.

    ``terms`` are its content words, each once. ``parts`` are the questions that it consists of, if these are several.
    ``is_broad``: it takes several passages to answer it.
    """

    language: str
    terms: tuple[Term, ...]
    parts: tuple[str, ...] = ()
    is_broad: bool = False


@lru_cache(maxsize=512)
def parse_question(text: str, language: str = "") -> ParsedQuestion:
    """Return the analysis of the question ``text``; ``language`` (Snowball's name) is detected if it is not given."""
    language = language or language_of(text) or DEFAULT_LANGUAGE
    parts = _parts(text, language)
    clauses = [f"{clause.strip(' ¿').lower()} " for clause in _CLAUSE_END.split(text)]
    begins_broadly = any(clause.startswith(f"{start} ") for clause in clauses for start in _BROAD_BEGINNINGS)
    is_broad = bool(parts) or begins_broadly or any(sign in text for sign in _BROAD_SIGNS)
    return ParsedQuestion(language, _terms(text, language), parts, is_broad)


def parse_in(text: str, languages: Sequence[str]) -> ParsedQuestion:
    """Return the analysis of a question in its own language if ``languages``, of the sources, have it, else in the first."""
    own = language_of(text)
    return parse_question(text, own if own in languages or not languages else languages[0])


@lru_cache(maxsize=512)
def _terms(text: str, language: str) -> tuple[Term, ...]:
    """Return the content words of ``text``, or all its words if it has none."""
    found = [word for word in words(text) if not _is_question_word(word, language)] or words(text)
    terms: dict[str, Term] = {}
    for word in found:
        if stems := forms(word, language):
            terms.setdefault(stems[0], Term(stems[0], stems[1:], word))
    return tuple(terms.values())


@lru_cache(maxsize=4_096)
def content_stems(text: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Return the stems of the content words of ``text``."""
    return frozenset(form for word in words(text) if not _is_question_word(word, language) for form in forms(word, language))


def _is_question_word(word: str, language: str) -> bool:
    """Return whether a word only asks or joins: an English one in any question, and those of the question's own language."""
    plain = word.lower().replace("’", "'")
    return (plain in QUESTION_WORDS or plain in stop_words(language)) and not (
        word.isascii() and word.isupper() and len(word) > 1
    )


def _parts(text: str, language: str) -> tuple[str, ...]:
    """Return the questions of which ``text`` consists, if these are several.

    One with hardly a word of its own also has the words of the first.
    """
    asked = (part.strip(" ,.?") for part in _PART_BOUNDARY.split(text) if content_stems(part, language))
    found = list(dict.fromkeys(asked))[:MOST_PARTS]
    if len(found) < 2:
        return ()
    return (found[0], *(part if len(_terms(part, language)) >= _FEW_TERMS else f"{part} ({found[0]})" for part in found[1:]))


def names_in(question: str) -> tuple[str, ...]:
    """Return the names in a question of which it is easy to see whether a text mentions them.

    They are the quoted strings, the tokens with a digit or an inner capital, and the runs of two or more capitalised words; also
    a single one within a sentence, but not of German, which capitalises all nouns. Another word that no text holds ("laptop") is
    mostly there under another word.
    """
    found = [match[1].strip() for match in _QUOTED.finditer(question)]
    plain, names_alone, run = _QUOTED.sub(" , ", question), language_of(question) not in ("", "german"), list[re.Match[str]]()
    for match in _TOKEN.finditer(f"{plain} -"):
        token = match[0].strip(".'’")
        if token and _CASED.match(token):
            found.append(token)
        is_name = token[:1].isupper() and token.lower() not in QUESTION_WORDS
        if run and (not is_name or plain[run[-1].end() : match.start()].strip()):
            is_within = names_alone and plain[: run[0].start()].rstrip()[-1:] not in ".?!:"
            found += [plain[run[0].start() : run[-1].end()].strip(".'’")] if len(run) > 1 or is_within else []
            run = []
        run += [match] if is_name else []
    return tuple(dict.fromkeys(found))
