"""What one session leaves behind, computed from its state alone, and the memory that all consolidations together give. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from pipeline.domain import values as v
from pipeline.domain.events.session_events import Answered, CallSent, EventBase
from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.findings import all_facts, disputed_facts, open_gaps, origin_of, page_of
from pipeline.domain.state import Failure, SearchDone, SessionState, asked_queries, cost_of, workers_in_order, working_seconds
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.ranking.query_terms import content_stems

MOST_STATEMENTS = 400  # of one session, best standing first; a report cites some dozens
_SEARCHING, _READING = ("Survey", "SearchFor"), ("Read", "Observe", "ObservePage")
# Messages of errors, so that the same trouble reads the same on every night: addresses and paths, then digests and numbers.
_ADDRESS = re.compile(r"\b[a-z]+:[^\s'\")>]+|/[\w./-]{3,}", re.IGNORECASE)
_DETAIL = re.compile(r"\b(?:[0-9a-f]{8,}|\d[\d.,:]*)\b", re.IGNORECASE)


class Remembered(NamedTuple):
    """A statement as the latest session found it, and the ids of the sessions that found it, in order of their ends.

    It ``holds`` if no later session found that its source says something else by now.
    """

    statement: v.Statement
    sessions: tuple[str, ...]
    holds: bool


@dataclass
class Memory:
    """What all sessions left behind. ``sessions`` holds the last consolidation of each, in order of their ends.

    A session's last consolidation is that of the stream whose id, which begins with its time, comes last.
    """

    sessions: dict[str, SessionConsolidated] = field(default_factory=dict)

    @cached_property
    def statements(self) -> dict[str, Remembered]:
        """Each statement by fact id, in order of the sessions that found it first; it is cited if any of them cited it."""
        found: dict[str, list[tuple[str, v.Statement]]] = {}
        gone: set[str] = set()
        for name, one in self.sessions.items():
            for statement in one.statements:
                found.setdefault(statement.fact, []).append((name, statement))
                gone.discard(statement.fact)  # its source makes it again
            gone.update(statement.fact for statement in one.superseded)
        remembered = {}
        for fact, entries in found.items():
            cited = any(statement.cited for _, statement in entries)
            latest = entries[-1][1].model_copy(update={"cited": cited})
            remembered[fact] = Remembered(latest, tuple(name for name, _ in entries), fact not in gone)
        return remembered


def remember(events: Iterable[EventBase]) -> Memory:
    """Return the memory that events of any number of streams, in any order, fold to. Events of other types are skipped.

    Of a session the consolidation counts that began last; of those in the same second, that of its later version.
    """

    def when(event: SessionConsolidated) -> tuple[str, int, str, int]:
        return event.session_id.rpartition("-")[0], event.up_to, event.session_id, event.version

    latest: dict[str, SessionConsolidated] = {}
    for event in events:
        if isinstance(event, SessionConsolidated):
            latest[event.session] = max(latest.get(event.session, event), event, key=when)
    ordered = sorted(latest.values(), key=lambda event: (event.episode.at, event.session))
    return Memory({event.session: event for event in ordered})


def consolidated(state: SessionState, head: str = "") -> SessionConsolidated:
    """Return what an ended session leaves behind; ``head`` is the SHA-256 of its last event's JSON."""
    report, facts = state.report, all_facts(state)
    cited = {name for reference in report.references for name in reference.facts} if report else set()
    summary = report.summary if report else ()
    gaps = tuple(dict.fromkeys(gap.question for gap in (report.unknowns if report else open_gaps(state))))
    changes = state.changes
    episode = v.Episode(
        question=state.query,
        at=state.ended_at,
        outcome=state.status,
        answer=" ".join(sentence.text for sentence in summary) if report else state.end_reason,
        title=report.title if report else "",
        facts=tuple(dict.fromkeys(name for sentence in summary for name in sentence.facts)),
        open=(state.query,) if state.status == "not-found" else gaps,
        cost=cost_of(state),
        seconds=working_seconds(state),
    )
    return SessionConsolidated(
        session=state.id,
        up_to=state.version,
        head=head,
        query=state.query,
        query_id=state.query_id,
        tags=state.tags,
        outcome=state.status,
        episode=episode,
        statements=tuple(_statements(state, facts, cited)),
        superseded=(
            *(v.Superseded(fact=pair.before.id, by=pair.after) for pair in (changes.changed if changes else ())),
            *(v.Superseded(fact=fact.id) for fact in (changes.gone if changes else ())),
        ),
        yields=tuple(_page_yields(state, facts, cited)),
        procedures=_procedures(state, facts, cited),
        solutions=_solutions(state),
    )


def _statements(state: SessionState, facts: Iterable[v.Fact], cited: Set[str]) -> Iterator[v.Statement]:
    disputed = disputed_facts(state)
    found = [fact for fact in facts if fact.id in cited or fact.id in disputed]
    for fact in sorted(found, key=lambda fact: fact.id not in cited)[:MOST_STATEMENTS]:
        yield v.Statement(
            fact=fact.id,
            claim=fact.claim,
            quote=fact.quote,
            url=fact.url,
            digest=fact.digest,
            standing="disputed" if fact.id in disputed else "single",
            cited=fact.id in cited,
        )


