"""The note of a source across all sessions: the reports that cite it, its quotes, and the versions that were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.text import labels
from pipeline.text.ranking.rank_fusion import Origin, page_origin
from pipeline.text.words import language_code
from pipeline.vault import paths
from pipeline.vault.citations.citekey import key_of
from pipeline.vault.mornings.quote_context import fragment_of, sentences_around
from pipeline.vault.notes.note_parts import (
    address_words,
    best_link,
    linked,
    night_links,
    present,
    properties_of,
    quote_link,
    session_link,
    without_note,
)
from pipeline.vault.output.escaping import Inert, Link, address, host_of, inert, plain, property_address, web_address
from pipeline.vault.output.note import Note
from pipeline.vault.output.page_markdown import claim_beside, is_plain
from pipeline.vault.session_card import Card, Quoted, QuoteRef
from pipeline.vault.session_card import Reading as Learnt
from pipeline.vault.vault_model import Source, VaultModel


@dataclass(frozen=True, slots=True)
class CitedIn:
    """A report that cites the source: under which number, with how many quotes, and when it was finished.

    Of the reports on one question it is the latest; ``earlier`` counts the others.
    """

    report: Link
    session: Link
    number: int
    quotes: int
    at: str
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class QuoteView:
    """A quote with its block id. ``standing`` is corroborated, single or disputed, "" if it was not checked.

    ``found_in`` are the session that found it first, which began at ``found_at``, and of each question that found it again the
    latest session. ``is_plain``: it is one paragraph; else ``text`` and ``lead`` are a passage in ``page_format``. ``before`` and
    ``after`` are the sentences around a cited quote in its page; ``there`` opens a web page at the quote, "" for other sources.
    ``sheet`` is the page of a PDF, 0 for others.
    """

    text: str
    lead: str
    is_plain: bool
    block: Inert
    heading: str
    claim: str
    standing: str
    support: tuple[Link | Inert, ...]
    against: tuple[Link | Inert, ...]
    cited_in: tuple[Link, ...]
    found_in: tuple[Link, ...]
    found_at: str
    before: str
    after: str
    there: Inert
    sheet: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading. ``version`` counts the differing texts from 1; ``digest`` is the stored text's SHA-256, shortened."""

    at: str
    version: int
    digest: str
    characters: int
    session: Link


@dataclass(frozen=True, slots=True)
class SourceView:
    """What ``source.md.j2`` is given."""

    title: str
    address: Inert
    final_address: Inert
    place: str
    origin: Origin
    author: str
    published: str
    notices: tuple[str, ...]
    missing: str
    media_type: str
    cited_in: tuple[CitedIn, ...]
    nights: tuple[Link, ...]
    quotes: tuple[QuoteView, ...]
    further_quotes: tuple[QuoteView, ...]
    readings: tuple[Reading, ...]
    versions: int
    first_read_at: str


Texts = Callable[[str], str | None]  # the stored text of a page by its digest, None if it is no longer stored
Around = Mapping[str, tuple[str, str]]  # by fact id: the sentences before and after its quote


def source_note(model: VaultModel, source: Source, around: Around = MappingProxyType({})) -> Note:
    """Return the note of a source; ``around`` is what ``around_of`` finds."""
    page, language = source.readings[-1].page, _language(model, source)
    view = _view(model, source, around, language)
    own = present(
        {
            "source_url": property_address(source.url),
            "host": host_of(source.url),
            "origin": page_origin(source.url),
            "author": plain(page.author),
            "published": plain(page.published, 40),
            "quotes": len(view.quotes) + len(view.further_quotes),
            "cited_by": len(view.cited_in) + sum(entry.earlier for entry in view.cited_in),
            "disputed": sum(quote.standing == "disputed" for quote in (*view.quotes, *view.further_quotes)),
            "versions": view.versions,
            "read_for": tuple(linked(session_link(model.by_id[reading.session])) for reading in source.readings),
        }
    )
    properties = properties_of("source", source.title, own, created=source.readings[0].page.at, language=language)
    properties["aliases"] = (plain(source.title), key_of(source.readings))
    return Note(source.place.path, "source", properties, view)


def _language(model: VaultModel, source: Source) -> str:
    """The language of the question for which the source was read first, else of its quotes."""
    first = min((model.by_id[reading.session] for reading in source.readings), key=lambda card: (card.started_at, card.id))
    return language_code(first.query, *(quote.text for reading in source.readings for quote in reading.quotes))


def _view(model: VaultModel, source: Source, around: Around, language: str) -> SourceView:
    page = source.readings[-1].page
    by_start = sorted(source.readings, key=lambda reading: (model.by_id[reading.session].started_at, reading.session))
    quotes = tuple(_quote(model, source, entries, around, language) for entries in _by_fact(by_start).values())
    cards = {reading.session: model.by_id[reading.session] for reading in source.readings}
    nights = {link.path: link for card in cards.values() for link in night_links(model, card, language)}
    return SourceView(
        title=source.title,
        address=_address(source.url, language),
        final_address=_address(page.final_url, language)
        if page.final_url.rstrip("/") not in {"", source.url.rstrip("/")}
        else Inert(""),
        place=address_words(source.url, language),
        origin=page_origin(source.url),
        author=page.author,
        published=page.published,
        notices=page.notices,
        missing=page.missing,
        media_type=page.media_type,
        cited_in=_cited_in(model, by_start),
        nights=tuple(nights.values()),
        quotes=tuple(quote for quote in quotes if quote.cited_in),
        further_quotes=tuple(quote for quote in quotes if not quote.cited_in),
        readings=_readings(model, source),
        versions=len({reading.page.digest for reading in source.readings}),
        first_read_at=source.readings[0].page.at,
    )


