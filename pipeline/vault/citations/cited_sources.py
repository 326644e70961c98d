"""``cited_sources``: what the reports cite, as the vault's catalogue knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.text.normalise import one_line
from pipeline.vault.citations.citekey import citekey, key_of
from pipeline.vault.kept import stored_readings
from pipeline.vault.output.page_markdown import flat
from pipeline.vault.session_card import Reading
from pipeline.vault.values import readings_from

_LONG_TAIL = 12


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote that a report cites: the fact's id, its words, the heading above it, or "", and the page of a PDF, or 0."""

    fact: str
    text: str
    heading: str
    sheet: int = 0


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of reports. ``number`` is its number in the session's report, 0 for the sources of all reports.

    ``published`` is as the page says it, ``accessed`` when it was last read for a report (RFC 3339). ``url`` is an address, or
    ``corpus:`` and the path of one of the user's documents.
    """

    key: str
    url: str
    title: str
    author: str
    published: str
    accessed: str
    media_type: str
    number: int
    quotes: tuple[CitedQuote, ...]


def cited_sources(state_dir: Path, session: str = "") -> tuple[CitedSource, ...]:
    """Return the sources that a session's report cites, in their order there; without ``session`` those of all reports, by key.

    ``state_dir`` holds the vault's catalogue; the vault must be up to date.
    """
    by_url: dict[str, list[Reading]] = {}
    for reading in sorted(readings_from(stored_readings(state_dir, session)), key=lambda one: (one.page.at, one.session)):
        by_url.setdefault(reading.page.url, []).append(reading)
    found = [source for readings in by_url.values() if (source := _cited(readings, session))]
    return tuple(sorted(_told_apart(found), key=lambda source: (source.number, source.key)))


def _cited(readings: Sequence[Reading], session: str) -> CitedSource | None:
    """A source from all its readings, in order of time; None if no report in question cites it."""
    citing = [reading for reading in readings if reading.number and session in ("", reading.session)]
    if not citing:
        return None
    first, page = readings[0].page, citing[-1].page
    quotes = {quote.fact: quote for reading in citing for quote in reading.quotes if quote.cited}
    return CitedSource(
        key_of(readings),
        page.url,
        one_line(page.title, 500) or one_line(first.title, 500) or page.url,
        one_line(page.author, 500),
        one_line(page.published, 40),
        page.at,
        page.media_type,
        citing[-1].number if session else 0,
        tuple(CitedQuote(quote.fact, flat(quote.text), one_line(quote.heading, 200), quote.sheet) for quote in quotes.values()),
    )


def _told_apart(sources: list[CitedSource]) -> list[CitedSource]:
    """Sources whose keys happen to be equal get longer ones."""
    shared = {key for key, count in Counter(source.key for source in sources).items() if count > 1}
    return [replace(source, key=_longer(source)) if source.key in shared else source for source in sources]


def _longer(source: CitedSource) -> str:
    tail = citekey(source.url, tail=_LONG_TAIL).rpartition("-")[2]
    return f"{source.key.rpartition('-')[0]}-{tail}"
