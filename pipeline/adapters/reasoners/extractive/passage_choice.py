"""What a report is made of: which passages stand in the summary, which in the body, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pipeline.domain.values import Fact
from pipeline.text.normalise import normalised
from pipeline.text.ranking.greedy_coverage import chosen_passages
from pipeline.text.ranking.passages import text_key
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, scores
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import points_back

NUMBERS = frozenset({"duration", "count", "default", "date", "version"})
_SHORT = 300  # words of a report whose answer is a number
_NARROW = 1_000  # words of one with another single answer
_WORTH = 0.45  # share of the best score below which a passage of a narrow report brings nothing
_READ_ON = 2  # of the best, those that are read on around
_EACH_SIDE = 2  # passages
_BEST = 3  # passages that stand in the report whatever they open with
_NEXT = 8  # of the best, what may stand in the summary if there is room
_STRONG = 0.6  # share of the best score that such a one needs
_RELATED = 0.4  # share that what follows on the best needs
_ENOUGH = 15  # words of one that is to stand by itself
_GAP = 160  # characters between a passage and the next one


@dataclass(frozen=True, slots=True)
class Choice:
    """The facts of the summary and of the body, best first.

    ``part`` gives, for a question in parts, the place of the clause that a fact of the body answers best.
    """

    summary: tuple[Fact, ...]
    body: tuple[Fact, ...]
    part: dict[str, int]


def choice(text: str, facts: Sequence[Fact], known: TermStatistics, summary_words: int, words: int) -> Choice:
    """Choose among ``facts`` for the question ``text``: for the answer ``summary_words``, for the body ``words`` at most."""
    query = parse_question(text, known.language)
    own = _own(facts)
    texts = [ranked_of(fact, query.language) for fact in own]
    strength = scores(query, texts, known)
    ranking = _ranking(strength)
    if query.broad:
        parts = _parts(query, texts, known)
        order = chosen_passages([ranking, *(_ranking(part) for part in parts)], strength, texts, known, words + summary_words)
    else:
        parts = []
        order = _narrow(query, own, ranking, strength, texts, words)
    order = _whole(order, ranking, own)
    summary = _packed(_leading(own, ranking, strength, parts), texts, summary_words)
    body = _packed([place for place in order if place not in summary], texts, words) or order[:1]
    part = {own[place].id: max(range(len(parts)), key=lambda number: parts[number][place]) for place in body} if parts else {}
    return Choice(tuple(own[place] for place in summary), tuple(own[place] for place in body), part)


def ranked_of(fact: Fact, language: str) -> StemmedText:
    """Return a fact as it is ranked."""
    headings = " / ".join(fact.path or ((fact.heading,) if fact.heading else ()))
    return StemmedText.of(
        f"{fact.lead}\n{fact.quote}" if fact.lead else fact.quote, headings, language, opens=fact.opens, page=fact.url
    )


def _own(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, each text once: the same stretch often stands in several documents."""
    found: dict[str, Fact] = {}
    for fact in sorted(facts, key=lambda fact: (fact.url, fact.id)):
        found.setdefault(text_key(fact.quote, fact.heading), fact)
    return list(found.values())


def _ranking(strength: Sequence[float]) -> list[int]:
    return sorted(
        (place for place in range(len(strength)) if strength[place] > 0), key=lambda place: (-round(strength[place], 9), place)
    )


def _parts(query: ParsedQuestion, texts: Sequence[StemmedText], known: TermStatistics) -> list[list[float]]:
    if len(query.clauses) < 2:
        return []
    return [scores(parse_question(clause, query.language), texts, known) for clause in query.clauses]


def _narrow(
    query: ParsedQuestion,
    facts: Sequence[Fact],
    ranking: Sequence[int],
    strength: Sequence[float],
    texts: Sequence[StemmedText],
    words: int,
) -> list[int]:
    """Return the best passages with those around them in their pages, then the others by rank, until they bring nothing."""
    most = min(words, _SHORT if NUMBERS.intersection(query.kinds) else _NARROW)
    worth = [place for place in ranking if strength[place] >= _WORTH * strength[ranking[0]]]
    around = [other for place in ranking[:_READ_ON] for other in (place, *_around(place, facts))]
    return _packed(list(dict.fromkeys([*around, *worth])), texts, most)


def _around(place: int, facts: Sequence[Fact]) -> list[int]:
    """Return the passages right behind and before one in its page, two on each side at most."""
    behind = _chain(place, facts, _follows)
    before = _chain(place, facts, lambda other, fact: _follows(fact, other))
    return [other for pair in zip_longest(behind, before) for other in pair if other is not None]


def _chain(place: int, facts: Sequence[Fact], beside: Callable[[Fact, Fact], bool]) -> list[int]:
    found: list[int] = []
    while len(found) < _EACH_SIDE:
        last = facts[found[-1] if found else place]
        following = [other for other in range(len(facts)) if other != place and other not in found and beside(facts[other], last)]
        if not following:
            break
        found.append(following[0])
    return found


def _leading(
    facts: Sequence[Fact], ranking: Sequence[int], strength: Sequence[float], parts: Sequence[Sequence[float]]
) -> list[int]:
    """Return what the summary is taken from: the best passage of each part, or else the best one and what follows on it."""
    if not ranking:
        return []
    others = [
        place for place in ranking[1:_NEXT] if strength[place] >= _STRONG * strength[ranking[0]] and _says_enough(facts[place])
    ]
    if parts:
        heads = (place for part in parts for place in _ranking(part)[:1])
        return list(dict.fromkeys([*heads, ranking[0], *others]))
    near = (place for place in ranking[1:] if strength[place] >= _RELATED * strength[ranking[0]])
    following = [place for place in near if _follows(facts[place], facts[ranking[0]])]
    return list(dict.fromkeys([ranking[0], *following, *others]))


def _says_enough(fact: Fact) -> bool:
    return len(fact.quote.split()) >= _ENOUGH


def _follows(fact: Fact, before: Fact) -> bool:
    """Tell whether a passage stands right behind another in its page, with a heading between them at most."""
    gap = fact.start - before.start - len(normalised(before.quote))
    return fact.url == before.url and before.start >= 0 and 0 <= gap <= _GAP


def _whole(order: Sequence[int], ranking: Sequence[int], facts: Sequence[Fact]) -> list[int]:
    """Return the order with the passage before one that points back to it; without one that does and is not among the best."""
    found: list[int] = []
    for place in order:
        if points_back(facts[place].quote) and not facts[place].opens:
            before = [other for other in range(len(facts)) if _follows(facts[place], facts[other])]
            if not before and place not in ranking[:_BEST]:
                continue
            found += [other for other in before[:1] if other not in found]
        found += [place] if place not in found else []
    return found


def _packed(order: Sequence[int], texts: Sequence[StemmedText], words: int) -> list[int]:
    """Return what fits into ``words`` words in that order; the first always."""
    taken: list[int] = []
    left = words
    for place in order:
        length = len(texts[place].text.split())
        if not taken or length <= left:
            taken.append(place)
            left -= length
    return taken
