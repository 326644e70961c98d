"""What one session leaves behind, computed from its state alone, and the memory that all consolidations together give. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from pipeline.domain.events.session_events import Answered, CallSent, EventBase
from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.findings import all_facts, open_gaps, origin_of, page_of, standings
from pipeline.domain.state import Failure, SearchDone, SessionState, asked_queries, cost_of, workers_in_order, working_seconds
from pipeline.domain.steps import Read
from pipeline.domain.values import (
    EXTRACTIVE,
    Cost,
    Episode,
    Fact,
    Met,
    OriginRecord,
    Procedure,
    Solution,
    Statement,
    Superseded,
    Yield,
    total,
)
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.ranking.query_terms import content_stems


@dataclass(frozen=True, slots=True)
class Remembered:
    """A statement over all sessions: as the latest session found it, the sessions that found it, and what became of it.

    ``sessions`` are their ids in order of their ends. ``superseded_in`` is the later session in which its source no longer made
    the statement, "" if it still does; ``by`` is the fact that replaced it, or "".
    """

    statement: Statement
    sessions: tuple[str, ...]
    superseded_in: str = ""
    by: str = ""

    @property
    def holds(self) -> bool:
        """Whether no later session found that its source says something else by now."""
        return not self.superseded_in


@dataclass
class Memory:
    """What all sessions left behind. ``sessions`` holds the last consolidation of each, in order of their ends.

    A session's last consolidation is that of the stream whose id, which begins with its time, comes last.
    """

    sessions: dict[str, SessionConsolidated] = field(default_factory=dict)

    @cached_property
    def statements(self) -> dict[str, Remembered]:
        """Each statement by fact id, in order of the sessions that found it first."""
        found: dict[str, list[tuple[str, Statement]]] = {}
        ended: dict[str, tuple[str, str]] = {}
        for name, one in self.sessions.items():
            for statement in one.statements:
                found.setdefault(statement.fact, []).append((name, statement))
                ended.pop(statement.fact, None)  # its source makes it again
            ended |= {gone.fact: (name, gone.by) for gone in one.superseded}
        return {name: _remembered(entries, *ended.get(name, ("", ""))) for name, entries in found.items()}

    def yields(self) -> Iterator[tuple[str, Yield]]:
        """Yield each session's id with each of its yields, in order of the sessions' ends."""
        return ((name, entry) for name, one in self.sessions.items() for entry in one.yields)

    @cached_property
    def origins(self) -> dict[str, OriginRecord]:
        """The sums of each host or document over all sessions, sorted by its name; ``failing`` is left open."""
        sums: dict[str, OriginRecord] = {}
        for _name, entry in self.yields():
            if entry.origin:
                sums[entry.origin] = _added(sums.get(entry.origin) or OriginRecord(origin=entry.origin), entry)
        return dict(sorted(sums.items()))


def remember(events: Iterable[EventBase]) -> Memory:
    """Return the memory that events of any number of streams, in any order, fold to. Events of other types are skipped."""
    latest: dict[str, SessionConsolidated] = {}
    for event in events:
        if isinstance(event, SessionConsolidated):
            before = latest.setdefault(event.session, event)
            latest[event.session] = max(before, event, key=_when)
    ordered = sorted(latest.values(), key=lambda event: (event.episode.at, event.session))
    return Memory({event.session: event for event in ordered})


def _place(event: EventBase) -> tuple[str, int]:
    return event.session_id, event.version


def _when(event: SessionConsolidated) -> tuple[str, int, str, int]:
    """The second in which the consolidation began; in the same second the later version of the session counts."""
    return event.session_id.rpartition("-")[0], event.up_to, *_place(event)


def _remembered(entries: list[tuple[str, Statement]], superseded_in: str, by: str) -> Remembered:
    last = entries[-1][1]
    cited = any(statement.cited for _name, statement in entries)
    statement = last if last.cited == cited else last.model_copy(update={"cited": cited})
    return Remembered(statement, tuple(name for name, _statement in entries), superseded_in, by)


def _added(record: OriginRecord, entry: Yield) -> OriginRecord:
    sums = {name: getattr(record, name) + getattr(entry, name) for name in ("read", "facts", "cited")}
    return record.model_copy(update={**sums, "failed": record.failed + sum(entry.failed.values())})


MOST_STATEMENTS = 400  # of one session, best standing first; a report cites some dozens
LONGEST_TITLE = 120  # characters of a title or heading that are kept with a statement
_ADDRESS = re.compile(r"\b[a-z]+:[^\s'\")>]+|/[\w./-]{3,}", re.IGNORECASE)
_DETAIL = re.compile(r"\b(?:[0-9a-f]{8,}|\d[\d.,:]*)\b", re.IGNORECASE)
_SEARCHING, _READING = ("Survey", "SearchFor"), ("Read", "Observe", "ObservePage")


def consolidated(state: SessionState, head: str = "") -> SessionConsolidated:
    """Return what an ended session leaves behind; ``head`` is the SHA-256 of its last event's JSON."""
    return SessionConsolidated(
        session=state.id,
        up_to=state.version,
        head=head,
        query=state.query,
        query_id=state.query_id,
        tags=state.tags,
        outcome=state.status,
        episode=_episode(state),
        statements=_statements(state),
        superseded=_superseded(state),
        yields=_yields(state),
        procedures=_procedures(state),
        solutions=_solutions(state),
    )


