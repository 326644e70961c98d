"""The note of a source across all sessions: the reports that cite it, and its quotes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import quote as encoded

from pipeline.text import translations
from pipeline.text.ranking import page_origin
from pipeline.text.words import language_code
from pipeline.vault.model import Card, Quoted, Reading, key_of
from pipeline.vault.note import OF_PAGE, Note, View, block_id, grouped
from pipeline.vault.notes.parts import address_words, best_link, place_of, properties_of
from pipeline.vault.output.escaping import Inert, file_address, linked_host, plain, property_address, web_address
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.markdown import claim_beside, flat, is_plain

_WORDS = 6  # at each end of a quote that a browser looks for
_UNSAFE = str.maketrans({"-": "%2D"})  # a hyphen has a meaning of its own in a text fragment


def source_note(
    url: str, path: str, readings: Sequence[tuple[Card, Reading]], documents: Path | None = None, hidden: Collection[str] = ()
) -> Note:
    """Return the note of a source; ``readings`` are those of all sessions with their cards, in order of time.

    ``documents`` is the folder of the user's documents. A quote that several sessions found is not said to be of one whose report
    is ``hidden``.
    """
    # One of the user's documents is linked to; a path that leaves their folder is none.
    scheme, _, inside = url.partition(":")
    is_inside = inside and not inside.startswith(("@", "/")) and ".." not in inside.split("/") and "\0" not in inside
    file = documents / inside if documents and scheme == "corpus" and is_inside else None
    by_start = sorted(readings, key=lambda one: (one[0].started_at, one[0].id))
    page, origin, first = readings[-1][1].page, page_origin(url), readings[0][1].page
    title = next((reading.page.title for _, reading in reversed(readings) if reading.page.title.strip()), url)
    web = "" if url.startswith("corpus:") or "pdf" in page.media_type else web_address(page.final_url or url)
    said = (quote.text for _, reading in readings for quote in reading.quotes)
    language = language_code(by_start[0][0].query, *said)
    seen = [one for one in by_start if one[0].id not in hidden] or by_start
    finds = grouped((quote.fact, (card, quote)) for card, reading in seen for quote in reading.quotes)
    citing = grouped((card.query_id or card.id, (card, reading)) for card, reading in seen if reading.number)  # by question
    latest_first = sorted(finds.values(), key=lambda found: (found[-1][0].started_at, found[-1][0].id), reverse=True)

    def quoted(found: Sequence[tuple[Card, Quoted]]) -> View:
        """A quote: where it is, whether it is disputed, and by which reports it is cited (of each question the latest)."""
        (_, first), (found_by, latest) = found[0], found[-1]
        words = translations.label("in the page", language)
        there = f"[{words}]({web.partition('#')[0]}#{fragment_of(first.text)})" if web else ""
        if file and first.sheet:
            there = file_address(file, translations.label("on page {number}", language, number=str(first.sheet)), first.sheet)
        return {
            "text": first.text,
            "lead": first.lead,
            "is_plain": not first.lead and is_plain(first.text),
            "block": Inert(block_id(first.fact)),
            "heading": first.heading,
            "claim": claim_beside(first.claim, first.text),
            "disputed": latest.disputed,
            "cited_in": tuple(best_link(card) for card in {card.query_id: card for card, quote in found if quote.cited}.values()),
            "found_for": best_link(found_by),
            "found_at": found_by.started_at,
            "there": Inert(there),
            "sheet": first.sheet,
        }

    quotes = list(map(quoted, latest_first))
    versions = len({one.page.digest for _, one in readings})
    disputed = sum(bool(quote["disputed"]) for quote in quotes)
    own: dict[str, Property] = {
        "source_url": property_address(url),
        "host": linked_host(url),
        "origin": origin,
        **{name: plain(str(getattr(page, name))) for name in OF_PAGE},
        "quotes": len(quotes),
        "cited_by": sum(map(len, citing.values())),
        **({"disputed": disputed} if disputed else {}),
        "versions": versions,
    }
    properties = properties_of("source", title, own, created=first.at, language=language)
    properties["aliases"] = (plain(title), key_of(first))
    view = {
        "title": title,
        "address": file_address(file, address_words(url, language)) if file else place_of(url, language=language),
        "origin": origin,
        "page": page,
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
        "readings": len(readings),
        "versions": versions,
        "first_read_at": first.at,
    }
    return Note(path, "source", properties, view)


def fragment_of(said: str) -> str:
    """Return the text fragment that makes a browser scroll to a quote: ``:~:text=first%20words,last%20words``.

    Source: https://wicg.github.io/scroll-to-text-fragment/ (``text=textStart,textEnd``).
    """
    words = flat(said).split()
    ends = [words] if len(words) <= 2 * _WORDS else [words[:_WORDS], words[-_WORDS:]]
    return f":~:text={','.join(encoded(' '.join(end), safe='').translate(_UNSAFE) for end in ends)}" if words else ""
