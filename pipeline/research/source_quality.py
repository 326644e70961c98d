"""Source quality: a score from five measures that decides which sources the report may use. Pure.

The measures are 0 to 1. *Relevance*: the mean of the source's three most relevant facts. *Standing*: the share of its facts that
other sources confirm, less those they dispute. *Authority*: a value for its address and author. *Freshness*: its date compared
with the newest source. *Independence*: lower if its quotes occur word for word in another source, because one copied the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.domain.findings import origin_of
from pipeline.domain.memory.values import OriginRecord, Recalled
from pipeline.domain.state import PageDone
from pipeline.domain.values import Fact, SourceQuality, ValidatedFact
from pipeline.text.normalise import counted, normalised

WEIGHTS = {"relevance": 0.35, "standing": 0.25, "authority": 0.15, "freshness": 0.1, "independence": 0.15}
EARLIER = 0.1  # what memory may add or take, between the worst and the best record
ADMITTED_FROM = 0.3
_TRUSTED = re.compile(r"(^|\.)(edu|gov|mil|int|ac\.[a-z]{2}|gov\.[a-z]{2}|wikipedia\.org|arxiv\.org|doi\.org)$")
_HOST = re.compile(r"https?://([^/:]+)")
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\b")
_STALE_YEARS = 10  # a source this much older than the newest one has no freshness left
_UNKNOWN = 0.5


@dataclass(frozen=True, slots=True)
class _Weighing:
    """The data shared by all measures; ``copies`` counts the facts that have the same quote."""

    facts: Mapping[str, list[Fact]]
    standings: Mapping[str, str]
    newest: int | None
    copies: Counter[str]
    records: Mapping[str, OriginRecord]


def source_quality(
    facts: Sequence[Fact],
    validated: Sequence[ValidatedFact],
    pages: Mapping[str, PageDone],
    recalled: Recalled | None = None,
) -> tuple[SourceQuality, ...]:
    """Return each source's score (0 to 1), the reasons in words, and whether it is admitted, in order of first fact.

    What earlier nights found at an origin adds or takes at most ``EARLIER / 2``. The best source is always admitted, because a
    report from one weak source is better than none.
    """
    by_page: dict[str, list[Fact]] = {}
    for fact in facts:
        by_page.setdefault(fact.url, []).append(fact)
    years = [year for url in by_page if (year := _year(pages.get(url))) is not None]
    copies = Counter(normalised(fact.quote) for found in by_page.values() for fact in found)
    standings = {entry.fact_id: entry.standing for entry in validated}
    records = {record.origin: record for record in recalled.origins} if recalled else {}
    weighing = _Weighing(by_page, standings, max(years, default=None), copies, records)
    weighed = [_quality(url, pages.get(url), weighing) for url in by_page]
    best = max((entry.score for entry in weighed), default=0.0)
    return tuple(entry.model_copy(update={"admitted": True}) if entry.score == best else entry for entry in weighed)


def _quality(url: str, page: PageDone | None, weighing: _Weighing) -> SourceQuality:
    facts = weighing.facts[url]
    measures = {
        "relevance": _relevance(facts),
        "standing": _standing(facts, weighing),
        "authority": _authority(url, page),
        "freshness": _freshness(page, weighing),
        "independence": _independence(facts, weighing),
    }
    score = sum(WEIGHTS[name] * value for name, (value, _) in measures.items())
    if record := weighing.records.get(origin_of(url)):
        measures["record"] = _record(record)
        score = min(1.0, max(0.0, score + EARLIER * (measures["record"][0] - _UNKNOWN)))
    score = round(score, 4)
    reasons = tuple(f"{name} {value:.2f}: {why}" for name, (value, why) in measures.items() if why)
    return SourceQuality(url=url, score=score, reasons=reasons, admitted=score >= ADMITTED_FROM)


def _record(record: OriginRecord) -> tuple[float, str]:
    """Laplace's rule of succession: one fact more or less tells little."""
    why = f"{record.cited} of its {counted(record.facts, 'fact')} of earlier nights cited"
    return (record.cited + 1) / (max(record.facts, record.cited) + 2), why


def _relevance(facts: Sequence[Fact]) -> tuple[float, str]:
    best = sorted((fact.relevance for fact in facts), reverse=True)[:3]
    return sum(best) / len(best), "its most relevant statements"


def _standing(facts: Sequence[Fact], weighing: _Weighing) -> tuple[float, str]:
    counts = Counter(weighing.standings.get(fact.id, "single") for fact in facts)
    confirmed, disputed = counts["corroborated"], counts["disputed"]
    why = f"{confirmed} of {counted(len(facts), 'fact')} confirmed by other sources" + (
        f", {disputed} disputed" if disputed else ""
    )
    return 0.5 + 0.5 * (confirmed - disputed) / len(facts), why


def _authority(url: str, page: PageDone | None) -> tuple[float, str]:
    found = _HOST.match(url)
    if found is None:
        return 0.7, "a document of your own"
    if _TRUSTED.search(found[1].lower()):
        return 0.9, "a public or scholarly address"
    signed = bool(page and page.author)
    return (0.6, "signed by an author") if signed else (0.4, "no author is named")


def _freshness(page: PageDone | None, weighing: _Weighing) -> tuple[float, str]:
    year = _year(page)
    if year is None or weighing.newest is None:
        return _UNKNOWN, "undated"
    return max(0.0, 1 - (weighing.newest - year) / _STALE_YEARS), f"from {year}; the newest source is from {weighing.newest}"


def _year(page: PageDone | None) -> int | None:
    found = _YEAR.search(page.published) if page else None
    return int(found[1]) if found else None


def _independence(facts: Sequence[Fact], weighing: _Weighing) -> tuple[float, str]:
    shared = sum(weighing.copies[normalised(fact.quote)] > 1 for fact in facts)
    if not shared:
        return 1.0, ""
    return 1 - shared / len(facts), f"{shared} of {counted(len(facts), 'quote')} word for word in another source"
