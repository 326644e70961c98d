"""What the server knows of a session: its question, its report as sentences with quotes, its sources. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.domain.findings import nearest_facts, open_gaps, standings
from pipeline.domain.state import SUMMARY, SessionState, cost_of
from pipeline.domain.values import BlockForm, Contradiction, Fact, Paragraph
from pipeline.text.normalise import clean, normalised, one_line
from pipeline.text.ranking.scoring import StemmedText

_LANGUAGE = "english"  # of the stems by which reports are found; other languages are compared by whole words at least


@dataclass(frozen=True, slots=True)
class Quoted:
    """A fact as others may quote it. ``start`` and ``end`` are offsets in characters of the normalised page, -1 if unknown."""

    fact: str
    quote: str
    claim: str
    url: str
    title: str
    digest: str
    standing: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of a report, in which section and form it stands, and the ids of the facts it cites."""

    text: str
    section: str
    form: BlockForm
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A source that a session read; ``seen`` is when."""

    digest: str
    url: str
    title: str
    published: str
    seen: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A session in the library. ``stated`` is empty without a report; ``reason`` then says why there is none."""

    id: str
    version: int
    query: str
    query_id: str
    tags: tuple[str, ...]
    status: str
    started_at: str
    ended_at: str
    previous: str
    title: str
    reason: str
    usd: float
    stated: tuple[Stated, ...] = ()
    facts: dict[str, Quoted] = field(default_factory=dict)
    nearest: tuple[str, ...] = ()
    pages: dict[str, Page] = field(default_factory=dict)
    disagreements: tuple[Contradiction, ...] = ()
    unknowns: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    texts: tuple[tuple[str, StemmedText], ...] = ()

    @property
    def answer(self) -> str:
        """The report's summary, "" without one."""
        return " ".join(one.text for one in self.stated if one.section == SUMMARY)

    def cited(self) -> tuple[str, ...]:
        """Return the ids of the cited facts in order of first citation."""
        return tuple(dict.fromkeys(name for one in self.stated for name in one.facts if name in self.facts))


def entry_of(state: SessionState) -> Entry:
    """Return what others may know of a session."""
    report = state.report
    stated = tuple(_stated(state))
    facts = _facts(state)
    return Entry(
        id=state.id,
        version=state.version,
        query=clean(state.query),
        query_id=state.query_id,
        tags=state.tags,
        status=state.status,
        started_at=state.started_at,
        ended_at=state.ended_at,
        previous=state.previous_session,
        title=clean(report.title if report else state.query),
        reason=one_line(state.end_reason, 500),
        usd=cost_of(state).usd,
        stated=stated,
        facts=facts,
        nearest=tuple(fact.id for fact in nearest_facts(state)),
        pages={
            page.digest: Page(page.digest, page.url, clean(page.title), page.published, page.at) for page in state.pages.values()
        },
        disagreements=report.contradictions if report else (),
        unknowns=tuple(gap.question for gap in (report.unknowns if report else open_gaps(state))),
        limits=report.limits if report else (),
        texts=tuple(_texts(state, stated, facts)),
    )


def _stated(state: SessionState) -> Iterator[Stated]:
    if state.report is None:
        return
    for sentence in state.report.summary:
        yield Stated(clean(sentence.text), SUMMARY, "paragraph", sentence.facts)
    for section in state.report.sections:
        for paragraph in section.paragraphs:
            yield from _of_paragraph(paragraph, clean(section.title))


def _of_paragraph(paragraph: Paragraph, title: str) -> Iterator[Stated]:
    for sentence in paragraph.sentences:
        yield Stated(clean(sentence.text), title, paragraph.form, sentence.facts)


def _facts(state: SessionState) -> dict[str, Quoted]:
    disputed = {name for name, entry in standings(state).items() if entry.standing == "disputed"}
    titles = {page.digest: clean(page.title) for page in state.pages.values()}
    return {
        name: _quoted(state, fact, titles.get(fact.digest, fact.url), "disputed" if name in disputed else "")
        for name, fact in state.facts.items()
    }


def _quoted(state: SessionState, fact: Fact, title: str, standing: str) -> Quoted:
    end = fact.start + len(normalised(fact.quote)) if fact.start >= 0 else -1
    claim = clean(fact.claim) if state.bears_claim(fact) else ""
    return Quoted(fact.id, fact.quote, claim, fact.url, title, fact.digest, standing, fact.start, end)


def _texts(state: SessionState, stated: tuple[Stated, ...], facts: dict[str, Quoted]) -> Iterator[tuple[str, StemmedText]]:
    """Yield what the session can be found by: ``report`` and its sentences, and the digest of a page and its quotes."""
    head = " ".join([state.query, state.report.title if state.report else "", *state.tags])
    yield "report", StemmedText.of(" ".join(one.text for one in stated), head, _LANGUAGE)
    quotes: dict[str, list[str]] = {}
    for fact in facts.values():
        quotes.setdefault(fact.digest, []).append(f"{fact.claim} {fact.quote}")
    for digest, found in quotes.items():
        yield digest, StemmedText.of(" ".join(found), next(f.title for f in facts.values() if f.digest == digest), _LANGUAGE)
