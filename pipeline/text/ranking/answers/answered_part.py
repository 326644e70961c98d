"""What a short answer must hold beyond the question's words: a figure said of the name, a maker, the heaviest word. Pure.

A report shows the closest passages and says what they lack. A short answer cannot, so it is stricter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.named_subject import names_of
from pipeline.text.ranking.query_terms import ParsedQuestion, Term
from pipeline.text.ranking.scoring import StemmedText, coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import split_sentences

_FIGURES = ("duration", "count", "date", "version")
_FIGURE_ASKED = re.compile(
    r"\bhow (?:many|much|long|often|big|large|small|high|deep|far|wide|tall|heavy|old)\b"
    r"|\bwie ?(?:viele?|lange|oft|hoch|tief|weit)\b",
    re.IGNORECASE,
)
_MADE = "wrote|created|invented|designed|developed|made|founded|built|introduced"
_MAKER_ASKED = re.compile(rf"\bwho (?P<verb>{_MADE})\b", re.IGNORECASE)
_MAKER = re.compile(  # a text that says who made something
    r"\bby (?:the )?(?:\w+ ){0,3}[A-Z]"
    r"|[Aa]uthors?\b|[Ff]ounde[rd]|[Ii]nvent(?:ed|or)|[Cc]reators?\b|©"
    rf"|\b[A-Z]\w+ (?:[A-Z]\. )?[A-Z]\w+ (?:{_MADE})\b"
)
_ONE = re.compile(r"\b(?:one|once)\b", re.IGNORECASE)  # "one of the first", "once it is": hardly ever a figure
_NEARLY = 0.75  # share of the best coverage at which a passage counts as on the question
_HEAVY = 0.32  # share of a question's weight from which a word that no passage holds leaves it unanswered
_NAMED = 0.4  # least specificity of such a word


def unanswered_part(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> tuple[str, ...]:
    """Return the words of the question, as written, for which the passages hold no answer; () if there are none.

    The verb counts if it is asked who made something and no passage names a maker. A name counts if the question asks for a
    figure and no sentence on the name, nor any below its heading, holds one; the heaviest word, if no passage on the question
    holds a figure. A word counts if no passage on the question holds it and it is about a third of the question.
    """
    figures = tuple(kind for kind in query.kinds if kind in _FIGURES)
    if not known.passages:
        return ()
    if (asked := _MAKER_ASKED.search(query.text)) and not any(_MAKER.search(passage.text) for passage in passages):
        return (asked["verb"],)
    names = [term for term in names_of(query, known) if _is_written_as_name(term)]
    if figures and names and not any(_has_figure(term, figures, passages) for term in names):
        return tuple(term.word for term in names)
    weights = term_weights(query, known)
    total = sum(weight for _, weight in weights)
    stems_of = [frozenset((*passage.body, *passage.heads)) for passage in passages]
    most = max((coverage(weights, one) for one in stems_of), default=0.0)
    near = [(passage, one) for passage, one in zip(passages, stems_of, strict=True) if coverage(weights, one) >= _NEARLY * most]
    is_figure_asked = figures and _FIGURE_ASKED.search(query.text)
    if is_figure_asked and not any(kind_match(figures, _ONE.sub("", passage.text)) for passage, _ in near):
        return tuple(term.word for term, _ in sorted(weights, key=lambda pair: -pair[1])[:1])
    if figures and any(kind_match(figures, passage.text) for passage in passages):
        return ()
    heavy = (term for term, weight in weights if weight >= _HEAVY * total and term.specificity >= _NAMED)
    return tuple(term.word for term in heavy if not any(term.is_in(one) for _, one in near))


def _is_written_as_name(term: Term) -> bool:
    return any(map(str.isupper, term.word)) and any(map(str.isalpha, term.word))


def _has_figure(term: Term, figures: tuple[str, ...], passages: Sequence[StemmedText]) -> bool:
    """Return whether a sentence on the name, or one below a heading or title with it, holds a figure of one of the kinds."""
    for passage in passages:
        if term.is_in(frozenset(passage.heads)) and kind_match(figures, passage.text):
            return True
        if any(kind_match(figures, text) for text in _naming(term, passage)):
            return True
    return False


def _naming(term: Term, passage: StemmedText) -> Iterator[str]:
    """Yield the sentences that hold the name, without the name itself, which may hold a number, and without "one" and "once"."""
    name = re.compile(rf"(?<!\w){re.escape(term.word)}(?!\w)", re.IGNORECASE)
    for line in passage.text.splitlines():
        for sentence in split_sentences(line):
            rest, named = name.subn("", sentence)
            if named:
                yield _ONE.sub("", rest)
