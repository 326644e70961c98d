"""The note of a source across all sessions: the reports that cite it, its quotes, and the versions that were read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote as encoded

from pipeline.text import labels
from pipeline.text.normalise import one_line
from pipeline.text.quotes import find_quote
from pipeline.text.ranking import page_origin
from pipeline.text.words import language_code, split_sentences
from pipeline.vault.model import Card, Quoted, Reading, Source, key_of
from pipeline.vault.note import Note, View, block_id
from pipeline.vault.notes.parts import address_words, best_link, properties_of
from pipeline.vault.output.escaping import (
    Inert,
    address,
    file_address,
    host_of,
    inert,
    plain,
    property_address,
    web_address,
)
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.markdown import claim_beside, flat, is_plain

LONGEST = 240  # characters of a sentence beside a quote
_BESIDE = 800  # characters of the page on each side of a quote
_WORDS = 6  # at each end of a quote that a browser looks for
_NO_SENTENCES = ("#", "|", "`", "- ", "<", "!")  # beginnings of headings, tables, code, items
_UNSAFE = str.maketrans({"-": "%2D"})  # a hyphen has a meaning of its own in a text fragment

Around = Mapping[str, tuple[str, str]]  # by fact id: the sentences before and after its quote


def source_note(
    source: Source, around: Around = MappingProxyType({}), documents: Path | None = None, hidden: Collection[str] = ()
) -> Note:
    """Return the note of a source; ``around`` is what ``around_of`` finds, ``documents`` the folder of the user's documents.

    A quote that several sessions found is not said to be of one whose report is ``hidden``.
    """
    file = _file(source.url, documents)
    by_start = sorted(source.readings, key=lambda one: (one[0].started_at, one[0].id))
    page, origin, first = source.readings[-1][1].page, page_origin(source.url), source.readings[0][1].page
    said = (quote.text for _, reading in source.readings for quote in reading.quotes)
    language = language_code(by_start[0][0].query, *said)
    finds: dict[str, list[tuple[Card, Quoted]]] = {}
    citing: dict[str, list[tuple[Card, Reading]]] = {}  # by question
    for card, reading in [one for one in by_start if one[0].id not in hidden] or by_start:
        for quote in reading.quotes:
            finds.setdefault(quote.fact, []).append((card, quote))
        if reading.number:
            citing.setdefault(card.query_id or card.id, []).append((card, reading))
    latest_first = sorted(finds.values(), key=lambda found: (found[-1][0].started_at, found[-1][0].id), reverse=True)
    quotes = [_quote(source, found, around, language, file) for found in latest_first]
    versions = {digest: number for number, digest in enumerate(dict.fromkeys(one.page.digest for _, one in source.readings), 1)}
    own: dict[str, Property] = {
        "source_url": property_address(source.url),
        "host": host_of(source.url),
        "origin": origin,
        "author": plain(page.author),
        "published": plain(page.published, 40),
        "quotes": len(quotes),
        "cited_by": sum(map(len, citing.values())),
        **({"disputed": sum(bool(quote["disputed"]) for quote in quotes)} if any(card.judged for card, _ in by_start) else {}),
        "versions": len(versions),
    }
    properties = properties_of("source", source.title, own, created=first.at, language=language)
    properties["aliases"] = (plain(source.title), key_of(first))
    elsewhere = page.final_url.rstrip("/") not in {"", source.url.rstrip("/")}
    view = {
        "title": source.title,
        "address": file_address(file, address_words(source.url, language)) if file else _address(source.url, language),
        "final_address": _address(page.final_url, language) if elsewhere else Inert(""),
        "origin": origin,
        "author": page.author,
        "published": page.published,
        "notices": page.notices,
        "missing": page.missing,
        "cited_in": [
            {
                "report": best_link(same[-1][0]),
                "number": same[-1][1].number,
                "quotes": same[-1][1].cited,
                "at": same[-1][0].reported_at,
                "earlier": len(same) - 1,
            }
            for same in citing.values()
        ],
        "quotes": [quote for quote in quotes if quote["cited_in"]],
        "further_quotes": [quote for quote in quotes if not quote["cited_in"]],
        "readings": [
            {
                "at": reading.page.at,
                "version": versions[reading.page.digest],
                "characters": reading.page.characters,
                "session": best_link(card),
            }
            for card, reading in source.readings
        ],
        "versions": len(versions),
        "first_read_at": first.at,
    }
    return Note(source.place.path, "source", properties, view)


def _address(url: str, language: str) -> Inert:
    """A link for a web page; the path for one of the user's documents."""
    return inert(address_words(url, language)) if url.startswith("corpus:") else address(url)