def _address(url: str, language: str) -> Inert:
    """A link for a web page; the path for one of the user's documents."""
    return inert(address_words(url, language)) if url.startswith("corpus:") else address(url)


def _cited_in(model: VaultModel, readings: list[Learnt]) -> tuple[CitedIn, ...]:
    """The latest report of each question that cites the source, the questions in the order in which they first did."""
    of_question: dict[str, list[Learnt]] = {}
    for reading in readings:
        if reading.number:
            of_question.setdefault(_question(model, reading), []).append(reading)
    return tuple(_cited(model.by_id[same[-1].session], same[-1], len(same) - 1) for same in of_question.values())


def _cited(card: Card, reading: Learnt, earlier: int) -> CitedIn:
    return CitedIn(best_link(card), session_link(card), reading.number, reading.cited, reading.reported_at, earlier)


def _question(model: VaultModel, reading: Learnt) -> str:
    card = model.by_id[reading.session]
    return card.query_id or card.id


def _by_fact(readings: list[Learnt]) -> dict[str, list[tuple[str, Quoted]]]:
    """Each fact's finds: session ids and the quote as each session judged it, in order of the sessions' start."""
    found: dict[str, list[tuple[str, Quoted]]] = {}
    for reading in readings:
        for quote in reading.quotes:
            found.setdefault(quote.fact, []).append((reading.session, quote))
    return found


def _quote(model: VaultModel, source: Source, finds: list[tuple[str, Quoted]], around: Around, language: str) -> QuoteView:
    first, latest = finds[0][1], finds[-1][1]
    before, after = around.get(first.fact, ("", ""))
    return QuoteView(
        text=first.text,
        lead=first.lead,
        is_plain=not first.lead and is_plain(first.text),
        block=Inert(paths.block_id(first.fact)),
        heading=first.heading,
        claim=claim_beside(first.claim, first.text),
        standing=latest.standing,
        support=_quote_links(model, latest.support),
        against=_quote_links(model, latest.against),
        cited_in=_cited_in_latest(model, finds),
        found_in=_found_in(model, finds),
        found_at=model.by_id[finds[0][0]].started_at,
        before=before,
        after=after,
        there=_there(source, first.text, language),
        sheet=first.sheet,
    )


def _there(source: Source, said: str, language: str) -> Inert:
    """The link that opens a web page at a quote; "" for a document and for what is no page of text."""
    page = source.readings[-1].page
    address = "" if source.url.startswith("corpus:") or "pdf" in page.media_type else web_address(page.final_url or source.url)
    words = labels.label("in the page", language)
    return Inert(f"[{words}]({address.partition('#')[0]}#{fragment_of(said)})") if address else Inert("")


def around_of(source: Source, texts: Texts) -> dict[str, tuple[str, str]]:
    """Return the sentences around each cited quote, by fact id, in the version that it was found in."""
    quotes = {quote.fact: quote for reading in reversed(source.readings) for quote in reading.quotes if quote.cited}
    found = {}
    for fact, said in quotes.items():
        text = texts(said.digest)
        around = sentences_around(text, said.text) if text else ("", "")
        if any(around):
            found[fact] = around
    return found


def _cited_in_latest(model: VaultModel, finds: list[tuple[str, Quoted]]) -> tuple[Link, ...]:
    """The reports that cite a quote; of a question that was researched again and again, the latest."""
    citing = {model.by_id[session].query_id: model.by_id[session] for session, quote in finds if quote.cited}
    return tuple(map(best_link, citing.values()))


def _found_in(model: VaultModel, finds: list[tuple[str, Quoted]]) -> tuple[Link, ...]:
    first, *others = (model.by_id[session] for session, _ in finds)
    again = {card.query_id: card for card in others}
    return (session_link(first), *map(session_link, again.values()))


def _quote_links(model: VaultModel, quotes: tuple[QuoteRef, ...]) -> tuple[Link | Inert, ...]:
    places = ((quote, model.sources[quote.url]) for quote in quotes)
    return tuple(quote_link(at, one.fact) if one.shown else without_note(one.url, at.title) for one, at in places)


def _versions(source: Source) -> dict[str, int]:
    """The number of each differing text by its digest, from 1."""
    digests = dict.fromkeys(reading.page.digest for reading in source.readings)
    return {digest: number for number, digest in enumerate(digests, start=1)}


def _readings(model: VaultModel, source: Source) -> tuple[Reading, ...]:
    versions = _versions(source)
    return tuple(_reading(model, reading, versions[reading.page.digest]) for reading in source.readings)


def _reading(model: VaultModel, reading: Learnt, version: int) -> Reading:
    page = reading.page
    return Reading(page.at, version, page.digest[:12], page.characters, best_link(model.by_id[reading.session]))
