"""``Card`` and ``Reading``: what other notes show of a session, as small immutable values, so that its log is not read again.

A ``Card`` has what other notes show of the whole session; a ``Reading`` what the session took from one source. Both are computed
from the session's state alone, can be stored as JSON, and contain addresses and ids instead of links, because the path of a
source's note depends on all sessions that read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

from pipeline.domain import Summary
from pipeline.domain.agenda.progress import counts_of, summary_of
from pipeline.domain.findings import all_facts, all_pages, by_model, contradictions, open_gaps, sheet_of, shown_sources, standings
from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.values import Contradiction, Fact, PageDone, Reference
from pipeline.text.normalise import slug
from pipeline.vault import paths
from pipeline.vault.mornings.learnt import Learnt, learnt_of
from pipeline.vault.paths import Names, Workers

_LINKED = (
    "id", "query", "query_id", "tags", "previous_session", "started_at", "session_path", "report_path", "report_title", "workers",
    "has_report", "disputes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that a session read: address, time, title, digest of its text, and whether the session's result leads to it.

    ``learnt`` is a digest of what the session took from it.
    """

    url: str
    at: str
    title: str
    digest: str
    shown: bool
    learnt: str


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
    ``disagreements`` are counts. ``read`` are the pages that it read, in order. Until the names of all notes are known, the paths
    are those that its notes would have alone.
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
    read: tuple[PageRead, ...] = ()

    @property
    def has_note(self) -> bool:
        """Tell whether it has a report, or a note in its place."""
        return self.has_report or self.status == "not-found"

    @property
    def answered(self) -> bool:
        """Tell whether it has a report that answers something."""
        return bool(self.reported_at)

    def worker(self, worker_id: str) -> WorkerCard:
        """Return one of the workers.

        Raises:
            KeyError: the session has no such worker.
        """
        for worker in self.workers:
            if worker.id == worker_id:
                return worker
        raise KeyError(worker_id)


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


def card_of(state: SessionState, reported_at: str, readings: Iterable[tuple[Reading, str]], workers: Workers = "notes") -> Card:
    """Return a session's card. ``reported_at``: when the report was finished, or ""; ``readings`` with their digests.

    ``workers``: whether they have notes, or are folded into the session's, as they always are without a model.
    """
    report, year = state.report, paths.in_year(state.started_at)
    own = workers == "notes" and by_model(state)
    summary = summary_of(state)
    return Card(
        **{part.name: getattr(summary, part.name) for part in fields(Summary)},
        reported_at=reported_at,
        names=state.names,
        session_path=f"sessions/{year}/{paths.session_stem(state.query, state.id, state.names)}",
        report_path=f"reports/{year}/{paths.report_stem(state.query, state.id, state.names)}",
        report_title=_title(state),
        has_report=report is not None,
        disputes=bool(report and report.contradictions and by_model(state)),
        by_model=by_model(state),
        workers=tuple(_worker_card(state, worker, own) for worker in workers_in_order(state)),
        learnt=learnt_of(state),
        open=_open(state),
        drawn=tuple(Drawn(entry.url, len(entry.facts)) for entry in report.references) if report else (),
        pages=counts_of(state)["pages"],
        words=report.words if report else 0,
        disagreements=len(report.contradictions) if report and by_model(state) else 0,
        read=tuple(
            PageRead(one.page.url, one.page.at, one.page.title, one.page.digest, one.shown, digest) for one, digest in readings
        ),
    )


def named(card: Card, taken: Names) -> Card:
    """Return a card with the paths that its notes have beside all others; the names are claimed from ``taken``."""
    report_path, session_path = taken.claim(card.report_path, card.id), taken.claim(card.session_path, card.id)
    workers = (
        replace(one, path=session_path if one.block else taken.claim(one.path, f"{card.id}/{one.id}")) for one in card.workers
    )
    return replace(card, session_path=session_path, report_path=report_path if card.has_note else "", workers=tuple(workers))


def _title(state: SessionState) -> str:
    return (state.report.title if state.report else "") or state.query


def _open(state: SessionState) -> tuple[str, ...]:
    """The open questions; none if the sources do not answer the query, because its parts would not be answered either."""
    if state.status == "not-found":
        return ()
    return tuple(gap.question for gap in (state.report.unknowns if state.report else open_gaps(state)))


def linked(card: Card) -> Card:
    """Return a card with only what links to the session need; all other fields are blank."""
    return Card(**{name: getattr(card, name) for name in _LINKED})


def _worker_card(state: SessionState, worker: Worker, own: bool) -> WorkerCard:
    """``own``: the worker has a note of its own, else it is in the session's."""
    name = state.perspectives[worker.perspective_id].name
    stem = paths.worker_stem(state.query, state.id, name, state.names)
    path = f"workers/{paths.in_month(state.started_at)}/{stem}" if own else ""
    return WorkerCard(worker.id, path, name.removeprefix("Gap: "), "" if own else f"w-{slug(worker.id)}")


def readings_of(state: SessionState, reported_at: str) -> tuple[Reading, ...]:
    """Return a session's readings, one for each page in order."""
    builder = _ReadingBuilder(state, reported_at)
    return tuple(builder.reading_of(page) for page in state.pages.values())


class _ReadingBuilder:
    """A session's findings laid out by source."""

    def __init__(self, state: SessionState, reported_at: str) -> None:
        self._state, self._reported_at = state, reported_at
        self._pages = all_pages(state)
        self._standings = standings(state, (fact.id for fact in all_facts(state))) if by_model(state) else {}

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
