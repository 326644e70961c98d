"""The note of a worker: its questions, rounds with searches and pages, facts, rejected findings, and open questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.domain.findings import by_model
from pipeline.domain.state import Failure, SessionState, Worker
from pipeline.domain.values import Fact, RejectedFact, ValidatedFact
from pipeline.vault.notes.note_parts import (
    address_words,
    linked,
    page_place,
    perspective_name,
    present,
    properties_of,
    quote_link,
    report_link,
    session_language,
    session_link,
    worker_link,
    worker_outcome,
)
from pipeline.vault.output.escaping import Inert, Link, plain
from pipeline.vault.output.note import Note
from pipeline.vault.output.page_markdown import claim_beside, flat, is_plain
from pipeline.vault.vault_model import LoadedSession, VaultModel


@dataclass(frozen=True, slots=True)
class Searched:
    """A search and its number of hits; ``failure`` says why it could not be made, else ""."""

    query: str
    hits: int
    failure: str


@dataclass(frozen=True, slots=True)
class PageSeen:
    """A page that was chosen: its ``page_place`` (its address if it was not read), its facts or the failure."""

    source: Link | str
    place: str
    facts: int
    rejected: int
    failure: str


@dataclass(frozen=True, slots=True)
class Round:
    """One iteration; ``number`` counts from 1. ``verdict`` is None until it was evaluated."""

    number: int
    thought: str
    searches: tuple[Searched, ...]
    pages: tuple[PageSeen, ...]
    verdict: bool | None
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A fact: the claim ("" where it is the quote itself), the quote, its source, its standing in words, and its lead.

    ``is_plain``: the quote is one paragraph.
    """

    claim: str
    quote: str
    source: Link | Inert
    citation: Link | Inert
    heading: str
    standing: str
    lead: str
    is_plain: bool


@dataclass(frozen=True, slots=True)
class FromSource:
    """The facts from one source, in order; ``title`` is the source's. ``has_note``: it has a note, with all these quotes."""

    title: str
    has_note: bool
    source: Link | Inert
    facts: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A finding that does not count, its page, and the reason."""

    claim: str
    quote: str
    reason: str
    source: Link | Inert


@dataclass(frozen=True, slots=True)
class WorkerView:
    """What ``worker.md.j2`` is given. ``block`` as in ``WorkerCard``."""

    title: str
    block: Inert
    query: str
    focus: str
    questions: tuple[str, ...]
    is_gap: bool
    outcome: str
    failed: bool
    under_way: bool
    session: Link
    report: Link | None
    siblings: tuple[Link, ...]
    summary: str
    rounds: tuple[Round, ...]
    facts: tuple[Found, ...]
    by_source: tuple[FromSource, ...]
    rejected: tuple[Rejected, ...]
    gaps: tuple[str, ...]
    started_at: str


def worker_note(model: VaultModel, loaded: LoadedSession, worker: Worker) -> Note:
    """Return the note of one worker."""
    state = loaded.state
    view = state.perspectives[worker.perspective_id]
    own = present(
        {
            "session": linked(session_link(loaded.card)),
            "report": linked(report_link(loaded.card)),
            "perspective": plain(perspective_name(view)),
            "rounds": len(worker.iterations),
            "facts": len(loaded.facts[worker.id]),
        }
    )
    title = f"{perspective_name(view)} — {state.query}"
    status = "ended" if worker.status == "completed" else worker.status
    properties = properties_of(
        "worker", title, own, status=status, topics=state.tags, created=worker.started_at, language=session_language(loaded)
    )
    return Note(loaded.worker_paths[worker.id], "worker", properties, worker_view(model, loaded, worker), key=worker.id)


def worker_view(model: VaultModel, loaded: LoadedSession, worker: Worker) -> WorkerView:
    """Return what is shown of one worker, in a note of its own or in the session's."""
    state = loaded.state
    facts = {fact.id: _found(model, loaded, fact) for fact in loaded.facts[worker.id]}
    view = state.perspectives[worker.perspective_id]
    return WorkerView(
        title=perspective_name(view),
        block=Inert(loaded.card.worker(worker.id).block),
        query=state.query,
        focus=view.focus,
        questions=view.questions,
        is_gap=worker.id.startswith("gap_"),
        outcome=worker_outcome(state, worker),
        failed=worker.status == "failed",
        under_way=worker.status == "running",
        session=session_link(loaded.card),
        report=report_link(loaded.card),
        siblings=tuple(_siblings(loaded, worker)),
        summary="",
        rounds=tuple(_round(model, loaded, worker, number) for number in range(1, len(worker.iterations) + 1)),
        facts=tuple(facts.values()),
        by_source=tuple(_by_source(model, loaded, worker, facts)),
        rejected=tuple(_rejected(model, loaded, worker)),
        gaps=next((step.gaps for step in reversed(worker.iterations) if step.evaluated), ()),
        started_at=worker.started_at,
    )


