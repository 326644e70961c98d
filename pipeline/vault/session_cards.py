"""``Card``: the one summary value of a session, with all that other notes show of it, so that its log is not read again.

It has the session's paths, the answer in short, what changed, what is disputed; and a ``Reading`` for each source, with what the
session took from it. It is computed from the session's state alone, is stored as JSON, and has addresses and ids instead of
links, because the path of a source's note depends on all sessions that read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from pipeline.domain.agenda import summary_of
from pipeline.domain.events.session_events import PageRead
from pipeline.domain.findings import by_model, contradictions, disputed_facts, news_of, open_gaps, sheet_of, shown_sources
from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.summary import Summary
from pipeline.domain.values import Changes, Contradiction, Fact, Sentence, SourceChange
from pipeline.errors import GONE
from pipeline.text.normalise import one_line, slug
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences
from pipeline.vault import paths
from pipeline.vault.output.numbers_and_times import superscript
from pipeline.vault.output.page_markdown import flat, statement
from pipeline.vault.paths import Names, Workers

LONGEST_ANSWER, LONGEST_SIDE = 320, 200  # characters
_SHORT = 50  # characters of a sentence that says too little alone: "It depends." is followed by the next
_MOST_NEWS = 2  # new facts that a digest shows; the rest is counted


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation in a report: the source's address, the fact's id, and the sign shown, e.g. ``²ᵃ``; "" for the source's title."""

    url: str
    fact: str
    sign: str


