"""What notes are made from: a summary value of each stream of the log, a source across all sessions, a night, the whole vault.

``Card`` is the one summary value of a session, with all that other notes show of it, so that its log is not read again: paths,
answer in short, what changed, what is disputed; and a ``Reading`` for each source, with what the session took from it. It is
computed from the session's state alone, is stored as JSON, and has addresses and ids instead of links, because the path of a
source's note depends on all sessions that read it.

``Values`` reads only streams whose mark changed since the last build. Everything is in an order that depends on the events
alone: sessions by their start, readings of a source by their time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events.import_events import import_of
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import Kind, kind_of
from pipeline.domain.events.talk_events import MessageAnswered
from pipeline.domain.events.upkeep_events import Rated, Ratings
from pipeline.domain.page_choice_and_findings import disputed_facts, news_of, open_gaps, shown_sources
from pipeline.domain.research_values import Cost, Fact, FactChange, Sentence, minus, total
from pipeline.domain.session import state_of, summary_of
from pipeline.domain.session_state import SessionState, outcome_of, workers_in_order
from pipeline.domain.summary import SAYS_MORE, Summary
from pipeline.domain.talk import TalkState, Turn, read_talk
from pipeline.errors import LogError, LogUnreadable
from pipeline.ports import EventStore
from pipeline.text.addresses import path_of
from pipeline.text.cleaning import grouped, name_slug, one_line, slug
from pipeline.text.passages import statements
from pipeline.text.times import is_zone, moment_of, night_of
from pipeline.text.words import from_nearest, language_code, question_words_in, split_sentences, words_around_change
from pipeline.vault import note
from pipeline.vault.build_cache import Kept, rows_in
from pipeline.vault.note import Names, View
from pipeline.vault.output.escaping import Link, superscript
from pipeline.vault.output.passage_markdown import flat, statement

LONGEST_ANSWER = 320  # characters
ON_HOME = 240  # characters of a text on Home, which is read on a phone
_CHANGE, _HEADING = 200, 60  # characters of a sentence that changed, and of the heading above it
_SHORT = 50  # characters of a sentence that says too little alone: "It depends." is followed by the next
_MOST_NEWS = 2  # new facts that a digest shows; the rest is counted


@dataclass(frozen=True, slots=True)
class News:
    """What changed since the report before, which was finished at ``since``: lines of what is nearest, and counts of all.

    ``altered`` are those of the lines that replaced others.

    ``near`` is how near the nearest is to the question, as a share of the nearest passage.

    ``lost`` are the paths of documents that the report before cites and that were deleted or moved since. ``vanished``
    is the nearest of what is gone. ``other`` says in words what a rating did.
    ``first_of_kind``: there is no report before that is of passages or a model's, as this one.
    """

    since: str
    first: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    added: int = 0
    changed: int = 0
    gone: int = 0
    lost: tuple[str, ...] = ()
    vanished: str = ""
    other: str = ""
    near: float = 0.0
    first_of_kind: bool = False

    @property
    def count(self) -> int:
        """How many facts differ in what the sources say; nothing is new if only others of their passages are shown."""
        return self.added + self.changed + self.gone


@dataclass(frozen=True, slots=True)
class Reading:
    """What one session learnt from one source. ``number`` is the source's in the report, 0 if it is not cited there.

    ``facts`` have their claim only if the quote bears it. By id, the report cites some (``cited``), and another source denies
    some (``disputed``). ``shown``: the source has a note because of the session.
    """

    page: e.PageRead
    number: int
    facts: tuple[Fact, ...]
    cited: tuple[str, ...]
    disputed: tuple[str, ...]
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Summary):
    """A session as other notes show it. ``report_path`` is "" without a report.

    A question that its sources do not answer has a note in place of its report.
    ``answer`` is the report's first sentence that says enough, ``disputed`` whether a source denies it, ``answering`` are the ids
    of the facts on which the whole answer rests, ``news`` is what changed
    (None for the first report on a question), ``open`` the questions left open, ``cited`` the addresses of the report's sources.
    ``read`` are the pages that the session read, in order. ``workers`` has the path of each worker's note by the worker's id;
    without a model there is none: the session's note shows its workers too. ``last_event`` is the id of the event of ``version``.
    Until the names of all notes are known, the paths are those that its notes would have alone. ``rating``: a person's, or "".
    ``says_more``: the outcome of the session before it on the question, if this says more; ``missed_again``: neither found it.
    ``lacks``: what passages do not
    mention, or what an answer in part lacks. ``is_new``: of the night that it is shown in, its question was added since the night
    before.
    """

    reported_at: str = ""
    rating: str = ""
    says_more: str = ""
    missed_again: bool = False
    is_new: bool = False
    lacks: str = ""
    names: str = "latin"
    session_path: str
    report_path: str
    workers: Mapping[str, str]
    answer: Sentence | None = None
    answering: frozenset[str] = frozenset()
    disputed: bool = False
    disagreements: int = 0
    news: News | None = None
    open: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    read: tuple[Reading, ...] = ()
    last_event: str = ""

    @property
    def has_report(self) -> bool:
        """Tell whether it has a report that answers something."""
        return bool(self.reported_at) and self.outcome != "not-found"

    @property
    def has_note(self) -> bool:
        """Tell whether it has a report, or a note in its place."""
        return bool(self.reported_at) or self.status == "not-found"

    def after(self, before: Card | None) -> Card:
        """Return the card with what follows from the session ``before`` on its question.

        Passages that nobody has judged may have been found in a report before, with which they are compared.
        """
        outcome = before.outcome if before else ""
        is_compared = self.news and (self.outcome == "passages" or (outcome == "passages" and not self.news.first_of_kind))
        more = outcome if self.outcome in SAYS_MORE.get(outcome, ()) and self.has_report and not is_compared else ""
        return replace(self, says_more=more, missed_again=self.outcome == outcome == "not-found")


def card_of(state: SessionState, events: Sequence[e.EventBase]) -> Card:
    """Return the card of a session that began."""
    report, summary, judged = state.report, summary_of(state), state.config.has_model
    named_by = (state.query, state.id, state.started_at, state.names)
    answer = _answer(state, report.summary) if report and report.summary else None
    names = {worker.id: state.perspectives[worker.perspective_id].name for worker in workers_in_order(state) if judged}
    unknowns = () if state.status == "not-found" else report.unknowns if report else open_gaps(state)
    return Card(
        **{part.name: getattr(summary, part.name) for part in fields(Summary)},
        reported_at=next((event.at for event in reversed(events) if isinstance(event, e.ReportGenerated)), ""),
        names=state.names,
        session_path=note.session_path(*named_by),
        report_path=note.report_path(*named_by),
        workers={
            worker: note.worker_path(state.query, state.id, state.started_at, name, state.names) for worker, name in names.items()
        },
        lacks=one_line(flat(report.lacks), LONGEST_ANSWER) if report and report.outcome in ("passages", "in-part") else "",
        answer=answer,
        answering=frozenset(name for sentence in (report.summary if report else ()) for name in sentence.facts),
        disputed=answer is not None and not disputed_facts(state).isdisjoint(answer.facts),
        disagreements=len(report.contradictions) if report and judged else 0,
        news=_news(state) if report else None,
        open=tuple(gap.question for gap in unknowns),
        cited=tuple(entry.url for entry in report.references) if report else (),
        read=tuple(_readings(state)),
        last_event=events[-1].id,
    )


def _answer(state: SessionState, summary: Sequence[Sentence]) -> Sentence:
    """Return the answer of a summary of at least one sentence, on one line, with the known facts that it cites.

    Of written text it is the first sentence that says enough by itself; without a model the best passage from the sentence on
    that is nearest to the question, after its heading, which may be the term that it defines; code after what leads to it.
    """
    first = next((sentence for sentence in summary if sentence.facts), summary[0])  # what cites nothing answers nothing
    facts = tuple(name for name in dict.fromkeys(first.facts) if name in state.facts)
    if outcome_of(state) == "passages":
        fact = state.facts[facts[0]] if facts else None
        heading, lead = (one_line(fact.heading, 60).rstrip(":"), fact.lead) if fact else ("", "")  # it may be the term defined
        whole = f"{lead}\n\n{first.text}"
        parts = [state.nearest_sentence] if state.nearest_sentence else (one for _, one in statements(whole))
        said = from_nearest(state.query, flat(whole), map(flat, parts), ON_HOME - len(heading))
        said = f"{heading}: {said}" if heading else said
    else:
        said, *others = split_sentences(" ".join(first.text.split())) or [first.text]
        while others and (len(said) < _SHORT or said.endswith(":")):
            said = f"{said} {others.pop(0)}"
    return Sentence(text=one_line(said, LONGEST_ANSWER), facts=facts)


def signs(facts: Sequence[Fact], numbers: Mapping[str, int]) -> list[str]:
    """Return the signs that cite facts, e.g. ``²ᵃ``; "" for a source without a number. Quotes of one source have letters."""
    found = [numbers.get(fact.url, 0) for fact in facts]
    places = [found[:place].count(number) if found.count(number) > 1 else -1 for place, number in enumerate(found)]
    return [superscript(number, place) if number else "" for number, place in zip(found, places, strict=True)]


def said_by(state: SessionState, fact: Fact) -> str:
    """Return what a fact says, on one line: its claim, where the quote bears that."""
    return statement(fact.claim if state.bears_claim(fact) else "", fact.quote)


def _news(state: SessionState) -> News | None:
    found, added = state.changes, news_of(state)
    if found is None:
        return None
    lost = tuple(one_line(path_of(source.url)) for source in found.unread if source.is_lost)
    told = [(_change_words(state, one, said), one.before.quote) for one in found.changed if (said := said_of(state, one))]
    first = [text for text, _ in told]
    first += [one_line(said_by(state, state.facts[name]), LONGEST_ANSWER) for name in added]
    near = [one.near for one in found.changed[:1]] + [1.0 for _ in added] + [0.5 for _ in (*found.gone, *lost)]
    return News(
        found.since,
        tuple(dict.fromkeys(first))[:_MOST_NEWS],
        tuple(text for text, was in told if was)[:_MOST_NEWS],
        len(added) + len(found.changed) - found.rewordings,
        found.rewordings,
        len(found.gone),
        lost,
        next((one_line(statement(one.claim, one.quote), _CHANGE) for one in found.gone), ""),
        f"another report since you called {found.called_wrong:,} wrong" if found.called_wrong else "",
        max(near, default=0.0),
        found.first_of_kind,
    )


def _change_words(state: SessionState, change: FactChange, said: str) -> str:
    """What a source says since, under its heading, with what it said before."""
    heading = one_line(change.before.path[-1], _HEADING).rstrip(":") if len(change.before.path) > 1 and change.said else ""
    is_named = question_words_in(heading, f"{said} {state.query}") == question_words_in(heading, heading)
    was = statement("", change.before.quote) if change.before.quote else ""
    if was:
        around = words_around_change(said, was, _CHANGE)
    else:  # of what was added to a passage from the sentence on that is nearest
        around = one_line(from_nearest(state.query, said, split_sentences(said)), _CHANGE)
    return around if is_named else f"{heading}: {around}"


def said_of(state: SessionState, change: FactChange) -> str:
    """Return what a source says since; in older logs that may be a fact of the session."""
    after = state.facts.get(change.after)
    return statement("", change.said) if change.said else said_by(state, after) if after else ""


def _readings(state: SessionState) -> Iterator[Reading]:
    """A session's readings, one for each page in order."""
    shown, disputed = shown_sources(state), disputed_facts(state)
    references = {entry.url: entry for entry in state.report.references} if state.report else {}
    borne = (fact if state.bears_claim(fact) else fact.model_copy(update={"claim": ""}) for fact in state.facts.values())
    by_url = grouped((fact.url, fact) for fact in borne)
    for page in state.pages.values():
        facts, reference = by_url.get(page.url, []), references.get(page.url)
        yield Reading(
            page=page,
            number=reference.number if reference else 0,
            facts=tuple(facts),
            cited=reference.facts if reference else (),
            disputed=tuple(fact.id for fact in facts if fact.id in disputed),
            shown=page.url in shown,
        )