def _siblings(loaded: LoadedSession, worker: Worker) -> Iterator[Link]:
    for name in loaded.worker_paths:
        if name != worker.id:
            yield worker_link(loaded.card, name)


def _round(model: VaultModel, loaded: LoadedSession, worker: Worker, number: int) -> Round:
    state = loaded.state
    step = worker.iterations[number - 1]
    return Round(
        number,
        step.reasoning,
        tuple(_searched(state, query) for query in step.queries),
        tuple(_page(model, loaded, worker, number, url) for url in loaded.pages[worker.id][number - 1].chosen),
        step.sufficient if step.evaluated else None,
        step.gaps,
    )


def _searched(state: SessionState, query: str) -> Searched:
    done = state.searches.get(query)
    failure = state.failures.get(f"SearchFor:{query}")
    return Searched(query, len(done.hits) if done else 0, "" if done else failure.message if failure else "not made")


def _page(model: VaultModel, loaded: LoadedSession, worker: Worker, number: int, url: str) -> PageSeen:
    state = loaded.state
    observed = loaded.pages[worker.id][number - 1].observed.get(url)
    name = page_place(model, loaded, url) if url in state.pages else url
    failure = _failure_of_page(state, worker, number, url)
    why = "" if observed else failure.message if failure else "not evaluated" if by_model(state) else "read"
    facts, rejected = (len(observed.facts), len(observed.rejected)) if observed else (0, 0)
    return PageSeen(name, address_words(url), facts, rejected, why)


def _failure_of_page(state: SessionState, worker: Worker, number: int, url: str) -> Failure | None:
    if url not in state.pages:
        return state.failures.get(f"Read:{url}")
    return state.failures.get(f"ReadPages:{worker.id}:{number}") or state.failures.get(f"ObservePage:1:{url}")


def _found(model: VaultModel, loaded: LoadedSession, fact: Fact) -> Found:
    claim = claim_beside(fact.claim, fact.quote)
    source = page_place(model, loaded, fact.url)
    citation = quote_link(model.sources[fact.url], fact.id, "in the source") if isinstance(source, Link) else source
    standing = standing_words(loaded.standings.get(fact.id))
    plain_quote = not fact.lead and is_plain(fact.quote)
    return Found(claim, fact.quote, source, citation, fact.heading, standing, fact.lead, plain_quote)


def _by_source(model: VaultModel, loaded: LoadedSession, worker: Worker, found: Mapping[str, Found]) -> Iterator[FromSource]:
    by_url: dict[str, list[Found]] = {}
    for fact in loaded.facts[worker.id]:
        by_url.setdefault(fact.url, []).append(found[fact.id])
    for url, same in by_url.items():
        place = page_place(model, loaded, url)
        yield FromSource(model.sources[url].title, isinstance(place, Link), place, tuple(same))


def standing_words(entry: ValidatedFact | None) -> str:
    """Return in words that another source denies a fact, or ""."""
    return "disputed by another source" if entry and entry.standing == "disputed" else ""


def _rejected(model: VaultModel, loaded: LoadedSession, worker: Worker) -> Iterator[Rejected]:
    for pages in loaded.pages[worker.id]:
        for url, observed in pages.observed.items():
            yield from (_rejection(model, loaded, url, entry) for entry in observed.rejected)


def _rejection(model: VaultModel, loaded: LoadedSession, url: str, entry: RejectedFact) -> Rejected:
    claim = claim_beside(entry.claim, entry.quote)
    quote = flat(entry.quote)
    return Rejected(claim or quote, quote if claim else "", entry.reason, page_place(model, loaded, url))