def _file(url: str, documents: Path | None) -> Path | None:
    """The file of one of the user's documents, None for other sources; a path that leaves the folder is none."""
    scheme, _, path = url.partition(":")
    is_inside = path and not path.startswith(("@", "/")) and ".." not in path.split("/") and "\0" not in path
    return documents / path if documents and scheme == "corpus" and is_inside else None


def _quote(
    source: Source,
    finds: list[tuple[Card, Quoted]],
    around: Around,
    language: str,
    file: Path | None,
) -> View:
    """A quote: where it is, whether it is disputed, and by which reports it is cited (of each question the latest)."""
    (_, first), (found_by, latest) = finds[0], finds[-1]
    before, after = around.get(first.fact, ("", ""))
    page = source.readings[-1][1].page
    web = "" if source.url.startswith("corpus:") or "pdf" in page.media_type else web_address(page.final_url or source.url)
    there = f"[{labels.label('in the page', language)}]({web.partition('#')[0]}#{fragment_of(first.text)})" if web else ""
    if file and first.sheet:
        there = file_address(file, labels.label("on page {number}", language, number=str(first.sheet)), first.sheet)
    return {
        "text": first.text,
        "lead": first.lead,
        "is_plain": not first.lead and is_plain(first.text),
        "block": Inert(block_id(first.fact)),
        "heading": first.heading,
        "claim": claim_beside(first.claim, first.text),
        "disputed": latest.disputed,
        "cited_in": tuple(best_link(card) for card in {card.query_id: card for card, quote in finds if quote.cited}.values()),
        "found_for": best_link(found_by),
        "found_at": found_by.started_at,
        "before": before,
        "after": after,
        "there": Inert(there),
        "sheet": first.sheet,
    }


def around_of(source: Source, texts: Callable[[str], str | None]) -> dict[str, tuple[str, str]]:
    """Return the sentences around each cited quote, by fact id, in the version that it was found in.

    ``texts`` returns the stored text of a page by its digest, None if it is no longer stored.
    """
    quotes = {quote.fact: quote for _, reading in reversed(source.readings) for quote in reading.quotes if quote.cited}
    found = {fact: sentences_around(texts(said.digest) or "", said.text) for fact, said in quotes.items()}
    return {fact: around for fact, around in found.items() if any(around)}


def sentences_around(text: str, said: str) -> tuple[str, str]:
    """Return the sentence before a quote and the one after it in a stored page text; "" where there is none, or a heading.

    A quote that is not in the text as it is has no sentences around it.
    """
    start = text.find(said)
    start, end = (start, start + len(said)) if start >= 0 else find_quote(text, said) or (0, len(text))
    if text.count("```", 0, start) % 2:
        return "", ""  # code has no sentences
    head, tail = text[max(0, start - _BESIDE) : start], text[end : end + _BESIDE]
    above, below = head.rstrip().rpartition("\n\n")[2], tail.lstrip().partition("\n\n")[0]
    before = [] if above.lstrip().startswith(_NO_SENTENCES) else split_sentences(above)
    after = [] if below.startswith(_NO_SENTENCES) else split_sentences(below)
    if start > _BESIDE and len(before) == 1 and above == head.rstrip():
        before = []  # its beginning is further up
    return one_line(before[-1], LONGEST) if before else "", one_line(after[0], LONGEST) if after else ""


def fragment_of(said: str) -> str:
    """Return the text fragment that makes a browser scroll to a quote: ``:~:text=first%20words,last%20words``.

    Source: https://wicg.github.io/scroll-to-text-fragment/ (``text=textStart,textEnd``).
    """
    words = flat(said).split()
    ends = [words] if len(words) <= 2 * _WORDS else [words[:_WORDS], words[-_WORDS:]]
    return f":~:text={','.join(encoded(' '.join(end), safe='').translate(_UNSAFE) for end in ends)}" if words else ""
