"""The subject of a question in its own words, for titles and for the sceptic's search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.text.ranking.query_terms import ParsedQuestion
from pipeline.text.stemming import forms, words
from pipeline.text.word_lists import LIGHT_WORDS

_LONGEST = 4  # words side by side
_MOST = 2  # runs of words, or single words

_NOUNS_IN_CAPITALS = "german"
_POSSESSIVE = re.compile(r"['’]s(?= |\Z)")

_Run = tuple[str, ...]


def subject_of(query: ParsedQuestion, texts: Sequence[str] = ()) -> str:
    """Return the best runs of the question's words that occur in ``texts`` (headings), or else its most specific words."""
    spoken = [_spaced_stems(text, query.language) for text in texts]
    runs = [run for run in _runs(query) if any(_spaced_stems(" ".join(run), query.language) in text for text in spoken)]
    special = {term.word: term.specificity * term.weight for term in query.terms}
    ranked = sorted(runs, key=lambda run: (-sum(special[word] for word in run), -len(run)))
    if best := _disjoint_runs(ranked)[:_MOST]:
        return " and ".join(" ".join(run) for run in sorted(best, key=lambda run: query.text.find(run[0])))
    single = sorted(special, key=lambda word: -special[word])[:_MOST]
    return " ".join(term.word for term in query.terms if term.word in single)


def title_subject(query: ParsedQuestion, texts: Sequence[str]) -> str:
    """Return the subject for a heading, as a person would write it.

    It is made of the question's words that may name something: in German those with a capital or a hyphen. A number stands only
    behind the word that it follows in the question. Words that are adjacent in the question stay so, others are joined by "and";
    a possessive is the plain word.
    """
    said = words(query.text)
    named = [word for word in words(subject_of(query, texts)) if word in {term.word for term in query.terms}]
    places = [place for place, word in enumerate(said) if word in named and _may_name(word, query.language)]
    places += [place + 1 for place in places if said[place + 1 : place + 2] and said[place + 1][0].isdigit()]
    places += [place + 1 for place in places if place + 2 in places and said[place + 1][0].isupper()]  # "Verband Obere Werla"
    places = [place for place in sorted(set(places)) if said.index(said[place]) == place]
    text = ""
    for place in places:
        joint = " " if place - 1 in places else " and "
        text += f"{joint if text else ''}{said[place]}"
    return _POSSESSIVE.sub("", text or " ".join(named))


def _may_name(word: str, language: str) -> bool:
    if not any(map(str.isalpha, word)):
        return False
    return language != _NOUNS_IN_CAPITALS or word[:1].isupper() or "-" in word


def _disjoint_runs(ranked: Sequence[_Run]) -> list[_Run]:
    """Return the runs that share no word with a better one."""
    return [run for place, run in enumerate(ranked) if not any(set(run) & set(other) for other in ranked[:place])]


def _runs(query: ParsedQuestion) -> Iterator[_Run]:
    """Yield the runs of adjacent content words in the question that neither begin nor end with a light word."""
    content = {term.word for term in query.terms}
    said = words(query.text)
    for start in range(len(said)):
        for end in range(start + 1, min(len(said), start + _LONGEST) + 1):
            run = tuple(said[start:end])
            if content.issuperset(run) and not {run[0].lower(), run[-1].lower()} & LIGHT_WORDS:
                yield run


def _spaced_stems(text: str, language: str) -> str:
    """Return the stems of the words of ``text``, compounds whole, between single spaces."""
    found = (forms(word, language) for word in words(text))
    return f" {' '.join(stems[0] for stems in found if stems)} "
