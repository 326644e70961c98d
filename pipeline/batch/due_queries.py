"""Decides what a run does about each query of the queue, and why. Pure: queue and session summaries in, decisions out.

A question's id is made from its words, so an edited question has another id than its sessions: it is found again by its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import Literal, get_args

from pipeline.batch.session_index import SessionIndex
from pipeline.config.queue_file import distinct_id
from pipeline.config.queue_schema import Query, Queue
from pipeline.domain.events.stream_records import begin_of, is_about
from pipeline.domain.summary import Summary, is_tagged, status_words
from pipeline.errors import LogError, LogUnreadable, SchemaTooNew, UsageError
from pipeline.text.cleaning import same_question, slug
from pipeline.text.times import moment_of, night_of

DAY = timedelta(days=1)
LATE_START = timedelta(hours=1)  # at most this much may a recurring question be researched early
CLOCK_SLACK = timedelta(days=1)  # a session that started further in the future was started with a wrong clock

_Due = Literal["resume", "new", "changed", "again", "retry"]
_Left = Literal["waiting", "elsewhere", "not-found", "failed", "cancelled", "damaged", "same"]
Action = Literal[_Due, _Left, "done", "forgotten"]
DUE: frozenset[Action] = frozenset(get_args(_Due))
UP_TO_DATE = "up to date"
LEFT_ALONE: frozenset[Action] = frozenset(get_args(_Left))
ANNOUNCED: frozenset[Action] = LEFT_ALONE | {"forgotten"}  # the nights do not name what was forgotten
_WORDS: dict[Action, str] = {"resume": "interrupted", "new": "due", "again": "due", "retry": "due"}


@dataclass(frozen=True, slots=True)
class Selection:
    """The queries that a run is about: the whole queue, or those with one of the ids or tags.

    A query without a report is tried again when its id is named; with ``retry_failed`` every failed one is, with
    ``retry_not_found`` every one that the sources did not answer. With ``again``, those that are done are researched too, due or
    not. ``limit`` bounds the number of queries that are taken up.
    """

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    retry_failed: bool = False
    limit: int | None = None
    retry_not_found: bool = False
    again: bool = False

    def holds(self, query: Query) -> bool:
        """Return whether the run is about this query. A tag includes those below it."""
        if not self.ids and not self.tags:
            return True
        return query.id in self.ids or is_tagged(query.tags, self.tags)

    def refuse_unknown(self, queue: Queue) -> None:
        """Check that the queue has the ids and tags that are asked for.

        Raises:
            UsageError: an id or tag is unknown; the hint suggests a similar one.
        """
        paths = [tag.casefold().split("/") for query in queue.queries for tag in query.tags]
        tags = {"/".join(path[:count]) for path in paths for count in range(1, len(path) + 1)}
        for names, known, what in (
            (self.ids, [query.id for query in queue.queries], "query with the id"),
            ([tag.casefold() for tag in self.tags], sorted(tags), "query with the tag"),
        ):
            for name in names:
                if name not in known:
                    close = get_close_matches(name, known, n=1)
                    hint = f"did you mean {close[0]}?" if close else "research list shows all queries"
                    raise UsageError(f"queries.yaml has no {what} {name!r}", hint=hint)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a run about one query, and the reason. ``session`` is the id of the latest session, or "" for none yet.

    ``resume`` continues that session. ``new`` (never researched), ``changed`` (edited since) and ``again`` (recurring and due,
    also after a failure) start a session that follows it; ``retry`` continues a failed one if it has steps to do, else starts
    one. All others are left alone: ``not-found`` was researched, and no source answers it; ``same`` repeats the question of
    another entry; ``elsewhere`` is for another machine. ``machine`` is the only one that may research it, "" for any. ``next_at``
    is when one that is done is due again: the date of the night, or a date and a time; "" if it is due or does not recur.
    """

    query: Query
    action: Action
    reason: str
    session: str = ""
    cause: str = "left"
    machine: str = ""
    next_at: str = ""

    @property
    def due(self) -> bool:
        """Return whether there is work to do."""
        return self.action in DUE

    @property
    def word(self) -> str:
        """The word for it in lists."""
        return _WORDS.get(self.action, status_words(self.action))

    @property
    def said(self) -> str:
        """The word for it, and why."""
        return self.reason if self.reason.startswith(f"{self.word} on ") else f"{self.word}: {self.reason}"


ANYWHERE = "*"  # in place of a machine's name


