"""The answer in short: the run of a passage's sentences that answers a question best, for a line in a list. Pure.

worth = coverage of the question by the run and the passage's headings + 0.5 · coverage by the run + 0.2 · answer types in the run
− 0.03 for each sentence after the first − 0.3 if the run begins by pointing back ("This …").
The weights were set on 23 narrow questions over two collections of manuals and READMEs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.query_terms import ParsedQuestion
from pipeline.text.ranking.scoring import coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import points_back
from pipeline.text.stemming import stems

_ALONE, _KINDS, _FURTHER, _POINTS_BACK = 0.5, 0.2, 0.03, 0.3
_MOST = 60  # sentences of a passage that are looked at


def answer_run(
    sentences: Sequence[str], headings: str, query: ParsedQuestion, known: TermStatistics, longest: int
) -> Sequence[str]:
    """Return the sentences, one after the other, that answer best, at most ``longest`` characters unless one alone is longer.

    ``headings`` are those above the passage. Of equally good runs it is the first; () for no sentence.
    """
    weights, heads = term_weights(query, known), frozenset(stems(headings, query.language))
    said = [frozenset(stems(sentence, query.language)) for sentence in sentences[:_MOST]]

    def worth(run: range) -> float:
        alone = frozenset[str]().union(*(said[place] for place in run))
        text = " ".join(sentences[place] for place in run)
        covered = coverage(weights, heads | alone) + _ALONE * coverage(weights, alone) + _KINDS * kind_match(query.kinds, text)
        begins = _POINTS_BACK if run.start and points_back(sentences[run.start]) else 0.0
        return round(covered - _FURTHER * (len(run) - 1) - begins, 9)

    best = max(_runs(sentences[:_MOST], longest), key=worth, default=range(0))
    return sentences[best.start : best.stop]


def _runs(sentences: Sequence[str], longest: int) -> Iterator[range]:
    """Yield the places of each run that is short enough, the earlier and shorter first; none ends before what it announces."""
    for start in range(len(sentences)):
        length = 0
        for stop in range(start + 1, len(sentences) + 1):
            length += len(sentences[stop - 1]) + 1
            if length - 1 > longest and stop > start + 1 and not sentences[stop - 2].endswith(":"):
                break
            if stop == len(sentences) or not sentences[stop - 1].endswith(":"):
                yield range(start, stop)