def _episode(state: SessionState) -> Episode:
    summary = state.report.summary if state.report else ()
    cited = dict.fromkeys(name for sentence in summary for name in sentence.facts)
    return Episode(
        question=state.query,
        at=state.ended_at,
        outcome=state.status,
        answer=" ".join(sentence.text for sentence in summary) if state.report else state.end_reason,
        title=state.report.title if state.report else "",
        facts=tuple(cited),
        open=_open_questions(state),
        cost=cost_of(state),
        seconds=working_seconds(state),
    )


def _open_questions(state: SessionState) -> tuple[str, ...]:
    if state.status == "not-found":
        return (state.query,)
    gaps = state.report.unknowns if state.report else open_gaps(state)
    return tuple(dict.fromkeys(gap.question for gap in gaps))


def _cited(state: SessionState) -> set[str]:
    return {name for reference in state.report.references for name in reference.facts} if state.report else set()


def _statements(state: SessionState) -> tuple[Statement, ...]:
    cited, known = _cited(state), standings(state)
    found = [fact for fact in all_facts(state) if fact.id in cited or known[fact.id].standing != "single"]
    found.sort(key=lambda fact: fact.id not in cited)
    return tuple(_statement(state, fact, known[fact.id].standing, fact.id in cited) for fact in found[:MOST_STATEMENTS])


def _statement(state: SessionState, fact: Fact, standing: str, cited: bool) -> Statement:
    page = state.pages.get(fact.url)
    values = {"published": page.published, "observed": page.at} if page else {}
    core = {"fact": fact.id, "claim": fact.claim, "quote": fact.quote, "url": fact.url, "digest": fact.digest}
    title = fact.path[0] if fact.path else ""
    place = {"title": one_line(title, LONGEST_TITLE), "heading": one_line(fact.heading, LONGEST_TITLE)}
    return Statement.model_validate({**core, **values, **place, "standing": standing, "cited": cited})


def _superseded(state: SessionState) -> tuple[Superseded, ...]:
    if state.changes is None:
        return ()
    changed = [Superseded(fact=pair.before.id, by=pair.after) for pair in state.changes.changed]
    return (*changed, *(Superseded(fact=fact.id) for fact in state.changes.gone))


def _searches(state: SessionState) -> Iterator[tuple[str, SearchDone]]:
    """Yield the searches by query in the order of the plan: the survey first, each once."""
    if state.survey:
        yield state.query, state.survey
    asked = dict.fromkeys(query for worker in workers_in_order(state) for query in asked_queries(worker))
    yield from ((query, state.searches[query]) for query in asked if query in state.searches)


def _found_by(state: SessionState) -> dict[str, str]:
    """Return for each page the provider of the first search that found it."""
    found: dict[str, str] = {}
    for _query, done in _searches(state):
        for hit in done.hits:
            found.setdefault(page_of(hit.url), done.provider)
    return found


def _yields(state: SessionState) -> tuple[Yield, ...]:
    found, failed = _found_by(state), _failed_reads(state)
    groups: dict[tuple[str, str], list[str]] = {}
    for url in sorted({*state.pages, *failed}):
        groups.setdefault((origin_of(url), found.get(url, "")), []).append(url)
    facts, cited = Counter(fact.url for fact in all_facts(state)), _cited(state)
    used = Counter(fact.url for fact in all_facts(state) if fact.id in cited)
    of_pages = [
        Yield(
            origin=origin,
            provider=provider,
            read=sum(url in state.pages for url in urls),
            failed=dict(sorted(Counter(failed[url] for url in urls if url in failed).items())),
            facts=sum(facts[url] for url in urls),
            cited=sum(used[url] for url in urls),
            seconds=round(sum(state.pages[url].seconds for url in urls if url in state.pages), 3),
        )
        for (origin, provider), urls in sorted(groups.items())
    ]
    return (*of_pages, *_search_yields(state))


