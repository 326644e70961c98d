"""From findings to facts: a quote must be in the page, and the page's own words are stored as the quote."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from pipeline.domain.reasoner_questions import Finding, ObservationQuestion
from pipeline.domain.values import NOT_IN_PAGE, Fact, RejectedFact
from pipeline.text.normalise import clean, digest_of, holds_quote, normalised, one_line
from pipeline.text.page_format import blocks
from pipeline.text.quotes import find_quote
from pipeline.text.words import word_count

MIN_QUOTE_WORDS = 3  # words


def facts_and_rejected(
    findings: tuple[Finding, ...], question: ObservationQuestion, digest: str
) -> tuple[tuple[Fact, ...], tuple[RejectedFact, ...]]:
    """Return the facts of the page with that ``digest``, each once, and the findings that are none."""
    facts: dict[str, Fact] = {}
    rejected: list[RejectedFact] = []
    for finding in findings:
        if why := why_rejected(finding, question.text):
            rejected.append(RejectedFact(claim=clean(finding.claim), quote=clean(finding.quote), reason=why))
        else:
            fact = _fact_from(finding, question, digest)
            facts.setdefault(fact.id, fact)
    return tuple(facts.values()), tuple(rejected)


def why_rejected(finding: Finding, text: str) -> str:
    """Return why a finding is rejected as a fact of the page ``text``, or ""."""
    if not finding.claim.strip():
        return "its claim is empty"
    if max(word_count(finding.quote), word_count(_own_words(finding, text))) < MIN_QUOTE_WORDS:
        return f"its quote is shorter than {MIN_QUOTE_WORDS} words"
    if finding.lead.strip() and normalised(clean(finding.lead)) not in _normalised_page(text):
        return "the header or introduction of its quote is not in the page"
    return "" if _own_words(finding, text) else NOT_IN_PAGE


def _own_words(finding: Finding, text: str) -> str:
    """Return the page's own words for a finding's quote, or "". A reasoner that knows their offset has cut them from the page."""
    if finding.near >= 0 and normalised(clean(finding.quote)) in _normalised_page(text):
        return _verbatim(finding.quote, text)
    found = find_quote(text, clean(finding.quote))
    return text[found.start : found.end] if found else ""


@lru_cache(maxsize=64)
def _normalised_page(text: str) -> str:
    return normalised(text)


class _Place(NamedTuple):
    """The start of a block in the normalised page, its headings, and whether it directly follows one (``opens``)."""

    start: int
    anchor: str
    path: tuple[str, ...]
    opens: bool = False
    header: str = ""


@lru_cache(maxsize=64)
def _places(text: str) -> tuple[_Place, ...]:
    page = _normalised_page(text)
    found: list[_Place] = []
    at = 0
    opens, header, kind = True, "", ""
    for block in blocks(text):
        header = "" if block.kind != "row" else header if kind == "row" else block.text
        if block.kind != "heading" and (start := page.find(normalised(block.text), at)) >= 0:
            found.append(_Place(start, block.anchor, block.path, opens, header))
            at = start + len(normalised(block.text))
        opens, kind = block.kind == "heading", block.kind
    return tuple(found)


def _place_of(quote: str, text: str, near: int) -> _Place:
    """Return the start of a normalised quote, with the anchor and headings of the block in which it begins."""
    page = _normalised_page(text)
    start = near if page.startswith(quote, max(near, 0)) and near >= 0 else page.find(quote)
    marks = len(quote) - len(quote.lstrip("-|` "))  # a block's start does not include its list or table mark
    places = _places(text)
    at = bisect_right(places, start + marks, key=lambda place: place.start) - 1
    if at < 0:
        return _Place(start, "", ())
    return places[at]._replace(start=start, opens=places[at].opens and start <= places[at].start)


def _fact_from(finding: Finding, question: ObservationQuestion, digest: str) -> Fact:
    own = _own_words(finding, question.text)
    quote = normalised(own)
    place = _place_of(quote, question.text, finding.near)
    return Fact(
        id=digest_of(f"{quote}\n{question.url}".encode())[:12],
        claim=one_line(finding.claim, 1_000),
        quote=own,
        url=question.url,
        digest=digest,
        anchor=place.anchor,
        heading=one_line(place.path[-1]) if len(place.path) > 1 else "",
        question=one_line(finding.question, 400),
        relevance=round(min(1.0, max(0.0, finding.relevance)), 4),
        path=tuple(one_line(name) for name in place.path) or (one_line(question.title),),
        lead=one_line(finding.lead, 1_000) or _header_of(own, place, finding.near),
        start=place.start,
        opens=place.opens,
        cosine=finding.cosine,
    )


def _header_of(quote: str, place: _Place, near: int) -> str:
    """Return the table header that a quoted row needs, unless the reasoner gave the place and thus the lead itself."""
    is_row = quote.startswith("| ") and near < 0
    return place.header if is_row and not holds_quote(quote, place.header) else ""


def _verbatim(quote: str, text: str) -> str:
    """Return a quote with the page's line breaks; if it differs, with its own lines for items, rows and code, else joined."""
    if clean(quote).strip() in text:
        return clean(quote).strip()
    lines = [line.rstrip() for line in clean(quote).strip().split("\n")]
    if any(line.startswith(("- ", "| ", "```")) for line in lines):
        return "\n".join(lines)
    return (
        " ".join(" ".join(lines).split())
        if "" not in lines
        else "\n\n".join(" ".join(part.split()) for part in "\n".join(lines).split("\n\n"))
    )
