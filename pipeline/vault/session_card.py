"""``Card`` and ``Reading``: what other notes show of a session, as small immutable values, so that its log is not read again.

A ``Card`` has what other notes show of the whole session; a ``Reading`` what the session took from one source. Both are computed
from the session's state alone, can be stored as JSON, and contain addresses and ids instead of links, because the path of a
source's note depends on all sessions that read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from pipeline.domain import Summary
from pipeline.domain.agenda.progress import counts_of, summary_of
from pipeline.domain.findings import IterationPages, by_model, contradictions, open_gaps, sheet_of, shown_sources
from pipeline.domain.state import PageDone, SessionState, Worker, workers_in_order
from pipeline.domain.values import Contradiction, Fact, Reference, ValidatedFact
from pipeline.text.normalise import slug
from pipeline.vault import paths
from pipeline.vault.mornings.learnt import Learnt, learnt_of
from pipeline.vault.paths import Names, Workers

_SUMMARY = tuple(part.name for part in fields(Summary))
_LINKED = (
    "id", "query", "query_id", "tags", "previous_session", "started_at", "session_path", "report_path", "report_title", "workers",
    "has_report", "disputes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkerCard:
    """A worker's id, the path of the note that shows it, and the name of its perspective.

    ``block``: where it is in the session's note, if it is folded into that; "" if it has a note of its own.
    """

    id: str
    path: str
    name: str
    block: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A source that a report refers to: its address, and with how many quotes."""

    url: str
    quotes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Summary):
    """A session as other notes show it. ``report_path`` is "" without a report; ``report_title`` then is the question.

    A question that its sources do not answer has a note in place of its report, but is not ``answered`` and has no report.
    ``has_report`` and ``disputes`` (sources of the report disagree) are known from the session's outline already.

    ``open`` holds the questions that were left open, ``drawn`` the sources that the report refers to; ``pages``, ``words`` and
    ``disagreements`` are counts.
    """

    reported_at: str = ""
    names: str = "latin"
    session_path: str
    report_path: str
    report_title: str
    has_report: bool = False
    disputes: bool = False
    by_model: bool = True
    workers: tuple[WorkerCard, ...]
    learnt: Learnt | None = None
    open: tuple[str, ...] = ()
    drawn: tuple[Drawn, ...] = ()
    pages: int = 0
    words: int = 0
    disagreements: int = 0

    @property
    def answered(self) -> bool:
        """Tell whether it has a report that answers something."""
        return bool(self.reported_at)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the session's note and its report."""
        return tuple(filter(None, (self.session_path, self.report_path)))

    def worker(self, worker_id: str) -> WorkerCard:
        """Return one of the workers.

        Raises:
            KeyError: the session has no such worker.
        """
        for worker in self.workers:
            if worker.id == worker_id:
                return worker
        raise KeyError(worker_id)


class Brief(NamedTuple):
    """What the home note and the topics need of every session.

    ``tags_json``: the tags as a JSON list; ``reported``: 1 if it has a report that answers something, else 0.
    """

    id: str
    query_id: str
    tags_json: str
    reported: int
    status: str
    reported_at: str
    facts: int
    seconds: float
    usd: float
    tokens: int

    @property
    def tags(self) -> tuple[str, ...]:
        """The session's tags."""
        return tuple(json.loads(self.tags_json)) if self.tags_json != _NONE else ()


_NONE = "[]"


def in_brief(card: Card) -> Brief:
    """Return the brief of a card."""
    return Brief(
        card.id,
        card.query_id,
        json.dumps(card.tags),
        int(card.answered),
        card.status,
        card.reported_at,
        card.facts,
        card.seconds,
        card.charged_usd,
        card.tokens,
    )


@dataclass(frozen=True, slots=True)
class QuoteRef:
    """A fact elsewhere: the address of its source, and its id. ``shown``: the source has a note because of the same session."""

    url: str
    fact: str
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Quoted:
    """A fact that a session took from a source, and the result of cross-checking it; ``lead`` as in ``Fact``.

    ``standing`` is "" if it was not checked. ``sheet`` is the page of a PDF, from 1; 0 for other sources.
    """

    fact: str
    text: str
    claim: str
    heading: str
    digest: str
    standing: str
    support: tuple[QuoteRef, ...]
    against: tuple[QuoteRef, ...]
    cited: bool
    lead: str = ""
    sheet: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What one session learnt from one source. ``number`` is the source's in the report, 0 if it is not cited there.

    ``cited`` counts the quotes cited; ``reported_at`` when the report was finished, or ""; ``workers`` are ids.
    ``shown``: the source has a note because of the session.
    """

    session: str
    page: PageDone
    number: int
    cited: int
    reported_at: str
    workers: tuple[str, ...]
    quotes: tuple[Quoted, ...]
    shown: bool = True


def card_of(state: SessionState, reported_at: str, named: Card) -> Card:
    """Return a session's card, with the paths of its card ``named``; ``reported_at``: when the report was finished, or ""."""
    report = state.report
    return Card(
        **_fields(summary_of(state), _SUMMARY),
        reported_at=reported_at,
        names=state.names,
        session_path=named.session_path,
        report_path=named.report_path,
        report_title=_title(state),
        has_report=report is not None,
        disputes=named.disputes,
        by_model=by_model(state),
        workers=named.workers,
        learnt=learnt_of(state),
        open=_open(state),
        drawn=tuple(Drawn(entry.url, len(entry.facts)) for entry in report.references) if report else (),
        pages=counts_of(state)["pages"],
        words=report.words if report else 0,
        disagreements=len(report.contradictions) if report and by_model(state) else 0,
    )


