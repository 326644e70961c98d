"""The note of a report: summary, disagreements, cited sections, open questions, limits, references; or why nothing was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.domain.agenda.progress import counts_of
from pipeline.domain.findings import by_model, nearest_facts
from pipeline.domain.state import (
    GIVES_ORDERS,
    OUTCOME_WORDS,
    Report,
    SessionState,
    cost_of,
    outcome_of,
    workers_in_order,
    working_seconds,
)
from pipeline.domain.values import CutSentence
from pipeline.text import labels
from pipeline.text.ranking.rank_fusion import Origin, page_origin
from pipeline.vault.notes.activity import models
from pipeline.vault.notes.asked_since import AskedRow, asked_rows
from pipeline.vault.notes.note_parts import (
    Block,
    Citer,
    Disagreement,
    Open,
    Said,
    address_words,
    archived,
    best_link,
    last_night,
    linked,
    night_links,
    open_questions,
    present,
    properties_of,
    reasoner_words,
    session_language,
    session_link,
    shown_status,
    source_link,
    topic_links,
    worker_link,
)
from pipeline.vault.notes.queue_snippet import queue_lines
from pipeline.vault.notes.whats_new import Since, since
from pipeline.vault.output.escaping import Inert, Link, inert, plain
from pipeline.vault.output.note import Note
from pipeline.vault.output.prose import prose
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import LoadedSession, VaultModel

MOST = 12  # earlier answers that a report lists


@dataclass(frozen=True, slots=True)
class Part:
    """A section: title and paragraphs of cited sentences, or of whole passages."""

    title: str
    paragraphs: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why a question has no answer, and the passages that come nearest. ``own``: only the user's documents were searched."""

    reason: str
    nearest: tuple[Said, ...]
    query_id: str
    own: bool


@dataclass(frozen=True, slots=True)
class Referred:
    """One entry of the references. ``place`` is the host, or the document's path; ``origin`` is ``own`` or ``web``.

    ``gives_orders``: the page contains orders to language models.
    """

    number: int
    source: Link
    place: str
    quotes: int
    origin: Origin
    gives_orders: bool


@dataclass(frozen=True, slots=True)
class ReportView:
    """What ``report.md.j2`` is given."""

    title: str
    heading: str
    query: str
    since: Since | None
    not_found: NotFound | None
    summary: tuple[Said, ...]
    sections: tuple[Part, ...]
    disagreements: tuple[Disagreement, ...]
    unknowns: tuple[Open, ...]
    to_ask: tuple[Inert, ...]
    cut: tuple[CutSentence, ...]
    limits: tuple[str, ...]
    more_places: tuple[Link | Inert, ...]
    outcome: str
    references: tuple[Referred, ...]
    own_sources: int
    web_sources: int
    session: Link
    topics: tuple[Link, ...]
    workers: tuple[Link, ...]
    nights: tuple[Link, ...]
    earlier: Link | None
    later: Link | None
    disputed_later: Link | None
    earlier_answers: tuple[Link, ...]
    more_earlier: int
    asked: tuple[AskedRow, ...]
    reported_at: str
    reasoner: str
    models: tuple[str, ...]
    search: tuple[str, ...]
    seconds: float
    usd: float
    unknown_usd: float
    likely_usd: float
    tokens: int
    events: int
    facts: int
    pages: int
    words: int
    derived: bool


_OWN = ("local",)  # the search services if only the user's documents are searched
_EMPTY = Report("", (), (), (), (), (), (), 0, 0)


def report_note(model: VaultModel, loaded: LoadedSession, report: Report = _EMPTY) -> Note:
    """Return the note of a session's report; without one, the note of a question that its sources do not answer."""
    state, language = loaded.state, session_language(loaded)
    own = present(
        {
            "query": plain(state.query, 1_000),
            "session": linked(session_link(loaded.card)),
            "night": last_night(model, loaded),
            "previous": linked(_earlier(model, loaded)),
            "superseded_by": linked(_later(model, loaded)) if report is not _EMPTY else "",
            "sources": len(report.references),
            "facts": counts_of(state)["facts"],
            "words": report.words,
            "disagreements": len(report.contradictions) if by_model(state) else 0,
            **({"changes": _changes(state)} if state.changes else {}),
            **({"earlier_reports": count} if (count := len(_earlier_reports(model, loaded))) else {}),
            "open_questions": len(report.unknowns),
            "cost_usd": round(cost_of(state).charged_usd, 6),
            "duration_s": working_seconds(state),
            **archived(model, loaded),
        }
    )
    properties = properties_of(
        "report",
        loaded.card.report_title,
        own,
        status=shown_status(state),
        topics=state.tags,
        created=loaded.card.reported_at or state.ended_at,
        language=language,
    )
    return Note(loaded.card.report_path, "report", properties, _view(model, loaded, report, language))