def decide(
    queue: Queue, known: SessionIndex, now: datetime, selection: Selection | None = None, machine: str = ""
) -> tuple[Decision, ...]:
    """Return what to do about each query: interrupted ones first, then by priority, then in the file's order.

    What is for another machine than this one is left alone; with ``ANYWHERE`` as the machine, nothing is left for that reason. A
    query whose session cannot be read is left alone too: its answers may be in there and would be paid for twice.
    """
    wanted = selection or Selection()
    latest = _latest(queue, known)
    rhythm = _Rhythm(now, {summary.id: summary for summary in known.sessions}, queue.settings.timezone)
    decisions = []
    for query in filter(wanted.holds, queue.queries):
        last = latest.get(query.id)
        decision = _kept_off(query, last, queue, known, wanted) or _decision(query, last, rhythm, wanted)
        if decision.due:  # another machine may have to take it up: the one that its entry or a hand-over names
            place, reason = query.machine, f"for the machine {query.machine}"
            if decision.action == "resume" and last and last.handed_to:
                place, reason = last.handed_to, f"handed over to {last.handed_to}"
            if machine == ANYWHERE or place in ("", machine):
                decision = replace(decision, machine=place)
            else:
                decision = Decision(query, "elsewhere", reason, decision.session, machine=place)
        decisions.append(decision)
    return tuple(sorted(decisions, key=lambda decision: (decision.action != "resume", -decision.query.priority)))


def split_at_limit(decisions: Sequence[Decision], limit: int | None) -> tuple[list[Decision], list[Decision]]:
    """Return what is due within the limit, and what is due beyond it."""
    due = [decision for decision in decisions if decision.due]
    return due[:limit], due[len(due) if limit is None else limit :]


def archived(queue: Queue, known: SessionIndex) -> tuple[Summary, ...]:
    """Return the sessions whose query is no longer in the file."""
    ids = {query.id for query in queue.queries}
    return tuple(summary for summary in known.sessions if summary.query_id not in ids)


def _latest(queue: Queue, known: SessionIndex) -> dict[str, Summary]:
    """Each query's latest session; that of a question which goes by another id since it was edited is one too."""
    latest = known.latest()
    for query in queue.queries:
        if query.same_as and query.id in latest:
            latest.setdefault(query.same_as, latest[query.id])
    fresh = [query for query in queue.queries if query.id not in latest and not query.same_as]
    ids = {query.id for query in queue.queries}
    gone = [summary for name, summary in latest.items() if name not in ids] if fresh else []
    return latest | edited_sessions(fresh, gone)


def _kept_off(query: Query, last: Summary | None, queue: Queue, known: SessionIndex, wanted: Selection) -> Decision | None:
    """Return the decision for a query that repeats another, whose latest session is damaged, or that its user had forgotten.

    A damaged session is found by its name, and counts unless a later one is intact. What was forgotten is researched again only
    by name.
    """
    if query.same_as:
        line = next(other.line for other in queue.queries if other.id == query.same_as)
        return Decision(query, "same", f"the question of line {line}, {query.same_as}: only that one is researched")
    since = last.started_at[:10] if last else ""
    if mine := [name for name in known.damaged if is_about(name, query.id) and begin_of(name) >= since]:
        error = known.damaged[mine[-1]]
        return Decision(query, "damaged", f"{error.message} → {error.hint or 'research verify'}", mine[-1], cause_of(error))
    at = known.tombstones.query_forgotten(query.id)
    if not at or (last and last.started_at > at) or query.id in wanted.ids:
        return None
    reason = f"forgotten on {at[:10]}: research run {query.id} researches it again"
    return Decision(query, "forgotten", reason, last.id if last else "")


def cause_of(error: LogError) -> str:
    """Return the cause, as recorded for a skipped query, for which a log cannot be read."""
    return "newer" if isinstance(error, SchemaTooNew) else "unreadable" if isinstance(error, LogUnreadable) else "damaged"


def _decision(query: Query, last: Summary | None, rhythm: _Rhythm, wanted: Selection) -> Decision:
    if last is None:
        return Decision(query, "new", "not researched yet")
    if not same_question(last.query, query.text):
        return Decision(query, "changed", "the question was changed", last.id)
    if (last.mode, query.mode) == ("fast", "deep"):
        return Decision(query, "changed", "its mode was changed from fast to deep", last.id)
    if last.waiting and not last.ended:
        return Decision(query, "waiting", f"its plan waits for approval: research approve {query.id}", last.id)
    if not last.ended:
        reason = "its plan is approved" if last.approved else f"interrupted while {last.status}"
        return Decision(query, "resume", reason, last.id)
    day, status = last.ended_at[:10], "not-found" if last.outcome == "not-found" else last.status  # so a model's report may say
    if last.status == "complete" and wanted.again:
        return Decision(query, "again", f"asked for again; done on {day}", last.id)
    if status == "complete":
        why = f": {last.end_reason}" if last.end_reason else ""
        return _recurrence(query, last, rhythm, f"done on {day}{why}", "done")
    why = f"{status.replace('-', ' ')} on {day}: {last.end_reason or 'for no reason given'}"  # it may be otherwise by now
    if status == "not-found" and not (wanted.retry_not_found or query.id in wanted.ids):
        return _recurrence(query, last, rhythm, why, "not-found")
    if status == "failed" and query.every is not None and not (wanted.retry_failed or query.id in wanted.ids):
        return _recurrence(query, last, rhythm, why, "failed")
    if query.id in wanted.ids:
        return Decision(query, "retry", f"asked for by name; {why}", last.id)
    if status == "not-found" or (status == "failed" and wanted.retry_failed):
        return Decision(query, "retry", why, last.id)
    return Decision(query, "failed" if status == "failed" else "cancelled", why, last.id)


