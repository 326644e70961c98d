"""From findings to facts: a quote must be in the page, and the page's own words are stored as the quote."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from pipeline.domain.reasoner_questions import Finding
from pipeline.domain.research_values import Fact, RejectedFact
from pipeline.reasoners.passages import ReadPage
from pipeline.text.cleaning import clean, normalised, one_line
from pipeline.text.model_orders import order_finder
from pipeline.text.passages import blocks
from pipeline.text.quotes import Span, find_quote, holds_quote
from pipeline.text.words import repeated, split_sentences, word_count

MIN_QUOTE_WORDS = 3  # words
_NEARLY = 0.8  # least share of pairs of words, in either direction, that a slip of the copy leaves
_WHOLE_ROW = 400  # characters of a table row that is quoted whole where one of its cells is
_HEADER_WORDS = 8  # of a cell that names a column


def facts_and_rejected(
    found: Sequence[tuple[Finding, float]], page: ReadPage
) -> tuple[tuple[Fact, ...], tuple[RejectedFact, ...]]:
    """Return the facts of a page, each once, and what is none because the page does not say it.

    A finding stands beside its relevance, from 0 to 1; its question is in words.
    """
    if not found:
        return (), ()
    facts: dict[str, Fact] = {}
    rejected: list[RejectedFact] = []
    gives_orders = order_finder(page.text)
    orders = [normalised(block.text) for block in blocks(page.text) if gives_orders(block.text)]
    plain = normalised(page.text)
    places = [_Place(0, "", ()), *_places(page.text, plain)]
    for one, relevance in found:
        own, near = _own_words(one.quote, page)
        if not own:
            own, near = _own_words(_nearly_copied(one.quote, page), page)
            if holds_quote(one.quote, one.claim):  # words that the page does not have
                one = one.model_copy(update={"claim": ""})
        why = "" if own else "its quote is not in the page"
        parts = "".join(sign if sign.isalnum() else " " for sign in own)  # "pg_ctl stop" says as much as three words
        if max(word_count(one.quote), word_count(own), word_count(parts)) < MIN_QUOTE_WORDS:
            why = f"its quote is shorter than {MIN_QUOTE_WORDS} words"
        elif own and any(normalised(own) in block for block in orders):
            why = "it stands in a paragraph that gives orders to language models"
        if why:
            rejected.append(RejectedFact(claim=clean(one.claim or one.quote), quote=clean(one.quote), reason=why))
        else:
            said = normalised(own)
            start = plain.find(said, max(near, 0))
            start = plain.find(said) if start < 0 else start
            marks = len(said) - len(said.lstrip("-|` "))  # a block's start does not include its list or table mark
            place = places[bisect_right(places, start + marks, key=lambda place: place.start) - 1]  # the block in which it begins
            needs_header = own.startswith("| ") and not holds_quote(own, place.header)
            fact = page.fact(
                own,
                place.path,
                claim=one_line(one.claim, 1_000) or one_line(own, 1_000),
                anchor=place.anchor,
                question=one_line(one.question, 400),
                relevance=relevance,
                lead=place.header if needs_header else "",
                start=start,
            )
            if same := facts.get(fact.id):  # what stands in several sections is about each of them
                about = dict.fromkeys(text for text in (*same.claim.split("; "), fact.claim) if text != one_line(own, 1_000))
                fact = same.model_copy(update={"claim": one_line("; ".join(about), 1_000) or same.claim})
            facts[fact.id] = fact
    return tuple(facts.values()), tuple(rejected)


def _own_words(quote: str, page: ReadPage) -> tuple[str, int]:
    """Return the page's own words for a quote, or "", and where in the normalised page they are looked for.

    Of a page that was shown in parts, only these are quoted: the heading of a part that was left out says nothing by itself.
    """
    text = page.text
    quote = clean(quote).strip()
    quote = quote[1:-1] if quote[:1] == quote[-1:] == '"' else quote
    # Where it stands to the letter comes first.
    for start, end in sorted(page.shown or (Span(0, len(text)),), key=lambda span: quote not in text[span.start : span.end]):
        if place := find_quote(text[start:end], quote):
            first, last = start + place.start, start + place.end
            at = text.find(quote, start, end)
            if at >= last and text[at - 1].isspace() and (place := find_quote(text[at:end], quote)):
                first, last = at + place.start, at + place.end  # before it stands one that differs in its signs
            # The signs around its words belong to it where the page has them, as in "> 1000", "# reboot" and "postsuper -d -".
            word = next((place for place in range(first, last) if text[place].isalnum()), first)
            word_end = next((place for place in range(last, word, -1) if text[place - 1].isalnum()), last)
            signs = "".join(takewhile(lambda sign: not sign.isalnum(), quote))
            behind = "".join(takewhile(lambda sign: not sign.isalnum(), reversed(quote)))[::-1]
            if text.startswith(behind, word_end) and not text[word_end + len(behind) :][:1].isalnum():
                last = max(last, word_end + len(behind))
            is_code = text.count("\n```", 0, first) % 2 == 1
            if text.endswith(signs, 0, word) and (is_code or not signs.startswith("#")):
                first = min(first, word - len(signs))
            begin, stop = text.rfind("\n", start, first) + 1 or start, text.find("\n", last, end)
            row = text[begin : stop if stop >= 0 else end].rstrip()
            if row.startswith("| ") and len(row) <= _WHOLE_ROW and last <= begin + len(row) and not is_code:
                first, last = begin, begin + len(row)  # a cell says little without the others
            return text[first:last], max(0, len(normalised(text[:first])) - 1) if page.shown else -1
    return "", -1


def _nearly_copied(quote: str, page: ReadPage) -> str:
    """Return the sentence, list item or table row of what was shown that ``quote`` nearly is, "" if there is none.

    A word that was lost in copying must not lose the fact. What is stored is the page's text, so nothing invented comes in.
    """
    shown = page.shown or (Span(0, len(page.text)),)
    found = (block for start, end in shown for block in blocks(page.text[start:end]) if block.kind not in ("code", "heading"))
    pieces = (piece for block in found for piece in (split_sentences(block.text) if block.kind == "paragraph" else [block.text]))
    alike = ((min(repeated(quote, piece), repeated(piece, quote)), piece) for piece in pieces)
    likeness, best = max(alike, default=(0.0, ""))
    return best if likeness >= _NEARLY else ""


class _Place(NamedTuple):
    """The start of a block in the normalised page, its headings, and its table's header."""

    start: int
    anchor: str
    path: tuple[str, ...]
    header: str = ""


def _places(text: str, plain: str) -> Iterator[_Place]:
    """Yield the places of a page's blocks; ``plain`` is the normalised page."""
    at = 0
    header = kind = ""
    for block in blocks(text):
        if block.kind != "row" or kind != "row":  # the first row names the columns, if no cell of it is a sentence
            names = block.kind == "row" and all(word_count(cell) <= _HEADER_WORDS for cell in block.text.split("|"))
            header = block.text if names else ""
        if (start := plain.find(normalised(block.text), at)) >= 0:
            yield _Place(start, block.anchor, block.path, header)
            at = start + len(normalised(block.text))
        kind = block.kind