@dataclass(frozen=True, slots=True)
class Beside:
    """What the notes of a session show of others.

    ``later`` is the report of the session that followed on the same question, or the note that nothing was found then, and
    ``later_outcome`` which. ``reports`` are the earlier ones, the latest first, by session: link, time, outcome, rating.
    ``sources`` are the links to all sources that the session names. ``asked`` is what was asked about it since, as notes show it;
    ``rated`` is how its passages are rated, by fact.
    """

    later: Link | None = None
    later_outcome: str = ""
    reports: Mapping[str, tuple[Link, str, str, str]] = field(default_factory=dict)
    archived: bool = False
    sources: Mapping[str, Link] = field(default_factory=dict)
    asked: Sequence[View] = ()
    rated: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedSession:
    """One session with its card, state and events, and what its notes show of others."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]
    beside: Beside = Beside()

    @cached_property
    def language(self) -> str:
        """The code of the question's language, else of that of its quotes."""
        return language_code(self.state.query, *(fact.quote for fact in self.state.facts.values()))

    @cached_property
    def shown_sources(self) -> frozenset[str]:
        """The sources that have a note because of this session."""
        return shown_sources(self.state)

    def is_disputed(self, facts: Iterable[str]) -> bool:
        """Tell whether another source denies one of these facts."""
        return not disputed_facts(self.state).isdisjoint(facts)


