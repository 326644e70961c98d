"""What a page tells about the topic as a whole, whether or not it answers a question word by word.

A page that is about the topic need not name it in every sentence: its title, its headings and what its sentences dwell on say
that it is. Of what stands in such places, the statements are taken that bring up most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pipeline import terms
from pipeline.reasoners.extractive.reading import Reading, Unit, read
from pipeline.reasoners.extractive.telling import Tally, Telling, ranked, weights
from pipeline.reasoners.extractive.topic import dwelt_on, named_weights, nearness, share

LONGEST = 48  # statements of one page
_NEAR = 0.3  # closeness to the topic from which on a statement belongs to it
_WHOLLY = 0.5  # closeness from which on more does not count
_GIVEN = 0.05  # share of the longest portrait that any page gets that names the topic
_LEADING = 0.3  # what the first statement of a place gains: it tends to say what the place is about
_SHARE = 0.5  # of a page's statements that make up its portrait at most
_SILENT = 0.7  # share of its worth that is left to what stands in a place that never names the topic
_DENSE = 0.1  # share of a page's statements from which on it dwells on a term wholly
_SLACK = 10  # statements that a page is taken to have besides, so that a short one does not dwell on everything


def portrait(text: str, title: str, query: str, keywords: tuple[str, ...]) -> tuple[int, ...]:
    """Return which units of the page's reading tell most about the topic, at most ``LONGEST``, best first, none overlapping.

    The topic is the query's words among ``keywords``.
    """
    return _portrait(text, title, tuple(named_weights(query, keywords).items()))


@lru_cache(maxsize=48)
def _portrait(text: str, title: str, about: tuple[tuple[str, float], ...]) -> tuple[int, ...]:
    reading = read(text)
    whole = dict(about)
    part = dwelt_on(whole, (unit.terms for unit in reading.units if unit.first == unit.last), _DENSE, _SLACK)
    if not any(part.values()):
        return ()
    dwells = min(1.0, _GIVEN + share(part, whole))
    most = min(int(LONGEST * dwells), int(_SHARE * len(reading.units)))
    return _drawn(reading.units, _values(reading, title, part), most)


def _drawn(units: Sequence[Unit], values: Mapping[int, float], most: int) -> tuple[int, ...]:
    """Return the places of at most ``most`` units, each the one that adds most to those before, none overlapping another."""
    places = sorted(values)
    tellings = [Telling(units[i].terms, len(units[i].text.split()), units[i].place, values[i]) for i in places]
    tally = Tally(weights(tellings))
    chosen: list[int] = []
    taken: set[int] = set()
    for number in ranked(tellings, tally):
        unit = units[places[number]]
        own = range(unit.first, unit.last + 1)
        if len(chosen) >= most:
            break
        if taken.isdisjoint(own):
            chosen.append(places[number])
            taken.update(own)
            tally.take(tellings[number])
    return tuple(chosen)


def _values(reading: Reading, title: str, about: Mapping[str, float]) -> dict[int, float]:
    """Return by place what each unit that is about the topic is worth to the portrait."""
    over = terms.term_set(title)
    above = [terms.term_set(place.heading.partition("(")[0]) for place in reading.places]
    named = {term for term, weight in about.items() if weight}
    speaking = {unit.place for unit in reading.units if named & (unit.terms | above[unit.place])}
    found: dict[int, float] = {}
    opened: set[int] = set()
    for index, unit in enumerate(reading.units):
        near = nearness(about, unit.terms, above[unit.place], over)
        if near >= _NEAR:
            first, silent = unit.place not in opened, unit.place not in speaking
            found[index] = min(1.0, near / _WHOLLY) * (1.0 + _LEADING * first) * (_SILENT if silent else 1.0)
        opened.add(unit.place)
    return found
