"""Which statements of one page answer the questions: coverage of what is asked, place, and the kind of answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline import terms
from pipeline.questions import Finding, Observation, ObservationQuestion
from pipeline.reasoners.extractive import cues
from pipeline.reasoners.extractive.frames import content
from pipeline.reasoners.extractive.needs import Need, coverage, needs_of, speaks_of
from pipeline.reasoners.extractive.phrases import core
from pipeline.reasoners.extractive.portrait import LONGEST, portrait
from pipeline.reasoners.extractive.reading import Reading, Unit, read

CUT_OFF = 0.3  # below it a statement does not answer
_ANSWERS, _FEWER = 20, 6  # answers taken from a page by the worker that asks the query itself, and by the others
_PART = 6  # what else such a one takes that the page tells, if the question is wide
_SHORTLIST = 80  # statements a question brings into the closer comparison
_FOCUS = 0.06  # bonus for standing where the search pointed
_BEFORE = 0.3  # strength of a term that stands in the sentence before
_TITLE, _WHOLLY = 0.25, 0.3  # strength of a title's term, and what is added when the question asks for all of the title
_REPEATING = 0.45  # what a statement pays for likeness to those already chosen
_CROWDING = 0.04  # what it pays for each one chosen under the same heading
_TELLING = 0.08  # bonus for advice, warnings and definitions when a question is wide


@dataclass(frozen=True, slots=True)
class _Target:
    text: str
    weight: float
    question: str


def observe(question: ObservationQuestion) -> Observation:
    """Return the page's statements that answer the questions, best first, and what else it tells about the query's topic.

    None when it does not speak of them.
    """
    reading = read(question.text)
    main, best = _score_all(reading, question)
    # What the worker's own questions ask for decides what it takes; how far that answers the query, what it is worth.
    itself = question.query in question.perspective.questions
    share = 0.7 if itself else 0.35
    scores = {i: share * main.get(i, 0.0) + (1 - share) * score for i, (score, _) in best.items()}
    chosen = _choose(reading, scores, min(question.limit, _ANSWERS if itself else _FEWER))
    chosen += _besides(chosen, reading, question)[: question.limit - len(chosen)]
    findings = [_finding(reading.units[index], main.get(index, 0.0), *best.get(index, (0.0, ""))) for index in chosen]
    return Observation(findings=tuple(sorted(findings, key=lambda finding: -finding.relevance)))


def _finding(unit: Unit, main: float, best: float, question: str) -> Finding:
    return Finding(claim=unit.text, quote=unit.text, question=question, relevance=round(0.7 * main + 0.3 * best, 4))


def _besides(chosen: Sequence[int], reading: Reading, question: ObservationQuestion) -> list[int]:
    """Return what the page tells about the topic besides the answers; much of it for the worker that asks the query itself."""
    count = LONGEST if question.query in question.perspective.questions else _PART * cues.is_wide(question.query)
    told = portrait(question.text, question.title, question.query, question.perspective.keywords)[:count]
    return [i for i in told if not any(_overlap(reading.units[i], reading.units[other]) for other in chosen)]


def _score_all(reading: Reading, question: ObservationQuestion) -> tuple[dict[int, float], dict[int, tuple[float, str]]]:
    """Return the units' scores for the query, and their best scores with the question that they answer so."""
    title = terms.term_set(question.title)
    main = _scores(reading, question.query, title, question.focus)
    best: dict[int, tuple[float, str]] = {}
    for target in _targets(question):
        found = main if target.text == question.query else _scores(reading, target.text, title, question.focus)
        for index, score in found.items():
            if target.weight * score > best.get(index, (0.0, ""))[0]:
                best[index] = (target.weight * score, target.question)
    return main, {index: score for index, score in best.items() if score[0] >= CUT_OFF}


def _targets(question: ObservationQuestion) -> list[_Target]:
    own = [_Target(_tied(text, question.query), 0.95, text) for text in question.perspective.questions if text != question.query]
    first = question.query if question.query in question.perspective.questions or not own else own[0].text
    searches = [_Target(text, 0.85, first) for text in question.searches if text != question.query]
    return [_Target(question.query, 1.0, first), *own, *searches]


