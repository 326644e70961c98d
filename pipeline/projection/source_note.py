"""One source across all studies: who cites it, each quote taken from it, and the versions that were read."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.projection import names
from pipeline.projection.inert import Inert, Link, address, host_of, inert, plain, property_address
from pipeline.projection.library import Citation, Library, Quote, Source, Study
from pipeline.projection.notes import Note
from pipeline.projection.views import (
    address_words,
    best_link,
    night_links,
    present,
    properties_of,
    quote_link,
    session_link,
    worker_link,
)
from pipeline.state import Iteration, workers_in_order
from pipeline.values import SourceQuality


@dataclass(frozen=True, slots=True)
class CitedIn:
    """A report that cites the source: under which number, with how many quotes, and when it was finished."""

    report: Link
    session: Link
    number: int
    quotes: int
    at: str


@dataclass(frozen=True, slots=True)
class QuoteView:
    """A quote with its block id. ``standing`` is corroborated, single or disputed, "" when nobody looked."""

    text: str
    block: Inert
    heading: str
    claim: str
    standing: str
    support: tuple[Link, ...]
    against: tuple[Link, ...]
    cited_in: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ReadFor:
    """A study that read the source, and its workers that took something from it."""

    session: Link
    workers: tuple[Link, ...]


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
    author: str
    published: str
    media_type: str
    score: float
    score_reasons: tuple[str, ...]
    cited_in: tuple[CitedIn, ...]
    read_for: tuple[ReadFor, ...]
    nights: tuple[Link, ...]
    quotes: tuple[QuoteView, ...]
    further_quotes: tuple[QuoteView, ...]
    readings: tuple[Reading, ...]
    versions: int
    first_read_at: str


def source_note(library: Library, source: Source) -> Note:
    """Return the note of a source."""
    page = source.readings[-1][1]
    quality = _quality(source)
    own = present(
        {
            "source_url": property_address(source.url),
            "host": host_of(source.url),
            "author": plain(page.author),
            "published": plain(page.published, 40),
            "quotes": len(source.quotes),
            "cited_by": len(library.citations.get(source.url, ())),
            "versions": len({page.digest for _, page in source.readings}),
            **({"quality": round(quality.score, 3)} if quality else {}),
        }
    )
    properties = properties_of("source", source.title, own, created=source.readings[0][1].at)
    return Note(source.path, "source", properties, _view(library, source, quality))


def _view(library: Library, source: Source, quality: SourceQuality | None) -> SourceView:
    page = source.readings[-1][1]
    cited = library.citations.get(source.url, ())
    quotes = tuple(_quote(library, quote) for quote in source.quotes)
    studies = {study.id: study for study, _ in source.readings}
    nights = {night.path: night for study in studies.values() for night in night_links(library, study)}
    return SourceView(
        title=source.title,
        address=_address(source.url),
        final_address=_address(page.final_url) if page.final_url.rstrip("/") not in {"", source.url.rstrip("/")} else Inert(""),
        place=address_words(source.url),
        author=page.author,
        published=page.published,
        media_type=page.media_type,
        score=quality.score if quality else 0.0,
        score_reasons=quality.reasons if quality else (),
        cited_in=tuple(map(_cited_in, cited)),
        read_for=tuple(_read_for(study, source.url) for study in studies.values()),
        nights=tuple(nights.values()),
        quotes=tuple(quote for quote in quotes if quote.cited_in),
        further_quotes=tuple(quote for quote in quotes if not quote.cited_in),
        readings=_readings(source),
        versions=len({page.digest for _, page in source.readings}),
        first_read_at=source.readings[0][1].at,
    )


def _address(url: str) -> Inert:
    """A link where one may follow it; a document of the reader's own by its path."""
    return inert(address_words(url)) if url.startswith("corpus:") else address(url)


def _quality(source: Source) -> SourceQuality | None:
    """How far the source carried in the latest study that judged it."""
    for study, _ in reversed(source.readings):
        for analysis in reversed(study.state.analyses):
            for entry in analysis.source_quality:
                if entry.url == source.url:
                    return entry
    return None


def _cited_in(entry: Citation) -> CitedIn:
    study = entry.study
    return CitedIn(best_link(study), session_link(study), entry.number, entry.quotes, study.reported_at)


def _quote(library: Library, quote: Quote) -> QuoteView:
    fact = quote.fact
    latest = quote.studies[-1]
    entry = latest.standings.get(fact.id)
    claim = "" if fact.claim.strip() == fact.quote.strip() else fact.claim
    return QuoteView(
        text=fact.quote,
        block=Inert(names.block_id(fact.id)),
        heading=fact.heading,
        claim=claim,
        standing=entry.standing if entry else "",
        support=_quote_links(library, latest, entry.support if entry else ()),
        against=_quote_links(library, latest, _opponents(latest, fact.id)),
        cited_in=_cited_in_latest(quote),
    )


def _cited_in_latest(quote: Quote) -> tuple[Link, ...]:
    """The reports that cite a quote; of a question that was researched again and again, the latest."""
    citing = {study.state.query_id: study for study in quote.studies if quote.fact.id in study.cited_facts}
    return tuple(map(best_link, citing.values()))


def _opponents(study: Study, fact_id: str) -> tuple[str, ...]:
    pairs = study.contradictions
    return tuple(pair.b if pair.a == fact_id else pair.a for pair in pairs if fact_id in {pair.a, pair.b})


def _quote_links(library: Library, study: Study, facts: tuple[str, ...]) -> tuple[Link, ...]:
    known = (study.state.facts[name] for name in dict.fromkeys(facts) if name in study.state.facts)
    return tuple(quote_link(library.sources[fact.url], fact.id) for fact in known)


def _read_for(study: Study, url: str) -> ReadFor:
    workers = [worker for worker in workers_in_order(study.state) if _used(worker.iterations, url)]
    return ReadFor(session_link(study), tuple(worker_link(study, worker.id) for worker in workers))


def _used(iterations: list[Iteration], url: str) -> bool:
    return any(url in step.observed and step.observed[url].facts for step in iterations)


def _readings(source: Source) -> tuple[Reading, ...]:
    versions: dict[str, int] = {}
    for _, page in source.readings:
        versions.setdefault(page.digest, len(versions) + 1)
    return tuple(
        Reading(page.at, versions[page.digest], page.digest[:12], page.characters, best_link(study))
        for study, page in source.readings
    )
