"""The sentences around a quote in its page, and the address that opens a web page at the quote."""

from __future__ import annotations

from urllib.parse import quote

from pipeline.text.normalise import one_line
from pipeline.text.quotes import find_quote
from pipeline.text.sentences import split_sentences
from pipeline.vault.output.page_markdown import flat

LONGEST = 240  # characters of a sentence shown
_READ = 800  # characters of the page on each side of the quote
_WORDS = 6  # at each end of a quote that a browser looks for
_NO_SENTENCES = ("#", "|", "`", "- ", "<", "!")  # beginnings of headings, tables, code, items
_UNSAFE = str.maketrans({"-": "%2D"})  # a hyphen has a meaning of its own in a text fragment


def sentences_around(text: str, said: str) -> tuple[str, str]:
    """Return the sentence before a quote and the one after it in a stored page text; "" where there is none, or a heading.

    A quote that does not stand in the text as it is has no sentences around it.
    """
    start = text.find(said)
    if start < 0:
        span = find_quote(text, said)
        if span is None:
            return "", ""
        start, end = span
    else:
        end = start + len(said)
    return _last(text[max(0, start - _READ) : start], cut=start > _READ), _first(text[end : end + _READ])


def _last(text: str, *, cut: bool) -> str:
    block = text.rstrip().rpartition("\n\n")[2]
    sentences = [] if block.lstrip().startswith(_NO_SENTENCES) else split_sentences(block)
    if not sentences or (cut and len(sentences) == 1 and block == text.rstrip()):
        return ""
    return one_line(sentences[-1], LONGEST)


def _first(text: str) -> str:
    block = text.lstrip().partition("\n\n")[0]
    sentences = [] if block.startswith(_NO_SENTENCES) else split_sentences(block)
    return one_line(sentences[0], LONGEST) if sentences else ""


def fragment_of(said: str) -> str:
    """Return the text fragment that makes a browser scroll to a quote: ``:~:text=first%20words,last%20words``.

    Source: https://wicg.github.io/scroll-to-text-fragment/ (``text=textStart,textEnd``).
    """
    words = flat(said).split()
    if not words:
        return ""
    if len(words) <= 2 * _WORDS:
        return f":~:text={_encoded(words)}"
    return f":~:text={_encoded(words[:_WORDS])},{_encoded(words[-_WORDS:])}"


def _encoded(words: list[str]) -> str:
    return quote(" ".join(words), safe="").translate(_UNSAFE)