def _tied(text: str, query: str) -> str:
    """Return what a worker asks, with the query's subject where the question leaves that unsaid."""
    asked = content(text)
    return text if terms.term_set(asked) & terms.term_set(query) else f"{asked} {' '.join(core(query)[:3])}"


def _scores(reading: Reading, target: str, title: terms.Terms, focus: tuple[str, ...]) -> dict[int, float]:
    wanted = needs_of(target)
    near = _nearness(reading, wanted, title)
    covered = {
        index: _covered(reading, reading.units[index], wanted, near) for index in _candidates(reading, target, wanted, near)
    }
    ranked = sorted((index for index in covered if covered[index] >= 0.2), key=lambda index: (-covered[index], index))
    return {index: _judged(reading, reading.units[index], covered[index], target, focus) for index in ranked[:_SHORTLIST]}


def _nearness(reading: Reading, wanted: tuple[Need, ...], title: terms.Terms) -> list[dict[str, float]]:
    """Return for each place how strongly what is wanted stands around it, the page's title included."""
    asked = frozenset(term for term, _, _ in wanted)
    strength = _TITLE + _WHOLLY * len(title & asked) / len(title) if title else 0.0
    return [
        {term: max(place.held.get(term, 0.0), strength if term in title else 0.0) for term in asked} for place in reading.places
    ]


def _candidates(reading: Reading, target: str, wanted: tuple[Need, ...], near: Sequence[Mapping[str, float]]) -> list[int]:
    """Return the units that speak of what is wanted; for a wide question also those in places that are about it."""
    spoken = dict.fromkeys(form for need in wanted for form in (need.term, *need.relatives))
    found = {index for term in spoken for index in reading.postings.get(term, ())}
    if cues.is_wide(target):
        about = {place for place, held in enumerate(near) if coverage(wanted, frozenset(), held, reading.rare) >= 0.2}
        found |= {index for index, unit in enumerate(reading.units) if unit.place in about}
    return sorted(found)


def _covered(reading: Reading, unit: Unit, wanted: tuple[Need, ...], near: Sequence[Mapping[str, float]]) -> float:
    around = near[unit.place]
    if unit.before:
        around = {term: max(held, _BEFORE) if term in unit.before else held for term, held in around.items()}
    return coverage(wanted, unit.terms, around, reading.rare) if speaks_of(wanted, unit.terms, around) else 0.0


def _judged(reading: Reading, unit: Unit, covered: float, target: str, focus: tuple[str, ...]) -> float:
    length = len(unit.text.split())
    score = covered * (0.72 + 0.28 * cues.fit(target, unit.text))
    score += _FOCUS * (reading.places[unit.place].anchor in focus and bool(focus))
    score += _TELLING * (cues.is_wide(target) and cues.is_telling(unit.text))
    score -= 0.1 * unit.leans + 0.003 * max(0, length - 28) + 0.02 * max(0, 9 - length)
    return min(1.0, max(0.0, score))


def _choose(reading: Reading, scores: Mapping[int, float], limit: int) -> list[int]:
    """Pick units by score, each paying for its likeness to those picked and for the crowd under its heading."""
    chosen: list[int] = []
    left = sorted(scores, key=lambda index: (-scores[index], index))[: 2 * _SHORTLIST]
    owed = dict.fromkeys(left, 0.0)
    crowd: dict[int, int] = {}
    while left and len(chosen) < limit:
        best = max(
            left, key=lambda index: (scores[index] - owed[index] - _CROWDING * crowd.get(_place(reading, index), 0), -index)
        )
        chosen.append(best)
        crowd[_place(reading, best)] = crowd.get(_place(reading, best), 0) + 1
        left = [index for index in left if not _overlap(reading.units[index], reading.units[best])]
        for index in left:
            likeness = terms.alike(reading.units[index].terms, reading.units[best].terms)
            owed[index] = max(owed[index], _REPEATING * likeness)
    return chosen


def _place(reading: Reading, index: int) -> int:
    return reading.units[index].place


def _overlap(a: Unit, b: Unit) -> bool:
    return a.first <= b.last and b.first <= a.last