def _failed_reads(state: SessionState) -> dict[str, str]:
    """Return the class of error of each page that could not be read."""
    failures = (failure for failure in state.failures.values() if failure.step.startswith("Read:") and failure.final)
    found = {failure.step.removeprefix("Read:"): failure.error for failure in failures}
    return {url: error for url, error in found.items() if url not in state.pages and Read(url).key in state.failures}


def _search_yields(state: SessionState) -> Iterator[Yield]:
    """Yield the searches of each provider; those that failed count for all that were to be asked."""
    done: dict[str, list[SearchDone]] = {}
    for _query, search in _searches(state):
        done.setdefault(search.provider, []).append(search)
    failed = Counter(one.error for one in state.failures.values() if one.final and not one.met and _kind(one) in _SEARCHING)
    asked = "+".join(state.config.search)
    for provider in sorted({*done, *([asked] if failed else [])}):
        yield Yield(
            origin="",
            provider=provider,
            failed=dict(sorted(failed.items())) if provider == asked else {},
            searches=len(done.get(provider, ())),
            hits=sum(len(search.hits) for search in done.get(provider, ())),
            seconds=round(sum(search.seconds for search in done.get(provider, ())), 3),
        )


def _procedures(state: SessionState) -> tuple[Procedure, ...]:
    facts, cited = all_facts(state), _cited(state)
    of_facts, of_cited = {fact.url for fact in facts}, {fact.url for fact in facts if fact.id in cited}
    pages = {query: {page_of(hit.url) for hit in done.hits} for query, done in _searches(state)}
    useful = tuple(query for query, found in pages.items() if found & of_cited)
    fruitless = tuple(query for query, found in pages.items() if not found & of_facts)
    if not (useful or fruitless):
        return ()
    return (Procedure(subject=tuple(sorted(content_stems(state.query))), queries=useful, fruitless=fruitless),)


def _solutions(state: SessionState) -> tuple[Solution, ...]:
    """Return each kind of error once for each way in which it was met, sorted."""
    failures = sorted(chain(state.past_failures, state.failures.values()), key=lambda one: (one.step, one.at, one.final))
    found = (_solution(state, failure, past=any(failure is one for one in state.past_failures)) for failure in failures)
    return tuple(sorted({value.model_dump_json(): value for value in found}.values(), key=lambda one: one.model_dump_json()))


def _solution(state: SessionState, failure: Failure, *, past: bool) -> Solution:
    met, worked = _met(state, failure, past=past)
    return Solution(
        error=failure.error,
        step=_kind(failure),
        where=_where(state, failure),
        message=plain_message(failure.message),
        met=met,
        worked=worked,
    )


def _met(state: SessionState, failure: Failure, *, past: bool) -> tuple[Met, bool]:
    if past:
        return "reopening", failure.met
    if failure.met:
        return "retry", True
    if failure.step in state.without_model:
        return "fallback", True
    if _kind(failure) in _READING and failure.final:
        return ("other page", True) if state.facts else ("nothing", False)
    return "nothing", False


def _where(state: SessionState, failure: Failure) -> str:
    kind, _, rest = failure.step.partition(":")
    if kind == "Read":
        return origin_of(rest)
    if kind in _SEARCHING:
        return "+".join(state.config.search)
    return "" if state.config.reasoner == EXTRACTIVE else state.config.reasoner


def _kind(failure: Failure) -> str:
    return failure.step.partition(":")[0]


def plain_message(message: str) -> str:
    """Return an error's message without addresses, paths and numbers, so that the same trouble reads the same on every night."""
    return one_line(_DETAIL.sub("#", _ADDRESS.sub("…", one_line(message, 1_000))), 200)


def episode_step(session: str) -> str:
    """Return the key of the step that shortens a session. It holds a digest of the id: forgetting a session leaves no name."""
    return f"Episode:{digest_of(session.encode())[:12]}"


def cost_of_calls(events: Iterable[EventBase]) -> Cost:
    """Return what a model cost in memory streams. A call without a recorded answer counts at its worst case."""
    answered: list[Cost] = []
    sent: dict[tuple[str, str], list[Cost]] = {}
    for event in events:
        if isinstance(event, CallSent):
            sent.setdefault((event.session_id, event.step), []).append(event.worst)
        elif isinstance(event, Answered):
            answered.append(event.cost)
            sent.pop((event.session_id, event.step), None)
    lost = [worst.model_copy(update={"assumed_usd": worst.usd}) for calls in sent.values() for worst in calls]
    return total([*answered, *lost])