def _view(model: VaultModel, loaded: LoadedSession, report: Report, language: str) -> ReportView:
    state = loaded.state
    citer = Citer(model, loaded)
    is_passages = any(part.kind == "passages" for section in report.sections for part in section.paragraphs)
    shown: Callable[[str], str] = inert if is_passages or not report.sections else prose  # quotes are shown without marks
    parts = tuple(Part(shown(section.title), citer.paragraphs(section.paragraphs)) for section in report.sections)
    disagreements = citer.disagreements(report.contradictions) if by_model(state) else ()
    unknowns = open_questions(report.unknowns)
    limits = _limits(state, report)
    counts, cost = counts_of(state), cost_of(state)
    before, newer = _earlier_reports(model, loaded), _later(model, loaded)
    origins = [page_origin(entry.url) for entry in report.references]
    return ReportView(
        title=report.title or state.query,
        heading=shown(report.title or state.query),
        query=state.query,
        since=since(model, loaded),
        not_found=_not_found(loaded, citer),
        summary=citer.passages(report.summary) if is_passages else tuple(map(citer.sentence, report.summary)),
        sections=parts,
        disagreements=disagreements,
        unknowns=unknowns,
        to_ask=queue_lines((gap.question for gap in report.unknowns), state.tags),
        cut=report.cut_sentences,
        limits=limits,
        more_places=citer.places(fact for fact in state.more_places if fact.url in state.pages),
        outcome=OUTCOME_WORDS.get(outcome_of(state), ""),
        references=_references(model, state, report, language),
        own_sources=origins.count("own"),
        web_sources=origins.count("web"),
        session=session_link(loaded.card, labels.label("how this was researched", language)),
        topics=topic_links(state.tags),
        workers=tuple(worker_link(loaded.card, worker.id) for worker in workers_in_order(state)),
        nights=night_links(model, loaded.card, language),
        earlier=_earlier(model, loaded),
        later=newer,
        disputed_later=_disputed_later(model, loaded, language),
        earlier_answers=() if newer else tuple(_dated_link(card, language) for card in before[:MOST]),
        more_earlier=0 if newer else max(0, len(before) - MOST),
        asked=asked_rows(model, loaded.asked, {url: model.sources[url] for url in loaded.shown_sources}),
        reported_at=loaded.card.reported_at or state.ended_at,
        reasoner=reasoner_words(state, language),
        models=models(loaded.events, state.config.reasoner),
        search=state.config.search,
        seconds=working_seconds(state),
        usd=cost.charged_usd,
        unknown_usd=cost.assumed_usd,
        likely_usd=cost.expected_usd,
        tokens=state.spent.total_tokens,
        events=state.version,
        facts=counts["facts"],
        pages=len(state.observed) or counts["pages"],
        words=report.words,
        derived=_has_derived(report),
    )


def _changes(state: SessionState) -> int:
    """How many facts are new, changed or gone since the report before."""
    found = state.changes
    return len(found.added) + len(found.changed) + len(found.gone) if found else 0


def _has_derived(report: Report) -> bool:
    body = (sentence for section in report.sections for paragraph in section.paragraphs for sentence in paragraph.sentences)
    return any(sentence.basis == "derived" for sentence in (*report.summary, *body))


def _not_found(loaded: LoadedSession, citer: Citer) -> NotFound | None:
    state = loaded.state
    if state.status != "not-found":
        return None
    return NotFound(state.end_reason, citer.nearest(nearest_facts(state)), state.query_id, state.config.search == _OWN)


def _limits(state: SessionState, report: Report) -> tuple[str, ...]:
    found = list(report.limits)
    if report.cut and not report.cut_sentences:  # a log of an earlier version only counts them
        cut = labels.count(report.cut, "sentence")
        rest = "was cut, because its quotes do" if report.cut == 1 else "were cut, because their quotes do"
        found.append(f"{cut} of the draft {rest} not support {'it' if report.cut == 1 else 'them'}.")
    if ordering := [entry.number for entry in report.references if _gives_orders(state, entry.url)]:
        sources = "Source" if len(ordering) == 1 else "Each of the sources"
        named = ", ".join(map(str, ordering))
        found.append(f"{sources} {named} contains orders to language models, which may be meant to mislead. Check what it says.")
    return tuple(found)


def _gives_orders(state: SessionState, url: str) -> bool:
    page = state.pages.get(url)
    return page is not None and GIVES_ORDERS in page.notices


def _references(model: VaultModel, state: SessionState, report: Report, language: str) -> tuple[Referred, ...]:
    return tuple(
        Referred(
            entry.number,
            source_link(model.sources[entry.url]),
            address_words(entry.url, language),
            len(entry.facts),
            page_origin(entry.url),
            _gives_orders(state, entry.url),
        )
        for entry in report.references
    )


def _earlier(model: VaultModel, loaded: LoadedSession) -> Link | None:
    before = model.by_id.get(loaded.state.previous_session)
    return best_link(before) if before else None


def _earlier_reports(model: VaultModel, loaded: LoadedSession) -> list[Card]:
    """The reports on the same question that this one follows, the latest first."""
    passed: dict[str, Card] = {}
    name = loaded.state.previous_session
    while name not in passed and (card := model.by_id.get(name)):
        passed[name] = card
        name = card.previous_session
    return [card for card in passed.values() if card.has_report and card.query_id == loaded.card.query_id]


def _dated_link(card: Card, language: str) -> Link:
    return Link(best_link(card).path, labels.day(card.started_at, language))


def _later(model: VaultModel, loaded: LoadedSession) -> Link | None:
    """The next report on the question; a session without a report takes the place of none."""
    after = model.followers.get(loaded.card.id)
    return best_link(after) if after and after.has_report else None


def _disputed_later(model: VaultModel, loaded: LoadedSession, language: str) -> Link | None:
    """The first later report on the question in which sources disagree, shown as its day; None if this report has that too."""
    after: Card | None = loaded.card
    while after and not after.disputes:
        after = model.followers.get(after.id)
    found = after if after and after.id != loaded.card.id else None
    return _dated_link(found, language) if found else None