def readings_by_url(cards: Iterable[Card]) -> dict[str, list[tuple[Card, Reading]]]:
    """Return the readings of each source with the sessions' cards, in order of time."""
    read = sorted(((card, reading) for card in cards for reading in card.read), key=lambda one: (one[1].page.at, one[0].id))
    return grouped((one[1].page.url, one) for one in read)


@dataclass(frozen=True)
class Batch:
    """One run over the queue.

    ``zone`` is that of its night, "" in logs that do not say it. ``embedded`` is what vectors cost. ``not_made``: why
    the vault or the site could not be built.
    """

    zone: str
    started: n.BatchStarted
    skipped: tuple[n.QuerySkipped, ...]
    ended: tuple[n.QueryEnded, ...]
    end: n.BatchEnded | None
    embedded: Cost
    not_made: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """How long it took; without an end, until the last question that it ended."""
        last = max((moment_of(entry.at) for entry in self.ended), default=moment_of(self.started.at))
        return self.end.duration_s if self.end else (last - moment_of(self.started.at)).total_seconds()

    @property
    def left_open(self) -> Iterator[n.QueryEnded]:
        """What was due and did not end: what was skipped then, and of a run without an end that of which its log says no more."""
        ended, skipped = {entry.query_id for entry in self.ended}, {entry.query_id: entry for entry in self.skipped}
        for name in self.started.due:
            if name not in ended and (name in skipped or not self.end):
                query, why, at = self.started.queries.get(name, name), "the run was interrupted or is under way", self.started.at
                if entry := skipped.get(name):
                    query, why, at = entry.query, entry.reason, entry.at
                yield n.QueryEnded(query_id=name, query=query, session="", status="interrupted", reason=why, at=at)


