"""What to search for next: the question itself, its perspective's questions, and words that good facts brought up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline import terms
from pipeline.questions import Thought, ThoughtQuestion
from pipeline.reasoners.extractive import phrases
from pipeline.reasoners.extractive.frames import content
from pipeline.reasoners.extractive.synonyms import others
from pipeline.values import Fact
from pipeline.vocabulary import COMMON

_FIRST = 3  # searches of a first iteration; more would only bring the same pages again
_BEST = 6  # facts whose words are looked at for new ones


def think(question: ThoughtQuestion) -> Thought:
    """Return the next searches, none asked before; none at all when nothing new can be asked."""
    limit = question.limit if question.iteration > 1 else min(question.limit, _FIRST)
    queries = _fresh(_first(question) if question.iteration <= 1 else _later(question), question.asked, limit)
    return Thought(reasoning=_reasoning(question, queries), queries=tuple(queries))


def _first(question: ThoughtQuestion) -> Iterable[str]:
    core = _core(question)
    if question.query in question.perspective.questions:
        yield question.query
        yield _joined(core[:6])
        yield _reworded(question.query)
    keywords = [word for word in question.perspective.keywords if word not in core]
    yield _joined([*keywords[:3], *core[:5]])
    yield _joined([*keywords[3:6], *core[:5]])
    for text in question.perspective.questions:
        yield _tied(text, core)


def _core(question: ThoughtQuestion) -> tuple[str, ...]:
    """Return the query's words that searches are tied to: its nouns, and what the perspective names as keywords."""
    nouns = phrases.core(question.query)
    named = {*nouns, *question.perspective.keywords}
    return tuple(word for word in dict.fromkeys(terms.words(question.query)) if word in named) or nouns


def _later(question: ThoughtQuestion) -> Iterable[str]:
    core = _core(question)
    brought = _brought_up(question)
    for gap in question.gaps[:2]:
        yield _tied(gap, core)
    yield _joined([*core[:4], *brought[:2]])
    yield _joined([*core[:4], *brought[2:4]])
    yield _reworded(question.query)
    for text in (*question.gaps[2:], *question.perspective.questions):
        yield _tied(text, core)


def _tied(text: str, core: Sequence[str]) -> str:
    """Return the words of ``text`` that tell something, with the query's own added where they are missing."""
    own = phrases.salient_words(content(text), 10)
    held = {form for word in own for form in terms.forms(word)}
    missing = [word for word in core if not any(form in held for form in terms.forms(word))]
    return _joined([*own, *missing[:3]])


def _reworded(query: str) -> str:
    """Return the query's words with other words for those that have some."""
    words = phrases.salient_words(query, 8)
    extra = [other for word in words for form in terms.forms(word)[:1] for other in others(form)[:2]]
    return _joined([*words, *extra[:6]])


def _joined(words: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(words))


def _brought_up(question: ThoughtQuestion) -> list[str]:
    """Return words of the best facts that no search held yet, those of several good facts first."""
    best = sorted(question.facts, key=lambda fact: (-fact.relevance, fact.id))[:_BEST]
    known = {form for text in (*question.asked, question.query) for form in terms.terms(text)}
    weights: dict[str, float] = {}
    shown: dict[str, str] = {}
    for fact in best:
        for word in dict.fromkeys(terms.words(f"{fact.heading.partition('(')[0]} {fact.claim}")):
            for form in terms.forms(word)[:1]:
                if form not in known and _tells(word):
                    shown.setdefault(form, word)
                    weights[form] = weights.get(form, 0.0) + fact.relevance
    return [shown[form] for form in sorted(weights, key=lambda form: (-weights[form], form))]


def _tells(word: str) -> bool:
    return len(word) > 3 and word.lower() not in COMMON and any(character.isalpha() for character in word)


def _fresh(queries: Iterable[str], asked: Sequence[str], limit: int) -> list[str]:
    seen = {_key(text) for text in asked}
    fresh: list[str] = []
    for text in queries:
        if len(fresh) < limit and text.strip() and _key(text) not in seen:
            seen.add(_key(text))
            fresh.append(text)
    return fresh


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _reasoning(question: ThoughtQuestion, queries: Sequence[str]) -> str:
    facts: Sequence[Fact] = question.facts
    if not queries:
        return "Everything that could be asked has been asked."
    if question.iteration <= 1:
        return f"Begin with the question itself and what the perspective {question.perspective.name!r} asks of it."
    found = f"{len(facts)} fact{'' if len(facts) == 1 else 's'} found"
    opened = f"{len(question.gaps)} question{'' if len(question.gaps) == 1 else 's'} open"
    return f"{found}, {opened}: ask for what is open, with words that the best facts brought up."