def named_card(state: SessionState, taken: Names, workers: Workers = "notes") -> Card:
    """Return a session's card with only what links to it need; its names are claimed from ``taken``.

    ``workers``: whether they have notes, or are folded into the session's, as they always are without a model.
    """
    year, own = paths.in_year(state.started_at), workers == "notes" and by_model(state)
    report_path = taken.claim(f"reports/{year}", paths.report_stem(state.query, state.id, state.names), state.id)
    session_path = taken.claim(f"sessions/{year}", paths.session_stem(state.query, state.id, state.names), state.id)
    return Card(
        id=state.id,
        version=state.version,
        query=state.query,
        query_id=state.query_id,
        tags=state.tags,
        previous_session=state.previous_session,
        started_at=state.started_at,
        names=state.names,
        session_path=session_path,
        report_path=report_path if state.report or state.status == "not-found" else "",
        report_title=_title(state),
        has_report=state.report is not None,
        disputes=bool(state.report and state.report.contradictions and by_model(state)),
        by_model=by_model(state),
        workers=tuple(
            _worker_card(state, worker, taken) if own else _folded_card(state, worker, session_path)
            for worker in workers_in_order(state)
        ),
    )


def _title(state: SessionState) -> str:
    return (state.report.title if state.report else "") or state.query


def _fields(value: Summary, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _open(state: SessionState) -> tuple[str, ...]:
    """The open questions; none if the sources do not answer the query, because its parts would not be answered either."""
    if state.status == "not-found":
        return ()
    return tuple(gap.question for gap in (state.report.unknowns if state.report else open_gaps(state)))


def linked(card: Card) -> Card:
    """Return a card with only what links to the session need; all other fields are blank."""
    return Card(**_fields(card, _LINKED))


def _worker_card(state: SessionState, worker: Worker, taken: Names) -> WorkerCard:
    name = state.perspectives[worker.perspective_id].name
    stem = paths.worker_stem(state.query, state.id, name, state.names)
    path = taken.claim(f"workers/{paths.in_month(state.started_at)}", stem, f"{state.id}/{worker.id}")
    return WorkerCard(worker.id, path, name.removeprefix("Gap: "))


def _folded_card(state: SessionState, worker: Worker, session_path: str) -> WorkerCard:
    name = state.perspectives[worker.perspective_id].name
    return WorkerCard(worker.id, session_path, name.removeprefix("Gap: "), f"w-{slug(worker.id)}")


def readings_of(
    state: SessionState, reported_at: str, standings: Mapping[str, ValidatedFact], pages: Mapping[str, Iterable[IterationPages]]
) -> tuple[Reading, ...]:
    """Return a session's readings, one for each page in order; ``standings`` and ``pages`` (by worker) are those of its state."""
    builder = _ReadingBuilder(state, reported_at, standings, pages)
    return tuple(builder.reading_of(page) for page in state.pages.values())


class _ReadingBuilder:
    """A session's findings laid out by source."""

    def __init__(
        self,
        state: SessionState,
        reported_at: str,
        standings: Mapping[str, ValidatedFact],
        pages: Mapping[str, Iterable[IterationPages]],
    ) -> None:
        self._state, self._reported_at, self._standings, self._pages = state, reported_at, standings, pages

    @cached_property
    def _facts(self) -> dict[str, list[Fact]]:
        found: dict[str, list[Fact]] = {}
        for fact in self._state.facts.values():
            found.setdefault(fact.url, []).append(fact)
        return found

    @cached_property
    def _references(self) -> dict[str, Reference]:
        return {entry.url: entry for entry in self._state.report.references} if self._state.report else {}

    @cached_property
    def _shown(self) -> frozenset[str]:
        return shown_sources(self._state)

    @cached_property
    def _pairs(self) -> tuple[Contradiction, ...]:
        return contradictions(self._state) if by_model(self._state) else ()

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """The pages in which each worker found something, by worker id."""
        return {
            worker: {url for one in iterations for url, seen in one.observed.items() if seen.facts}
            for worker, iterations in self._pages.items()
        }

    def reading_of(self, page: PageDone) -> Reading:
        reference = self._references.get(page.url)
        return Reading(
            session=self._state.id,
            page=page,
            number=reference.number if reference else 0,
            cited=len(reference.facts) if reference else 0,
            reported_at=self._reported_at,
            workers=tuple(worker for worker, urls in self._used.items() if page.url in urls),
            quotes=tuple(self._quoted(fact) for fact in self._facts.get(page.url, ())),
            shown=page.url in self._shown,
        )

    def _quoted(self, fact: Fact) -> Quoted:
        entry = self._standings.get(fact.id)
        opponents = (pair.b if pair.a == fact.id else pair.a for pair in self._pairs if fact.id in {pair.a, pair.b})
        reference = self._references.get(fact.url)
        return Quoted(
            fact=fact.id,
            text=fact.quote,
            claim=fact.claim if self._state.bears_claim(fact) else "",
            heading=fact.heading,
            digest=fact.digest,
            standing=entry.standing if entry else "",
            support=self._refs(entry.support if entry else ()),
            against=self._refs(opponents),
            cited=reference is not None and fact.id in reference.facts,
            lead=fact.lead,
            sheet=sheet_of(self._state, fact),
        )

    def _refs(self, facts: Iterable[str]) -> tuple[QuoteRef, ...]:
        known = (self._state.facts[name] for name in dict.fromkeys(facts) if name in self._state.facts)
        return tuple(QuoteRef(fact.url, fact.id, fact.url in self._shown) for fact in known)