@dataclass(frozen=True)
class Night:
    """All batches of one night, which lasts from noon to noon where the log says in which zone; else of one UTC date.

    ``began`` is when the first of them began, as ``times_of`` says; ``cost`` is that of its sessions and of what it embedded.
    ``answered`` are the questions in notes that were answered: the note's id, the question, the answer's beginning. ``ages``
    counts the nights since the first one that a question was due in, by its id: it is 0 if it was added since the night before.
    """

    date: str
    batches: tuple[Batch, ...]
    began: datetime
    cost: Cost
    answered: tuple[tuple[str, str, str], ...]
    ages: Mapping[str, int]

    @cached_property
    def last(self) -> tuple[n.QueryEnded, ...]:
        """How each query ended at last, in the order of work; what was finished stays, also if it was begun again after that."""
        found: dict[str, n.QueryEnded] = {}
        for entry in (entry for batch in self.batches for entry in (*batch.ended, *batch.left_open)):
            if entry.status == "complete" or found.get(entry.query_id, entry).status != "complete":
                found[entry.query_id] = entry
        due = (name for batch in self.batches for name in batch.started.due)
        return tuple(found[name] for name in dict.fromkeys([*due, *found]) if name in found)

    @property
    def left_out(self) -> dict[str, n.QuerySkipped]:
        """The skipped queries that no run of the night worked on, by id, as the last run left them."""
        skipped = {entry.query_id: entry for batch in self.batches for entry in batch.skipped}
        worked = {entry.query_id for entry in self.last}
        return {name: entry for name, entry in skipped.items() if name not in worked}

    @property
    def not_made(self) -> tuple[str, ...]:
        """What could not be built, and why, each once."""
        return tuple(dict.fromkeys(text for batch in self.batches for text in batch.not_made))

    @property
    def seconds(self) -> float:
        """How long its runs took, one that did not come to its end until the last question that it ended."""
        return sum(batch.seconds for batch in self.batches)