@dataclass(frozen=True, slots=True)
class CitedText:
    """A sentence of a report with its citations. ``prose``: written, not a quoted passage."""

    text: str
    cites: tuple[Cite, ...]
    prose: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """What changed since the report before, which was finished at ``since``: the first new facts, and counts of all.

    ``lost`` are the paths of documents that the report before cites and that were deleted or moved since.
    """

    since: str
    first: tuple[str, ...] = ()
    added: int = 0
    changed: int = 0
    gone: int = 0
    lost: tuple[str, ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether no fact is new, changed or gone."""
        return not (self.added or self.changed or self.gone)


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
class QuoteRef:
    """A fact elsewhere: the address of its source, and its id. ``shown``: the source has a note because of the same session."""

    url: str
    fact: str
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Quoted:
    """A fact that a session took from a source; ``lead`` as in ``Fact``, ``against`` are the facts that deny it.

    ``answers``: the answer of the session's report rests on it.
    ``sheet`` is the page of a PDF, from 1; 0 for other sources.
    """

    fact: str
    text: str
    claim: str
    heading: str
    digest: str
    disputed: bool
    against: tuple[QuoteRef, ...]
    cited: bool
    lead: str = ""
    sheet: int = 0
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What one session learnt from one source. ``number`` is the source's in the report, 0 if it is not cited there.

    ``shown``: the source has a note because of the session.
    """

    page: PageRead
    number: int
    quotes: tuple[Quoted, ...]
    shown: bool = True

    @property
    def cited(self) -> int:
        """The number of quotes that the report cites."""
        return sum(quote.cited for quote in self.quotes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Summary):
    """A session as other notes show it. ``report_path`` is "" without a report; ``report_title`` then is the question.

    ``judged``: a model has read its pages.
    A question that its sources do not answer has a note in place of its report, but is not ``answered`` and has no report.
    ``answer`` is the report's first sentence that says enough, ``disputed`` whether a source denies it, ``dispute`` has two
    statements that cannot both be true, ``news`` is what changed (None for the first report on a question), ``open`` the
    questions left open, ``cited`` the addresses of the report's sources. ``read`` are the pages that the session read, in order,
    ``compared`` the addresses of the sources of the session ``compared_with`` of which this one says something.
    Until the names of all notes are known, the paths are those that its notes would have alone.
    """

    reported_at: str = ""
    judged: bool = False
    names: str = "latin"
    session_path: str
    report_path: str
    report_title: str
    has_report: bool = False
    workers: tuple[WorkerCard, ...]
    answer: CitedText | None = None
    disputed: bool = False
    dispute: tuple[CitedText, CitedText] | None = None
    disagreements: int = 0
    news: News | None = None
    open: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    read: tuple[Reading, ...] = ()
    compared: tuple[str, ...] = ()
    compared_with: str = ""

    @property
    def has_note(self) -> bool:
        """Tell whether it has a report, or a note in its place."""
        return self.has_report or self.status == "not-found"

    @property
    def answered(self) -> bool:
        """Tell whether it has a report that answers something."""
        return bool(self.reported_at)


def card_of(state: SessionState, reported_at: str = "", workers: Workers = "notes") -> Card:
    """Return a session's card. ``reported_at``: when the report was finished, or "".

    ``workers``: whether they have notes, or are folded into the session's, as they always are without a model.
    """
    report, summary, judged = state.report, summary_of(state), by_model(state)
    named_by = (state.query, state.id, state.started_at, state.names)
    pairs = report.contradictions if report and judged else ()
    answer, facts = _answer(state, report.summary) if report and report.summary else (None, ())
    found = state.changes
    unknowns = () if state.status == "not-found" else report.unknowns if report else open_gaps(state)
    return Card(
        **{part.name: getattr(summary, part.name) for part in fields(Summary)},
        reported_at=reported_at,
        judged=judged,
        names=state.names,
        session_path=paths.session_path(*named_by),
        report_path=paths.report_path(*named_by),
        report_title=(report.title if report else "") or state.query,
        has_report=report is not None,
        workers=tuple(_worker_card(state, worker, own=workers == "notes" and judged) for worker in workers_in_order(state)),
        answer=answer,
        disputed=not disputed_facts(state).isdisjoint(facts),
        dispute=_dispute(state, pairs),
        disagreements=len(pairs),
        news=_news(state) if report else None,
        open=tuple(gap.question for gap in unknowns),
        cited=tuple(entry.url for entry in report.references) if report else (),
        read=_readings(state),
        compared_with=found.session if found else "",
        compared=_compared(found) if found else (),
    )


def _compared(found: Changes) -> tuple[str, ...]:
    return tuple(sorted({*(fact.url for fact in found.gone), *(source.url for source in (*found.sources, *found.unread))}))


def named(card: Card, taken: Names) -> Card:
    """Return a card with the paths that its notes have beside all others; the names are claimed from ``taken``."""
    report_path, session_path = taken.claim(card.report_path, card.id), taken.claim(card.session_path, card.id)
    workers = (
        replace(one, path=session_path if one.block else taken.claim(one.path, f"{card.id}/{one.id}")) for one in card.workers
    )
    return replace(card, session_path=session_path, report_path=report_path if card.has_note else "", workers=tuple(workers))


def _worker_card(state: SessionState, worker: Worker, *, own: bool) -> WorkerCard:
    """``own``: the worker has a note of its own, else it is in the session's."""
    name = state.perspectives[worker.perspective_id].name
    path = paths.worker_path(state.query, state.id, state.started_at, name, state.names) if own else ""
    return WorkerCard(worker.id, path, name.removeprefix("Gap: "), "" if own else f"w-{slug(worker.id)}")


def _answer(state: SessionState, summary: Sequence[Sentence]) -> tuple[CitedText, list[str]]:
    """Return the answer of a summary of at least one sentence, and the facts that it cites.

    Of written text it is the first sentence that says enough by itself; without a model the beginning of the best passage.
    """
    first = next((sentence for sentence in summary if sentence.facts), summary[0])  # what cites nothing answers nothing
    facts = [name for name in dict.fromkeys(first.facts) if name in state.facts]
    numbers = numbers_of(state)
    cites = tuple(Cite(state.facts[name].url, name, sign) for name, sign in signs(state, facts, numbers))
    sections = state.report.sections if state.report else ()
    if not any(paragraph.kind == "prose" for section in sections for paragraph in section.paragraphs):
        heading = state.facts[facts[0]].heading if facts and first.text.lstrip().startswith("|") else ""  # rows alone say little
        return CitedText(one_line(heading or flat(first.text), LONGEST_ANSWER), cites), facts
    said, *others = split_sentences(" ".join(first.text.split())) or [first.text]
    while others and (len(said) < _SHORT or said.endswith(":")):
        said = f"{said} {others.pop(0)}"
    return CitedText(one_line(said, LONGEST_ANSWER), cites, prose=True), facts


def numbers_of(state: SessionState) -> dict[str, int]:
    """Return the number that the report gives to each source, by address."""
    return {reference.url: reference.number for reference in state.report.references} if state.report else {}


def signs(state: SessionState, facts: Sequence[str], numbers: dict[str, int]) -> list[tuple[str, str]]:
    """Return known facts with the signs that cite them, "" for a source without a number; quotes of one source have letters."""
    found = [numbers.get(state.facts[name].url, 0) for name in facts]
    places = [found[:place].count(number) if found.count(number) > 1 else -1 for place, number in enumerate(found)]
    return [
        (name, superscript(number, place) if number else "") for name, number, place in zip(facts, found, places, strict=True)
    ]


def _dispute(state: SessionState, pairs: Iterable[Contradiction]) -> tuple[CitedText, CitedText] | None:
    """Both sides of the first disagreement whose facts are known, each in the sentence that is most about it."""
    pair = next((pair for pair in pairs if pair.a in state.facts and pair.b in state.facts), None)
    if pair is None:
        return None
    wanted, numbers, shown = set(content_stems(pair.explanation or pair.subject)), numbers_of(state), shown_sources(state)

    def stated(fact: Fact) -> CitedText:
        said, number = said_by(state, fact), numbers.get(fact.url, 0)
        best = max(split_sentences(said) or [said], key=lambda sentence: len(wanted & set(content_stems(sentence))))
        cite = Cite(fact.url, fact.id, superscript(number) if number else "")
        return CitedText(one_line(best, LONGEST_SIDE), (cite,) if number or fact.url in shown else ())

    return stated(state.facts[pair.a]), stated(state.facts[pair.b])


def said_by(state: SessionState, fact: Fact) -> str:
    """Return what a fact says, on one line: its claim, where the quote bears that."""
    return statement(fact.claim if state.bears_claim(fact) else "", fact.quote)


def _news(state: SessionState) -> News | None:
    found, added = state.changes, news_of(state)
    if found is None:
        return None
    lost = tuple(source.url.removeprefix("corpus:") for source in found.unread if is_lost(source))
    first = tuple(one_line(said_by(state, state.facts[name]), LONGEST_SIDE) for name in added[:_MOST_NEWS])
    return News(found.since, first, len(added), len(found.changed), len(found.gone), lost)


def is_lost(source: SourceChange) -> bool:
    """Return whether a source that was not read again is a document that was deleted or moved."""
    return source.url.startswith("corpus:") and source.reason.endswith(GONE)


def _readings(state: SessionState) -> tuple[Reading, ...]:
    """A session's readings, one for each page in order."""
    judged, shown = by_model(state), shown_sources(state)
    disputed = disputed_facts(state)
    pairs = contradictions(state) if judged else ()
    references = {entry.url: entry for entry in state.report.references} if state.report else {}
    answering = {name for sentence in (state.report.summary if state.report else ()) for name in sentence.facts}
    by_url: dict[str, list[Fact]] = {}
    for fact in state.facts.values():
        by_url.setdefault(fact.url, []).append(fact)

    def quoted(fact: Fact) -> Quoted:
        names = dict.fromkeys(pair.b if pair.a == fact.id else pair.a for pair in pairs if fact.id in {pair.a, pair.b})
        against = (state.facts[name] for name in names if name in state.facts)
        return Quoted(
            fact=fact.id,
            text=fact.quote,
            claim=fact.claim if state.bears_claim(fact) else "",
            heading=fact.heading,
            digest=fact.digest,
            disputed=fact.id in disputed,
            against=tuple(QuoteRef(other.url, other.id, other.url in shown) for other in against),
            cited=fact.url in references and fact.id in references[fact.url].facts,
            lead=fact.lead,
            sheet=sheet_of(state, fact),
            answers=fact.id in answering,
        )

    return tuple(
        Reading(
            page=page,
            number=references[page.url].number if page.url in references else 0,
            quotes=tuple(map(quoted, by_url.get(page.url, ()))),
            shown=page.url in shown,
        )
        for page in state.pages.values()
    )
