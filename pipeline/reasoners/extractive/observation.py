"""Which statements of one page answer the questions: coverage of what is asked, place, and the kind of answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.questions import Finding, Observation, ObservationQuestion
from pipeline.reasoners.extractive import cues, terms
from pipeline.reasoners.extractive.needs import Need, coverage, needs_of
from pipeline.reasoners.extractive.reading import Reading, Unit, read

CUT_OFF = 0.34  # below it a statement does not answer
_SHORTLIST = 80  # statements a question brings into the closer comparison
_BEFORE = 0.35  # strength of a term that stands in the sentence before


@dataclass(frozen=True, slots=True)
class _Target:
    text: str
    weight: float
    question: str


def observe(question: ObservationQuestion) -> Observation:
    """Return the page's statements that answer the questions, best first; none when it does not speak of them."""
    reading = read(question.text, question.title)
    scores, answered = _score_all(reading, question)
    chosen = _choose(reading, scores, question.limit)
    findings = (
        Finding(claim=unit.text, quote=unit.text, question=answered[index], relevance=round(scores[index], 4))
        for index in chosen
        for unit in (reading.units[index],)
    )
    return Observation(findings=tuple(findings))


def _score_all(reading: Reading, question: ObservationQuestion) -> tuple[dict[int, float], dict[int, str]]:
    main = _scores(reading, question.query, question.focus)
    best: dict[int, float] = {}
    answered: dict[int, str] = {}
    for target in _targets(question):
        found = main if target.text == question.query else _scores(reading, target.text, question.focus)
        for index, score in found.items():
            if target.weight * score > best.get(index, 0.0):
                best[index], answered[index] = target.weight * score, target.question
    blended = {index: 0.55 * max(main.get(index, 0.0), 0.0) + 0.45 * score for index, score in best.items()}
    return {index: score for index, score in blended.items() if best[index] >= CUT_OFF}, answered


def _targets(question: ObservationQuestion) -> list[_Target]:
    own = [_Target(text, 0.95, text) for text in question.perspective.questions if text != question.query]
    first = question.query if question.query in question.perspective.questions or not own else own[0].text
    searches = [_Target(text, 0.85, first) for text in question.searches if text != question.query]
    return [_Target(question.query, 1.0, first), *own, *searches]


def _scores(reading: Reading, target: str, focus: tuple[str, ...]) -> dict[int, float]:
    wanted = needs_of(target)
    spoken = dict.fromkeys(form for need in wanted for form in (need.term, *need.relatives))
    candidates = {index for term in spoken for index in reading.postings.get(term, ())}
    covered = {index: _covered(reading, reading.units[index], wanted) for index in candidates}
    ranked = sorted((index for index in covered if covered[index] >= 0.2), key=lambda index: (-covered[index], index))
    return {index: _judged(reading, reading.units[index], covered[index], target, focus) for index in ranked[:_SHORTLIST]}


def _covered(reading: Reading, unit: Unit, wanted: tuple[Need, ...]) -> float:
    above = reading.places[unit.place].held
    around = {**dict.fromkeys(unit.before, _BEFORE), **above} if unit.before else above
    return coverage(wanted, unit.terms, around, reading.rare)


def _judged(reading: Reading, unit: Unit, covered: float, target: str, focus: tuple[str, ...]) -> float:
    length = len(unit.text.split())
    score = covered * (0.72 + 0.28 * cues.fit(target, unit.text))
    score += 0.06 * (reading.places[unit.place].anchor in focus and bool(focus))
    score += 0.02 * (unit.first < 3)
    score -= 0.1 * unit.leans + 0.003 * max(0, length - 28) + 0.02 * max(0, 9 - length)
    return min(1.0, max(0.0, score))


def _choose(reading: Reading, scores: Mapping[int, float], limit: int) -> list[int]:
    order = sorted(scores, key=lambda index: (-scores[index], index))[:_SHORTLIST]
    picked = terms.spread([scores[i] for i in order], [reading.units[i].terms for i in order], 3 * limit, 0.45)
    chosen: list[int] = []
    for index in (order[place] for place in picked):
        unit = reading.units[index]
        if len(chosen) < limit and not any(_overlap(unit, reading.units[other]) for other in chosen):
            chosen.append(index)
    return sorted(chosen, key=lambda index: (-scores[index], index))


def _overlap(a: Unit, b: Unit) -> bool:
    return a.first <= b.last and b.first <= a.last