@dataclass(frozen=True)
class VaultModel:
    """The whole vault: cards by session id, in order of their start; sources by address, and who read them; nights.

    ``hidden`` are the sessions whose reports a person removed: nights and the home note do not count them.
    """

    by_id: Mapping[str, Card]
    nights: tuple[Night, ...]
    readings: Mapping[str, list[tuple[Card, Reading]]]
    sources: Mapping[str, Link]
    hidden: Collection[str]

    @cached_property
    def of_query(self) -> dict[str, list[Card]]:
        """The cards by query id, in order of their start."""
        return grouped((card.query_id, card) for card in self.by_id.values())

    @cached_property
    def archived(self) -> frozenset[str]:
        """The ids of the queries that were no longer in the queue when the latest night began."""
        return frozenset(self.nights[-1].batches[-1].started.archived if self.nights else ())

    def latest_on(self, query_id: str) -> Card | None:
        """Return the latest session on a query whose report is not hidden."""
        return next((card for card in reversed(self.of_query.get(query_id, ())) if card.id not in self.hidden), None)

    def reported_before(self, card: Card) -> list[Card]:
        """Return the sessions before this one that have a report on its query, or did not find it, the latest first."""
        same = self.of_query[card.query_id] if card.query_id else []
        return [one for one in takewhile(lambda one: one.id != card.id, same) if one.has_note][::-1]


def times_of(began: Mapping[str, tuple[str, str]]) -> dict[str, datetime]:
    """Return when each stream began, by id; ``began`` has the time that its event says, and the id of the one before it, or "".

    The one before began earlier, by a second at least: what says otherwise was recorded by a clock that was ahead.
    """
    times = {name: moment_of(at) for name, (at, _) in began.items()}
    for name in began:
        for _ in began:  # no chain is longer; a circle, which only a log made by hand could have, ends too
            before = began[name][1]
            if before not in times or times[before] < times[name]:
                break
            times[before] = times[name] - timedelta(seconds=1)
            name = before
    return times


def nights_from(batches: Mapping[str, Batch], talks: Iterable[TalkState]) -> tuple[Night, ...]:
    """Return the nights that the batches (by id) fell in, the one worked on last at the end; ``talks`` are all of the log."""
    answers = [(turn.answer, talk.note, turn.text) for talk in talks for turn in talk.turns if talk.note and turn.answer]
    asked = sorted((answer.at, note, text, _beginning(answer)) for answer, note, text in answers)
    times = times_of({name: (batch.started.at, batch.started.after) for name, batch in batches.items()})
    latest_first = sorted(batches, key=lambda name: (times[name], name), reverse=True)
    by_night = grouped((_night_at(batches[name].started.at, batches[name].zone), name) for name in latest_first)
    nights, first = list[Night](), dict[str, int]()
    sums = dict[str, Cost]()  # the log has each session's sum so far, which earlier nights are a part of
    for date, names in reversed(by_night.items()):
        same = tuple(batches[name] for name in reversed(names))
        parts = [batch.embedded for batch in same]
        for entry in (entry for batch in same for entry in batch.ended):
            parts.append(minus(entry.cost, sums.get(entry.session, Cost())))
            sums[entry.session] = entry.cost
        answered = [(note, text, said) for at, note, text, said in asked if _night_at(at, same[-1].zone) == date]
        due = {name for batch in same for name in (*batch.started.due, *(entry.query_id for entry in batch.ended))}
        ages = {name: len(nights) - first.setdefault(name, len(nights) or -1) for name in due}  # in the first night none is new
        nights.append(Night(date, same, times[names[-1]], total(parts), tuple(answered), ages))
    return tuple(nights)


def _beginning(answer: MessageAnswered) -> str:
    """The first sentence of an answer, a passage in quotation marks; "" if the stored pages do not say."""
    said = one_line(flat(answer.sentences[0].text), ON_HOME) if answer.sentences else ""
    return f"“{said}”" if said and answer.outcome == "passages" else said