def _searches(state: SessionState) -> Iterator[tuple[str, SearchDone]]:
    """Yield the searches by query in the order of the plan: the survey first, each once."""
    if state.survey:
        yield state.query, state.survey
    asked = dict.fromkeys(query for worker in workers_in_order(state) for query in asked_queries(worker))
    yield from ((query, state.searches[query]) for query in asked if query in state.searches)


def _page_yields(state: SessionState, facts: Iterable[v.Fact], cited: Set[str]) -> Iterator[v.Yield]:
    """Yield what came of the pages of each origin and of the provider whose search found them first."""
    providers: dict[str, str] = {}
    for _query, done in _searches(state):
        for hit in done.hits:
            providers.setdefault(page_of(hit.url), done.provider)
    reads = (one for one in state.failures.values() if one.step.startswith("Read:") and one.final)
    failed = {url: one.error for one in reads if (url := one.step.removeprefix("Read:")) not in state.pages}
    groups: dict[tuple[str, str], list[str]] = {}
    for url in sorted({*state.pages, *failed}):
        groups.setdefault((origin_of(url), providers.get(url, "")), []).append(url)
    found = Counter(fact.url for fact in facts)
    used = Counter(fact.url for fact in facts if fact.id in cited)
    for (origin, provider), urls in sorted(groups.items()):
        yield v.Yield(
            origin=origin,
            provider=provider,
            read=sum(url in state.pages for url in urls),
            failed=dict(sorted(Counter(failed[url] for url in urls if url in failed).items())),
            facts=sum(found[url] for url in urls),
            cited=sum(used[url] for url in urls),
        )


def _procedures(state: SessionState, facts: Iterable[v.Fact], cited: Set[str]) -> tuple[v.Procedure, ...]:
    of_facts, of_cited = {fact.url for fact in facts}, {fact.url for fact in facts if fact.id in cited}
    pages = {query: {page_of(hit.url) for hit in done.hits} for query, done in _searches(state)}
    useful = tuple(query for query, found in pages.items() if found & of_cited)
    fruitless = tuple(query for query, found in pages.items() if not found & of_facts)
    subject = tuple(sorted(content_stems(state.query)))
    return (v.Procedure(subject=subject, queries=useful, fruitless=fruitless),) if useful or fruitless else ()


def _solutions(state: SessionState) -> tuple[v.Solution, ...]:
    """Return each kind of error once for each way in which it was met, sorted."""
    pairs = [*((one, True) for one in state.past_failures), *((one, False) for one in state.failures.values())]
    pairs.sort(key=lambda pair: (pair[0].step, pair[0].at, pair[0].final))
    found = {}
    for failure, past in pairs:
        met, worked = _met(state, failure, past=past)
        kind, _, rest = failure.step.partition(":")
        model = "" if state.config.reasoner == v.EXTRACTIVE else state.config.reasoner
        where = origin_of(rest) if kind == "Read" else "+".join(state.config.search) if kind in _SEARCHING else model
        message = plain_message(failure.message)
        one = v.Solution(error=failure.error, step=kind, where=where, message=message, met=met, worked=worked)
        found[one.model_dump_json()] = one
    return tuple(found[name] for name in sorted(found))


def _met(state: SessionState, failure: Failure, *, past: bool) -> tuple[v.Met, bool]:
    if past:
        return "reopening", failure.met
    if failure.met:
        return "retry", True
    if failure.step in state.without_model:
        return "fallback", True
    if _kind(failure) in _READING and failure.final and state.facts:
        return "other page", True
    return "nothing", False


def _kind(failure: Failure) -> str:
    return failure.step.partition(":")[0]


def plain_message(message: str) -> str:
    """Return an error's message without addresses, paths and numbers."""
    return one_line(_DETAIL.sub("#", _ADDRESS.sub("…", one_line(message, 1_000))), 200)


def episode_step(session: str) -> str:
    """Return the key of the step that shortens a session. It holds a digest of the id: forgetting a session leaves no name."""
    return f"Episode:{digest_of(session.encode())[:12]}"


def cost_of_calls(events: Iterable[EventBase]) -> v.Cost:
    """Return what a model cost in memory streams. A call without a recorded answer counts at its worst case."""
    answered: list[v.Cost] = []
    sent: dict[tuple[str, str], list[v.Cost]] = {}
    for event in events:
        if isinstance(event, CallSent):
            sent.setdefault((event.session_id, event.step), []).append(event.worst)
        elif isinstance(event, Answered):
            answered.append(event.cost)
            sent.pop((event.session_id, event.step), None)
    return v.total([*answered, *(v.assumed(worst) for calls in sent.values() for worst in calls)])
