"""The answer to a question in a line: the best run of sentences of a report's first passages, or one for each of its parts. Pure.

A run's worth is that of ``answer_run`` + the score of its passage − 0.05 for each passage before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from pipeline.text.ranking.answers.answer_run import AnswerRun, PassageRuns, SourcePassage
from pipeline.text.ranking.answers.question_parts import question_parts
from pipeline.text.ranking.answers.sentence_kinds import holds_answer, is_historical
from pipeline.text.ranking.answers.sentence_units import leans
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, scores
from pipeline.text.ranking.term_statistics import TermStatistics

BETWEEN = " … "  # between two runs that are not adjacent
_GOES_ON = " …"
_STRENGTH, _RANK = 1.0, 0.05
_SECOND = 0.1  # cost of a second run
_OWN = 1.0  # weight of the words that only one part of the question has
_ON_IT = 0.4  # least share of a part of the question that a run of its own covers
_LOOSE = frozenset(("how-to", "permission", "effect", "name"))  # kinds of answer that many a sentence holds by chance
_TRIED = 12  # best runs for each part of a question that are tried together
_FULL = ".!?:…"


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """An answer on one line, and the indices of the passages that it is from."""

    text: str
    places: tuple[int, ...]


class _Candidate(NamedTuple):
    """A run of the passage at ``place``, with what it is worth for each part of the question, and the share that it covers."""

    place: int
    run: AnswerRun
    worths: tuple[float, ...]
    covered: tuple[float, ...]


_Pair = tuple[_Candidate, _Candidate]


def short_answer(
    passages: Sequence[SourcePassage], query: ParsedQuestion, known: TermStatistics, longest: int
) -> ShortAnswer | None:
    """Return the answer, at most ``longest`` characters unless one sentence alone is longer; None without any.

    Of a question of two parts it is a run for each, or the one that answers both. Where the best run lacks the kind of answer
    that is asked for, one behind it in its passage that holds it follows. Of equally good ones it is the first.
    """
    parts = question_parts(query)
    cut = [PassageRuns(passage, query.language, longest) for passage in passages]
    found = _candidates(passages, cut, parts, known)
    if not found:
        return None
    single = max(found, key=lambda one: round(sum(one.worths), 9))
    pair = _best_pair(found, longest) if len(parts) > 1 else None
    if pair and _worth(pair) - _SECOND > sum(single.worths):
        if whole := cut[pair[0].place].between(pair[0].run, pair[1].run) if pair[0].place == pair[1].place else None:
            return ShortAnswer(_text_of(whole), (pair[0].place,))
        return ShortAnswer(_joined(*_completed(pair, cut, parts)), tuple(dict.fromkeys(one.place for one in pair)))
    other = _completing(single, found, query, longest) if len(parts) == 1 else None
    if other:
        return ShortAnswer(_joined(single, other), (single.place,))
    text = _text_of(cut[single.place].extended(single.run, query))
    term = passages[single.place].term
    return ShortAnswer(f"{term}: {text}" if term and leans(text) and term not in text else text, (single.place,))


def _completed(pair: _Pair, cut: Sequence[PassageRuns], parts: Sequence[ParsedQuestion]) -> _Pair:
    """Return two runs with the sentences after each for which there is room."""
    a, b = pair
    first = a._replace(run=cut[a.place].extended(a.run, parts[0], b.run.length + len(BETWEEN)))
    first = a if _overlap(first, b) else first
    second = b._replace(run=cut[b.place].extended(b.run, parts[1], first.run.length + len(BETWEEN)))
    return first, b if _overlap(first, second) else second


def _completing(best: _Candidate, found: Sequence[_Candidate], query: ParsedQuestion, longest: int) -> _Candidate | None:
    """Return the best run behind the best one in its passage that holds the kind of answer which that lacks; None for none."""
    if not _LOOSE.isdisjoint(query.kinds) or holds_answer(query, _text_of(best.run)):
        return None
    behind = (
        one
        for one in found
        if one.place == best.place
        and one.run.start >= best.run.start + len(best.run.units)
        and best.run.length + len(BETWEEN) + one.run.length <= longest
        and not leans(one.run.units[0].text)
        and not is_historical(query, one.run.units[0].text)
        and holds_answer(query, _text_of(one.run))
    )
    return max(behind, key=lambda one: round(one.worths[0], 9), default=None)


def _candidates(
    passages: Sequence[SourcePassage], cut: Sequence[PassageRuns], parts: Sequence[ParsedQuestion], known: TermStatistics
) -> list[_Candidate]:
    """Return the runs of all passages."""
    language = parts[0].language
    texts = [StemmedText.of(one.quote, one.headings, language, opens=one.opens) for one in passages]
    strengths = [scores(part, texts, known) for part in parts]
    found: list[_Candidate] = []
    for place, one in enumerate(cut):
        of_parts = (_worths(one, part, known, is_part=len(parts) > 1) for part in parts)
        bonus = [_STRENGTH * strength[place] - _RANK * place for strength in strengths]
        covered = zip(*(one.covered(part, known) for part in parts), strict=True)
        for run, worths, shares in zip(one.runs(), zip(*of_parts, strict=True), covered, strict=True):
            found.append(_Candidate(place, run, tuple(map(sum, zip(worths, bonus, strict=True))), shares))
    return found


def _worths(cut: PassageRuns, part: ParsedQuestion, known: TermStatistics, *, is_part: bool) -> list[float]:
    """Return what the runs are worth for a part of the question, where the words that only this part has count more."""
    found = cut.worths(part, known)
    if not is_part:
        return found
    own = parse_question(part.text.partition(" (")[0], part.language)
    return [worth + _OWN * share for worth, share in zip(found, cut.covered(own, known), strict=True)]


def _best_pair(found: Sequence[_Candidate], longest: int) -> _Pair | None:
    """Return the best two runs, one for each part of the question and on it, that fit on the line together; None if no two do.

    One that begins in mid-thought ("Sie wurde …") is only shown behind the other from its own passage.
    """
    on = ([one for one in found if one.covered[part] >= _ON_IT] for part in (0, 1))
    firsts, seconds = (sorted(of, key=lambda one: -round(one.worths[part], 9))[:_TRIED] for part, of in enumerate(on))
    fitting = (
        (a, b)
        for a, b in product(firsts, seconds)
        if a.run.length + len(BETWEEN) + b.run.length <= longest and not _overlap(a, b) and _is_readable(a, b)
    )
    return max(fitting, key=lambda pair: round(_worth(pair), 9), default=None)


def _is_readable(a: _Candidate, b: _Candidate) -> bool:
    if leans(a.run.units[0].text):
        return False
    return (a.place == b.place and a.run.start < b.run.start) or not leans(b.run.units[0].text)


def _worth(pair: _Pair) -> float:
    return pair[0].worths[0] + pair[1].worths[1]


def _overlap(a: _Candidate, b: _Candidate) -> bool:
    """Return whether two runs have a unit or its text in common."""
    return not {one.text for one in a.run.units}.isdisjoint(one.text for one in b.run.units)


def _joined(a: _Candidate, b: _Candidate) -> str:
    """Return two runs on one line, in the order of the question's parts; adjacent ones of a passage without a mark."""
    text, other = _text_of(a.run), _text_of(b.run)
    is_adjacent = a.place == b.place and b.run.start == a.run.start + len(a.run.units)
    return f"{text} {other}" if is_adjacent else f"{text.removesuffix(_GOES_ON)}{BETWEEN}{other}"


def _text_of(run: AnswerRun) -> str:
    """Return a run on one line.

    Behind an item or a row that ends no sentence stands a semicolon, behind the last item shown "…" if the list goes on.
    """
    text = run.units[0].text
    for before, unit in pairwise(run.units):
        is_open = before.kind == unit.kind and unit.kind in ("item", "row") and before.text[-1] not in _FULL
        text = f"{text.rstrip(';,')}; {unit.text}" if is_open else f"{text} {unit.text}"
    return f"{text.rstrip(';,')}{_GOES_ON}" if run.goes_on and len(run.units) > 1 else text.rstrip(";")