def _night_at(at: str, zone: str) -> str:
    """The night of an event's time; without a zone, its UTC date."""
    return night_of(moment_of(at), zone).isoformat() if zone else at[:10]


@cache
def _kept_as(of: Any) -> TypeAdapter[Any]:
    """Return how the summaries of a type are kept, derived once: that takes longer than to read hundreds of them."""
    return TypeAdapter(of | None)


class Values:
    """The summaries of all streams that can be read, by id; ``cards`` in order of the sessions' start.

    ``marks`` are the streams'. ``imports`` has the path of each import's note. ``problems`` say which streams
    cannot be read, and why.
    """

    def __init__(self, store: EventStore, kept: Kept, marks: Mapping[str, str]) -> None:
        self._store, self._kept, self.marks = store, kept, marks
        self.problems: list[str] = []
        known = kept.summaries()
        cards = self._read(known, "session", "the notes of", Card, partial(read_card, store)).values()
        self.cards: dict[str, Card] = {card.id: card for card in sorted(cards, key=lambda card: (card.started_at, card.id))}
        self.batches: dict[str, Batch] = self._read(known, "batch", "the night of", Batch, partial(batch_of, store))
        self.talks: dict[str, TalkState] = self._read(known, "talk", "what was asked in", TalkState, partial(read_talk, store))
        self.imports: dict[str, str] = self._read(known, "import", "the note of", str, self._import)
        kept.drop("summaries", "stream", known.keys() - marks.keys())

    def _read(
        self, known: Mapping[str, tuple[str, bytes]], kind: Kind, what: str, of: Any, make: Callable[[str], Any]
    ) -> dict[str, Any]:
        """The summaries of the streams of a kind; ``make`` returns None for one that has not begun."""
        found, stored = {}, _kept_as(of)
        for name in (name for name in self.marks if kind_of(name) == kind):
            mark = self.marks[name]
            if name in known and known[name][0] == mark:
                with suppress(ValidationError):  # what is damaged is made again
                    found[name] = stored.validate_json(known[name][1])
                    continue
            try:
                found[name] = value = make(name)
            except LogError as error:
                self.problems.append(f"{what} {name}: {error}; run `research verify` for details")
                continue
            self._kept.put("summaries", [(name, mark, stored.dump_json(value))])
        return {name: value for name, value in found.items() if value is not None}

    def _import(self, name: str) -> str | None:
        """The path of an import's note; it derives from the first event of the import and never changes."""
        found = import_of(name, decode_all(record.data for record in self._store.load(name)))
        if found is None:
            return None
        first = found.first
        if first.ordinals >= 0:  # recorded by an earlier version, so the note has its place
            return f"imports/{(first.created or first.at)[:4]}/{slug(first.question or first.title, 60)}-{found.id[-8:]}"
        return f"sessions/{(first.created or first.at)[:4]}/{found.id}"

    def loaded(self, card: Card, beside: Beside) -> LoadedSession:
        """Return a session with its card, read again as it was when the card was made: what a run records meanwhile is left out.

        Raises:
            LogError: it cannot be read any more, or what was joined to it meanwhile stands before what the card shows.
        """
        state, events = folded(self._store, card.id, card.version)
        if not events or events[-1].id != card.last_event:
            raise LogUnreadable("its log was changed while its notes were made", hint="the next build makes them")
        return LoadedSession(card, state, events, beside)


def model_of(values: Values, ratings: Ratings, hidden: Collection[str]) -> VaultModel:
    """Return the whole vault; ``hidden`` as it has it.

    Names are given out in the order of the times in the log, so they stay as they are; a source's link shows its first title.
    """
    taken, cards = Names(), list[Card]()
    for card in values.cards.values():
        report_path, session_path = taken.claim(card.report_path, card.id), taken.claim(card.session_path, card.id)
        workers = {name: taken.claim(path, f"{card.id}/{name}") for name, path in card.workers.items()}
        own = report_path if card.has_note else ""
        rating = ratings.of(card.query_id, f"report:{card.id}") or ""
        card = card.after(values.cards.get(card.previous_session))
        cards.append(replace(card, session_path=session_path, report_path=own, workers=workers, rating=rating))
    times = times_of({card.id: (card.started_at, card.previous_session) for card in cards})
    cards.sort(key=lambda card: (times[card.id], card.id))
    readings, sources = readings_by_url(cards), dict[str, Link]()
    for url, read in readings.items():
        path = taken.claim(note.source_path(url, read[0][1].page.at, read[0][0].names), url)
        sources[url] = Link(path, next((one.page.title for _, one in read if one.page.title.strip()), url))
    return VaultModel(
        {card.id: card for card in cards}, nights_from(values.batches, values.talks.values()), readings, sources, hidden
    )


