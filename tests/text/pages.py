"""Pages in the stored format, made block by block from words that occur once, so that a test can tell where each went."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from pipeline.text.passages import LARGEST
from pipeline.text.ranking import StemmedText

KINDS = ("paragraph", "item", "row", "code", "heading")


@dataclass(frozen=True)
class Made:
    """A page and the words of its blocks, headings aside."""

    text: str
    words: tuple[str, ...]


def _block(kind: str, words: list[str], every: int) -> str:
    """The block's text; a sentence ends after every so many words."""
    marked = [f"{word}." if (place + 1) % every == 0 else word for place, word in enumerate(words)]
    line = " ".join(marked)
    if kind == "row":
        return "| " + " | ".join(marked) + " |"
    if kind == "code":
        return "```\n" + "\n".join(marked) + "\n```"
    return {"heading": "## ", "item": "- "}.get(kind, "") + line


def _parted(before: str, kind: str) -> str:
    """Items stand together, and so do rows; all other blocks are parted by a blank line."""
    return "\n" if before == kind and kind in ("item", "row") else "\n\n"


def _made(plan: list[tuple[str, int, int]]) -> Made:
    text, before, told, count = "# Title of the page", "heading", [], 0
    for kind, size, every in plan:
        words = [f"Word{number}" for number in range(count, count + size)]
        count += size
        text += _parted(before, kind) + _block(kind, words, every)
        told += words if kind != "heading" else []
        before = kind
    return Made(text + "\n", tuple(told))


def pages(longest_code: int = LARGEST) -> st.SearchStrategy[Made]:
    """Pages of up to 25 blocks of 1 to 300 words; code of at most ``longest_code``."""
    size = st.integers(1, 40) | st.integers(1, 300)
    plan = st.tuples(st.sampled_from(KINDS), size, st.integers(3, 60))
    return st.lists(plan.filter(lambda block: block[0] != "code" or block[1] <= longest_code), max_size=25).map(_made)


def ranked(texts: list[str], headings: str = "", language: str = "english") -> list[StemmedText]:
    return [StemmedText.of(text, headings, language) for text in texts]
