"""What searching alone is worth: BM25 over windows of 150 words. It shares no code with the program's index."""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable

from pipeline.text.cleaning import normalised
from pipeline.text.passages import blocks

WINDOW_WORDS = 150
PASSAGES = 10
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"\w+")  # runs of letters and digits, lower-cased and not stemmed: the plainest words there are


class Baseline:
    """A BM25 index of the windows of ``texts``, which are in the page format."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._windows: list[str] = []
        self._lengths = array("l")
        self._postings: dict[str, array[int]] = defaultdict(lambda: array("l"))
        for text in texts:
            words = plain_text(text).split()
            for start in range(0, len(words), WINDOW_WORDS):
                self._add(" ".join(words[start : start + WINDOW_WORDS]))
        self._mean = sum(self._lengths) / max(1, len(self._lengths))

    def _add(self, window: str) -> None:
        counts = Counter(_WORD.findall(window.lower()))
        for word, count in counts.items():
            self._postings[word].extend((len(self._windows), count))
        self._windows.append(window)
        self._lengths.append(counts.total())

    def best(self, query: str, limit: int = PASSAGES) -> list[str]:
        """Return the best windows for a question, best first; ties go to the earlier one."""
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(set(_WORD.findall(query.lower()))):
            posting = self._postings.get(word, ())
            holding = len(posting) // 2
            rarity = math.log(1 + (len(self._windows) - holding + 0.5) / (holding + 0.5))
            for place in range(0, len(posting), 2):
                number, count = posting[place], posting[place + 1]
                norm = _K1 * (1 - _B + _B * self._lengths[number] / self._mean)
                scores[number] += rarity * count * (_K1 + 1) / (count + norm)
        chosen = heapq.nsmallest(limit, scores.items(), key=lambda item: (-item[1], item[0]))
        return [self._windows[number] for number, _ in chosen]


def plain_text(text: str) -> str:
    """Return a stored page's normalised text without the marks of headings, items, rows and code."""
    return normalised("\n".join(_plain(block.kind, block.text) for block in blocks(text)))


def _plain(kind: str, text: str) -> str:
    return " ".join(cell.strip() for cell in text.strip("| ").split(" | ")) if kind == "row" else text