def nights_in(store: EventStore) -> tuple[tuple[Night, ...], tuple[str, ...]]:
    """Return the nights of a log, the latest last, and the streams of nights that cannot be read."""
    batches, talks, unread = dict[str, Batch](), [], []
    for name in sorted(store.marks(("batch", "talk"))):
        try:
            if kind_of(name) == "talk":
                talks.append(read_talk(store, name))
            elif batch := batch_of(store, name):
                batches[name] = batch
        except LogError as error:
            unread.append(f"{name}: {error.message}")
    return nights_from(batches, talks), tuple(unread)


def stored_cards(state_dir: Path) -> list[Card]:
    """Return the cards that the last build kept, without the paths of their notes."""
    rows = rows_in(state_dir, "SELECT stream, value FROM summaries ORDER BY stream")
    return [card for stream, value in rows if kind_of(stream) == "session" and (card := _kept_as(Card).validate_json(value))]


def folded(store: EventStore, session: str, version: int | None = None) -> tuple[SessionState, tuple[e.EventBase, ...]]:
    """Return the state of a session, and its events; with ``version`` as they were then.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    history = tuple(decode_all(one.data for one in store.load(session) if version is None or one.version <= version))
    return state_of(session, history), history


def rated_for(store: EventStore, ratings: Ratings, query_id: str) -> Rated:
    """Return what counts for a question, with the words of what is rated, as far as the log of its sessions can be read."""
    rated, facts = ratings.about(query_id), dict[str, Fact]()
    for report in sorted({event.note for (about, _), event in ratings.latest.items() if about == query_id and event.rating}):
        with suppress(LogError):
            facts |= folded(store, report.removeprefix("report:"))[0].facts
    return replace(rated, passages=tuple(fact for name, fact in facts.items() if name in rated.useful | rated.wrong))


def read_card(store: EventStore, session: str) -> Card | None:
    """Return the card of a session, None if it has not begun.

    Raises:
        LogError: as ``folded``.
    """
    state, events = folded(store, session)
    return card_of(state, events) if state.query else None


def batch_of(store: EventStore, batch_id: str) -> Batch | None:
    """Return a run over the queue, None if it never began.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    history = tuple(decode_all(record.data for record in store.load(batch_id)))
    started = next((event for event in history if isinstance(event, n.BatchStarted)), None)
    if started is None:
        return None
    zone = started.timezone if is_zone(started.timezone or "UTC") else ""
    return Batch(
        zone,
        started,
        tuple(event for event in history if isinstance(event, n.QuerySkipped)),
        tuple(event for event in history if isinstance(event, n.QueryEnded)),
        next((event for event in reversed(history) if isinstance(event, n.BatchEnded)), None),
        total(event.cost for event in history if isinstance(event, n.PassagesEmbedded)),
        tuple(f"{event.part}: {event.reason}" for event in history if isinstance(event, n.VaultFailed)),
    )


def asked_by_owner(talks: Iterable[TalkState], model: VaultModel) -> dict[str, list[Turn]]:
    """Return what was asked about each session (``session:…``) and topic (``topic:…``), in order of time.

    What was asked about a query belongs to the session of its newest report.
    """
    found: dict[str, list[Turn]] = {}
    for talk in sorted(talks, key=lambda talk: (talk.opened_at, talk.id)):
        room, names = "session", list(talk.ids)
        if talk.scope == "topic":
            room, names = "topic", list(map(name_slug, talk.ids))
        elif talk.scope == "query":
            noted = ([card.id for card in model.of_query.get(name, ()) if card.has_note] for name in talk.ids)
            names = [same[-1] for same in noted if same]
        for name in dict.fromkeys(names):
            found.setdefault(f"{room}:{name}", []).extend(talk.turns)
    return found
