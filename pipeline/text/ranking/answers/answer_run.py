"""The runs of a passage's sentences, and what each is worth as the answer to a question in short. Pure.

worth = coverage of the question by the run and the passage's headings + 0.5 · coverage by the run + 0.4 · answer types in the run
+ 0.15 · coverage by its first words + 0.15 · coverage by the headings if it opens their section − 0.03 for each further sentence
− what speaks against the run: it begins in mid-thought, it is an example, a pointer, a label, the head of a licence, code or too
long, it tells of the past and the question does not, or it denies a word of the question. The weights were set on 111 narrow
questions over eight collections of documents, and the last two rules on 87 questions over nine more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.text.ranking.answers.sentence_kinds import denies, holds_answer, is_historical
from pipeline.text.ranking.answers.sentence_units import (
    Unit,
    is_boilerplate,
    is_condition,
    is_example,
    is_fragment,
    is_label,
    is_pointer,
    leans,
    units_of,
)
from pipeline.text.ranking.query_terms import ParsedQuestion
from pipeline.text.ranking.scoring import coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import stems

_ALONE, _KINDS, _FURTHER, _ITEM, _FIRST, _OPENS = 0.5, 0.4, 0.03, 0.005, 0.15, 0.15
_LEANS, _MID_LIST, _EXAMPLE, _POINTER, _LABEL, _BOILERPLATE, _CODE, _CUT = 0.2, 0.2, 0.35, 0.3, 0.4, 0.6, 0.3, 0.15
_FRAGMENT, _CONDITION, _SHORT, _PAST = 0.3, 0.1, 0.3, 0.3
_DENIED = 0.3
_FIRST_WORDS = 8
_ENOUGH = 6  # words; a shorter text says too little alone
_LONGEST_LEAD = 160  # characters
_NAME = re.compile(r"(?=.*[=()<_-])\S{2,40}(?: [=<\[]\S{1,20})?")
NO_RUN = -2.0  # less than any run is worth


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage with the title and headings above it. ``opens``: it is the first of its section.

    ``lead`` is the line that introduces its list, or another line above it that it needs; "" for none.
    """

    quote: str
    headings: str
    opens: bool = False
    lead: str = ""

    @property
    def term(self) -> str:
        """The name that the passage defines, an option or a call above it; "" for none."""
        is_heading = bool(self.lead) and self.headings.endswith(self.lead)
        return self.lead if is_heading and _NAME.fullmatch(self.lead) else ""


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """Adjacent units of a passage, from the place ``start`` on. ``goes_on``: the list that they end in has further items."""

    units: tuple[Unit, ...]
    start: int
    goes_on: bool = False

    @property
    def length(self) -> int:
        """The number of characters on one line."""
        return sum(len(one.text) + 1 for one in self.units) - 1


