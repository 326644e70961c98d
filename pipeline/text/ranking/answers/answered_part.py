"""What a short answer must hold beyond the question's words: a value of the kind that is asked for, and its heaviest word. Pure.

A report shows the closest passages and says what they lack. A short answer cannot, so it is stricter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.text.page_format import blocks
from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.answers.demands import Demand, demand_of, is_of_family, only_asks
from pipeline.text.ranking.named_subject import USUAL_SHARE, names_of
from pipeline.text.ranking.query_terms import ParsedQuestion, Term
from pipeline.text.ranking.scoring import StemmedText, Weights, coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import forms, stems, words
from pipeline.text.word_frequency import is_word
from pipeline.text.word_lists import LIGHT_WORDS, POINTING_BACK

_FIGURES = ("duration", "count", "date", "version")
_NEARLY = 0.75  # share of the best coverage at which a passage counts as on the question
_HEAVY = 0.32  # share of a question's weight from which a word that no passage holds leaves it unanswered
_NAMED = 0.4  # least specificity of such a word
_NAME = 0.9  # least specificity of a name
_BEFORE, _BEHIND = 7, 4  # words before and behind a number, one of which it may count
_UNIT = re.compile(  # what a number measures
    r"[ -]?(?:%|percent|per cent|prozent|(?:kilo|centi|milli)?met(?:re|er)s?|feet|foot|inch(?:es)?|miles?|yards?|acres?|hectares?"
    r"|hektar|(?:kilo)?gram(?:me)?s?|kilos?|tonn?e?s?|litres?|liters?|pounds?|euros?|dollars?|pence|seconds?|minutes?|hours?|days?|weeks?"
    r"|months?|years?|p\.?m\.?|a\.?m\.?|o['’]clock|sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|uhr)(?!\w)",
    re.IGNORECASE,
)
_ABOUT = 0.4  # share of the question, without its names and what is asked for, that its passage holds
_PART = 0.45  # and that a sentence with a value holds if its passage holds more
_BESIDE = 0.65  # share of the question, without its names, that a sentence with a value holds


def unanswered_part(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> tuple[str, ...]:
    """Return the words of the question, as written, for which the passages hold no answer; () if there are none.

    If a kind of value is asked for, it must stand in a sentence on what is asked. A word counts if no passage on the question
    holds it and it is about a third of the question.
    """
    if not known.passages:
        return ()
    weights = term_weights(query, known)
    total = sum(weight for _, weight in weights)
    stems_of = [frozenset((*passage.body, *passage.heads)) for passage in passages]
    most = max((coverage(weights, one) for one in stems_of), default=0.0)
    near = [(passage, one) for passage, one in zip(passages, stems_of, strict=True) if coverage(weights, one) >= _NEARLY * most]
    if found := demand_of(query.text):
        is_held = holding_values(query, passages, known) != []
        return () if is_held else (found[1] or max(weights, key=lambda pair: pair[1])[0].word,)
    figures = tuple(kind for kind in query.kinds if kind in _FIGURES)
    if figures and any(kind_match(figures, passage.text) for passage in passages):
        return ()
    heavy = (term for term, weight in weights if weight >= _HEAVY * total and term.specificity >= _NAMED)
    return tuple(term.word for term in heavy if not any(term.is_in(one) for _, one in near))


def holding_values(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> list[StemmedText]:
    """Return the passages of which a sentence holds a value of the kind that the question asks for, beside what it is of.

    The sentence or the headings must name what the question is about, if that is a name; what many passages name, the page.
    All passages are returned if the question asks for no known kind.
    """
    found = demand_of(query.text)
    if not found:
        return list(passages)
    names = tuple(term for term in query.terms if _is_name(term, query)) or names_of(query, known)
    names = tuple(term for term in names if term.word != found[1])
    rest = tuple(pair for pair in term_weights(query, known) if pair[0] not in names and not only_asks(pair[0].word))
    usual = [term for term in names if known.counts.get(term.stem, 0) > USUAL_SHARE * known.passages]
    named = [
        one
        for one in passages
        if not names or (len(usual) == len(names) and any(term.is_in({*one.body, *one.heads}) for term in usual))
    ]
    asked = _Asked(*found, names, rest, query)
    return [one for one in passages if asked.is_told(one, is_named=one in named)]


class _Asked(NamedTuple):
    """What is asked: the kind of value, the word beside it, the names, and the other words with their weights."""

    demand: Demand
    what: str
    names: tuple[Term, ...]
    rest: Weights
    query: ParsedQuestion

    def is_told(self, passage: StemmedText, *, is_named: bool) -> bool:
        """Return whether a sentence of the passage tells it."""
        heads = frozenset(passage.heads)
        about = self.share(heads.union(passage.body), passage.text)
        if about < _ABOUT:
            return False
        named = is_named or any(term.is_in(heads) for term in self.names)
        before = False
        for sentence in _statements(passage.text):
            held = heads.union(stems(sentence, self.query.language))
            here = named or any(term.is_in(held) for term in self.names)
            if (here or (before and _points_back(sentence))) and self.holds_value(sentence, held, about):
                return True
            before = here
        return False

    def holds_value(self, sentence: str, held: frozenset[str], about: float) -> bool:
        """Return whether a sentence holds a value of what is asked; ``about`` is the share that its passage holds."""
        given = set(_given(self.query.text, names=not self.demand.counts))
        plain = " ".join(word for word in sentence.split() if word.strip("().,;:") not in given)
        values = list(self.demand.value.finditer(plain))
        if not values:
            return False
        if self.what and not self.demand.counts:
            return self.says(plain, held)
        if not self.share(frozenset(stems(plain, self.query.language)), plain):
            return False
        if not self.what:
            return self.share(held, plain) >= (_BESIDE if about < _BESIDE else _PART)
        if plain.startswith("|"):
            return False  # the columns of a table say what its numbers count
        return any(self.says(_around(plain, one)) for one in values if not self.is_of_other(plain, one))

    def is_of_other(self, text: str, value: re.Match[str]) -> bool:
        """Return whether a number is a version, a sum of money, or the measure of something else: "boats of 14 metres"."""
        if self.is_version(text[: value.start()]) or text[: value.start()].endswith(tuple("$€£¥")):
            return True
        unit = _UNIT.match(text[value.end() :])
        return unit is not None and not self.says(unit[0])

    def says(self, text: str, held: frozenset[str] = frozenset()) -> bool:
        """Return whether a text has the word that the value is of, in any form or as another of its family."""
        stem = next(iter(forms(self.what, self.query.language)), "")
        return stem in held or stem in stems(text, self.query.language) or is_of_family(self.what, words(text))

    def share(self, held: frozenset[str], text: str) -> float:
        """Return the share of the other words that a text holds, in any form or as another of their families; 1 for none."""
        said = words(text)
        counted = [(term, weight) for term, weight in self.rest if term.word not in (self.what, *LIGHT_WORDS)]
        total = sum(weight for _, weight in counted)
        return (
            sum(weight for term, weight in counted if term.is_in(held) or is_of_family(term.word, said)) / total if total else 1.0
        )

    def is_version(self, before: str) -> bool:
        """Return whether the text before a number ends with a name, of which it is the version: "in GIMP 2"."""
        first, *rest = before.split() or [""]
        return self.query.language != "german" and bool(first and rest) and rest[-1][:1].isupper()


def _given(question: str, *, names: bool) -> Iterator[str]:
    """Yield the words of a question that are no answer to it, although they may look like one: its numbers, and its names."""
    for place, word in enumerate(words(question)):
        if any(map(str.isdigit, word)) or (names and place and word[:1].isupper()):
            yield word


def _is_name(term: Term, query: ParsedQuestion) -> bool:
    """Return whether a word is a proper name or the name of a program: it is in no everyday use, or has an inner capital."""
    capitals = sum(map(str.isupper, term.word))
    if capitals > 1 or (capitals and any(map(str.isdigit, term.word))):
        return True
    return term.specificity >= _NAME and not is_word(term.word.lower(), query.language) and any(map(str.isalpha, term.word))


def _around(text: str, found: re.Match[str]) -> str:
    """Return the words close to a number, which it may count."""
    return " ".join((*text[: found.start()].split()[-_BEFORE:], *text[found.end() :].split()[:_BEHIND]))


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences of a passage's paragraphs, and its items and rows whole."""
    for block in blocks(text):
        yield from split_sentences(block.text) if block.kind == "paragraph" else [block.text]


def _points_back(sentence: str) -> bool:
    """Return whether a sentence begins with a word that stands for what the one before it is about."""
    return next(iter(words(sentence)), "").lower() in POINTING_BACK