def _recurrence(query: Query, last: Summary, rhythm: _Rhythm, done: str, action: Action) -> Decision:
    if query.every is None:
        return Decision(query, action, done, last.id)
    if moment_of(last.started_at) > rhythm.now + CLOCK_SLACK:
        return Decision(query, "again", f"{done}, by a clock that was ahead; due again", last.id)
    is_by_night = query.every % DAY == timedelta()
    due, turn = rhythm.by_night(query.every.days, last) if is_by_night else rhythm.by_clock(query.every, last)
    when, where = (f"the night to {turn}", "in") if is_by_night else (turn, "at")
    reason = f"{done}; due again {'since' if due else where} {when}"
    return Decision(query, "again" if due else action, reason, last.id, next_at="" if due else turn)


@dataclass(frozen=True, slots=True)
class _Rhythm:
    """When recurring questions are due: intervals of whole days are counted in nights, others as durations."""

    now: datetime
    sessions: Mapping[str, Summary]
    zone: str = ""

    def by_night(self, nights: int, last: Summary) -> tuple[bool, str]:
        """Return whether a question is due after ``last``, and the date of the night since or in which it is.

        The nights are counted from that session, but whole weeks from the first of its row, so that one which was late changes no
        weekday. After one that was late by more than half of the interval, the question waits for the turn after the next.
        """
        latest = night_of(_worked(last), self.zone)
        first = latest if nights % 7 else self._first_of_row(last, nights)
        turn = first + timedelta(((latest - first).days // nights + 1) * nights)
        turn += timedelta(nights if 2 * (turn - latest).days < nights else 0)
        return turn <= night_of(self.now, self.zone), turn.isoformat()

    def by_clock(self, every: timedelta, last: Summary) -> tuple[bool, str]:
        """Return whether that length of time has passed, or nearly so, and when: in a run a question waits for its turn."""
        turn = _worked(last) + every
        return turn - min(every / 10, LATE_START) <= self.now, f"{turn.astimezone():%Y-%m-%d %H:%M}"

    def _first_of_row(self, last: Summary, nights: int) -> date:
        """Return the night of the first of the sessions that followed each other on the question of ``last``.

        A new row begins after a session less than half of the interval before: one was asked for, or the interval was another.
        """
        one, night = last, night_of(moment_of(last.started_at), self.zone)
        while (one := self.sessions.get(one.previous_session, last)) is not last and same_question(one.query, last.query):
            before = night_of(moment_of(one.started_at), self.zone)
            if 2 * (night - before).days <= nights:
                break
            night = before
        return night


def _worked(session: Summary) -> datetime:
    """Return when a session that has ended began; one that was interrupted counts as begun when it was continued."""
    return moment_of(session.ended_at) - timedelta(seconds=session.seconds)


def states_of_builds(missed: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for vault and site why it is not up to date, or ``up to date``; ``missed``: pairs of part and reason."""
    reasons: dict[str, list[str]] = {"vault": [], "site": []}
    for part, reason in missed:
        reasons[part].append(reason)
    return {part: "; ".join(why) or UP_TO_DATE for part, why in reasons.items()}


ALIKE = 0.8  # of the words of the shorter question that are in the longer one, where they are most of the words


def edited_sessions(queries: Sequence[Query], gone: Sequence[Summary]) -> dict[str, Summary]:
    """Return by query id the session, each once, of the question that it was before; ``gone`` have no query in the file any more.

    Only ids that were made from the question count: one that the user gave says by itself which question is meant.
    """

    def words_of(name: str, question: str) -> frozenset[str]:
        is_derived = name in {slug(question, 40), distinct_id(question)}
        return frozenset(slug(question, 1_000).split("-") if is_derived else ())

    known = [words_of(summary.query_id, summary.query) for summary in gone]
    scored: list[tuple[float, int, str]] = []
    for query in queries:
        mine = words_of(query.id, query.text)
        for place, words in enumerate(known):
            same, (shorter, longer) = len(mine & words), sorted((len(mine), len(words)))
            scored += [(same / longer, place, query.id)] if same >= ALIKE * shorter and 2 * same > longer else []
    found: dict[str, Summary] = {}
    taken: set[int] = set()
    for _, place, name in sorted(scored, reverse=True):
        if name not in found and place not in taken:
            found[name] = gone[place]
            taken.add(place)
    return found