class PassageRuns:
    """The runs of one passage, with what each is worth for a question or for a part of it."""

    def __init__(self, passage: SourcePassage, language: str, longest: int) -> None:
        """Prepare a passage; a run has at most ``longest`` characters unless one unit alone has more."""
        self._units = _with_lead(units_of(passage.quote), passage.lead)
        self._opens, self._longest, self._language = passage.opens, longest, language
        self._heads = frozenset(stems(f"{passage.headings} / {passage.lead}", language))
        self._said = [frozenset(() if is_pointer(one.text) else stems(one.text, language)) for one in self._units]
        named = list(_run_in_headings(self._units))
        self._above = [self._heads.union(self._said[place]) for place in named]
        self._below = {place for place, above in enumerate(named) if above == place - 1}  # places directly below such a heading
        self._first = [frozenset(stems(" ".join(one.text.split()[:_FIRST_WORDS]), language)) for one in self._units]
        self._spans = tuple(_spans(self._units, longest))

    def runs(self) -> list[AnswerRun]:
        """Return the runs, the earlier and shorter first."""
        return [self._run(span) for span in self._spans]

    def worths(self, query: ParsedQuestion, known: TermStatistics) -> list[float]:
        """Return what each of ``runs`` is worth for the question."""
        weights = term_weights(query, known)
        opening = _OPENS * coverage(weights, self._heads) if self._opens else 0.0
        past = {place for place, one in enumerate(self._units) if is_historical(query, one.text)}
        found = []
        for span in self._spans:
            alone = frozenset[str]().union(*(self._said[place] for place in span))
            text = " ".join(self._units[place].text for place in span)
            now = " ".join(self._units[place].text for place in span if place not in past)
            worth = coverage(weights, self._above[span.start] | alone) + _ALONE * coverage(weights, alone)
            worth += _KINDS * holds_answer(query, now) + _FIRST * coverage(weights, self._first[span.start])
            worth += (0.0 if span.start else opening) - _PAST * len(past.intersection(span))
            found.append(round(worth - _length(self._units, span) - self._against(query, span, text), 9))
        return found

    def covered(self, query: ParsedQuestion, known: TermStatistics) -> list[float]:
        """Return the share, 0 to 1, of the question's words that each of ``runs`` contains together with what is above it."""
        weights = term_weights(query, known)
        return [coverage(weights, self._above[span.start].union(*(self._said[place] for place in span))) for span in self._spans]

    def extended(self, run: AnswerRun, query: ParsedQuestion, taken: int = 0) -> AnswerRun:
        """Return a run with the sentences after it in its paragraph or list for which there is room: they often complete it.

        ``taken`` characters of the room are not free. What tells of the past is no part of an answer on the present.
        """
        stop, length = run.start + len(run.units), run.length + taken
        while stop < len(self._units) and _continues(self._units[stop - 1], self._units[stop]):
            length += len(self._units[stop].text) + 1
            if length > self._longest or is_historical(query, self._units[stop].text):
                break
            stop += 1
        return self._run(range(run.start, stop))

    def between(self, a: AnswerRun, b: AnswerRun) -> AnswerRun | None:
        """Return the run from the beginning of one to the end of the other, or into the other; None if there is no room."""
        first, second = sorted((a, b), key=lambda run: run.start)
        whole = (self._run(range(first.start, stop)) for stop in range(second.start + len(second.units), second.start, -1))
        return next((run for run in whole if run.length <= self._longest), None)

    def _run(self, span: range) -> AnswerRun:
        units = self._units[span.start : span.stop]
        goes_on = span.stop < len(self._units) and units[-1].kind == "item" == self._units[span.stop].kind
        return AnswerRun(units, span.start, goes_on)

    def _against(self, query: ParsedQuestion, span: range, text: str) -> float:
        """Return the sum of what speaks against a run."""
        first = self._units[span.start]
        faults = (
            (_LEANS, leans(first.text)),
            (_MID_LIST, span.start > 0 and first.kind == "item" and _is_announced(self._units, span.start)),
            (_EXAMPLE, is_example(first.text)),
            (_CONDITION, is_condition(first.text) and not is_condition(query.text) and "effect" not in query.kinds),
            (_POINTER, is_pointer(first.text)),
            (_LABEL, is_label(first)),
            (_LABEL, len(span) == 1 and span.stop in self._below),
            (_FRAGMENT, is_fragment(first)),
            (_SHORT, len(text.split()) < _ENOUGH),
            (_DENIED, denies(query, text)),
            (_BOILERPLATE, is_boilerplate(text)),
            (_CODE, first.kind == "code" and "name" not in query.kinds),
            (_CUT, len(text) > self._longest),
        )
        return sum(weight for weight, holds in faults if holds)


def best_worth(passage: SourcePassage, query: ParsedQuestion, known: TermStatistics, longest: int) -> float:
    """Return what the best run of a passage is worth; less than any run for a passage without one."""
    return max(PassageRuns(passage, query.language, longest).worths(query, known), default=NO_RUN)


def _continues(before: Unit, unit: Unit) -> bool:
    """Return whether a unit goes on with the paragraph or list of the one before it and announces nothing."""
    return not unit.announces and (unit.block == before.block or unit.kind == "item" == before.kind)


def _with_lead(units: tuple[Unit, ...], lead: str) -> tuple[Unit, ...]:
    """Return the units of a list behind the line that introduces it, if that is short."""
    plain = " ".join(lead.split())
    if units and units[0].kind == "item" and plain.endswith(":") and len(plain) <= _LONGEST_LEAD:
        return (Unit(plain, "sentence", -1), *units)
    return units


def _run_in_headings(units: Sequence[Unit]) -> Iterator[int]:
    """Yield for each unit the place of what names its subject: a short first one of its block ("Disclaimer."), or itself."""
    first = 0
    for place, unit in enumerate(units):
        first = first if place and unit.block == units[first].block else place
        yield first if len(units[first].text.split()) < _ENOUGH else place


def _length(units: Sequence[Unit], span: range) -> float:
    """Return the cost of the further units; the items of a list that the run announces cost nothing."""
    announced = len(span) > 1 and units[span.start].announces
    return sum(-_ITEM if announced and units[place].kind in ("item", "row") else _FURTHER for place in span[1:])


def _is_announced(units: Sequence[Unit], start: int) -> bool:
    """Return whether the items from the first of a list to ``start`` follow a line that announces them."""
    while start and units[start].kind == "item":
        start -= 1
    return units[start].announces


def _spans(units: Sequence[Unit], longest: int) -> Iterator[range]:
    """Yield the places of each run that is short enough, the earlier and shorter first; none ends before what it announces."""
    for start in range(len(units)):
        length = 0
        for stop in range(start + 1, len(units) + 1):
            length += len(units[stop - 1].text) + 1
            if length - 1 > longest and stop > start + 1 and not units[stop - 2].announces:
                break
            if stop == len(units) or not units[stop - 1].announces:
                yield range(start, stop)
