"""Finds edited questions: their ids are made from their words, so an edited question has another id than its sessions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.config.queue_file import distinct_id
from pipeline.config.values import Query
from pipeline.domain import Summary
from pipeline.text.normalise import slug

ALIKE = 0.8  # twice the words in common, of all the words of both
COMMON = 200  # sessions; a word that more of them have does not distinguish them


def edited_sessions(queries: Sequence[Query], gone: Sequence[Summary]) -> dict[str, Summary]:
    """Return by query id the session, each once, of the question that it was before; ``gone`` have no query in the file any more.

    Only ids that were made from the question count: one that the user gave says by itself which question is meant.
    """
    candidates = [summary for summary in gone if _is_derived(summary.query_id, summary.query)]
    words = [Counter(_words(summary.query)) for summary in candidates]
    places = _places(words)
    fresh = [(query.id, Counter(_words(query.text))) for query in queries if _is_derived(query.id, query.text)]
    scored = [(score, place, name) for name, mine in fresh for score, place in _scores(mine, words, places)]
    found: dict[str, int] = {}
    taken: set[int] = set()
    for _, place, name in sorted(scored, reverse=True):
        if name not in found and place not in taken:
            found[name] = place
            taken.add(place)
    return {name: candidates[place] for name, place in found.items()}


def _is_derived(name: str, question: str) -> bool:
    return name in {slug(question, 40), distinct_id(question)}


def _words(text: str) -> list[str]:
    return slug(text, 1_000).split("-")


def _places(words: Iterable[Counter[str]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, mine in enumerate(words):
        for word in mine:
            places.setdefault(word, []).append(place)
    return {word: found for word, found in places.items() if len(found) <= COMMON}


def _scores(mine: Counter[str], words: Sequence[Counter[str]], places: Mapping[str, list[int]]) -> Iterator[tuple[float, int]]:
    for place in {place for word in mine for place in places.get(word, ())}:
        if (score := _alike(mine, words[place])) >= ALIKE:
            yield score, place


def _alike(a: Counter[str], b: Counter[str]) -> float:
    return 2 * (a & b).total() / (a.total() + b.total())
