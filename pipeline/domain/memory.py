"""Memory: what one session leaves behind, what all consolidations give together, and what of it a new question recalls. Pure.

Of sessions without a model nothing is recalled, and of the others only the statements that an answer cited.
Statements are ranked by BM25 over their stems (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75). That ranking is fused by
reciprocal ranks with two others: statements of sessions on the same query, and of sessions that share a tag with it. A statement
is recalled only if it covers a third of the question's rarity, or comes from a session on nearly the same subject.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from pipeline.domain import values as v
from pipeline.domain.events.session_events import Answered, CallSent, EventBase
from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.findings import all_facts, disputed_facts, open_gaps, origin_of, page_of
from pipeline.domain.state import Failure, SearchDone, SessionState, asked_queries, cost_of, workers_in_order, working_seconds
from pipeline.domain.values import OriginRecord, Recalled, RecalledEpisode, RecalledStatement
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.ranking.rank_fusion import rank_score
from pipeline.text.times import moment_of, timestamp
from pipeline.text.words import jaccard, stems

MOST_KEPT = 400  # of one session, best standing first; a report cites some dozens
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
    for fact in sorted(found, key=lambda fact: fact.id not in cited)[:MOST_KEPT]:
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


MOST_STATEMENTS, MOST_QUERIES, MOST_ORIGINS, MOST_OPEN = 40, 10, 10, 10
MOST_EPISODES = 5
LEAST_COVERAGE = 1 / 3  # of the question's rarity, for a statement of a session on another subject
SAME_SUBJECT = 0.5  # Jaccard similarity of two questions' stems
NEAR_SUBJECT = 0.25
FAILURES, FAILED_WITHIN = 3, timedelta(days=30)
_CANDIDATES = 400  # best by BM25 that the fusion looks at
_K1, _B = 1.2, 0.75


class MemoryIndex:
    """An inverted index over the statements of a memory that still hold."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        asked = [one for one in memory.sessions.values() if one.episode.cost.total_tokens]
        cited = {statement.fact for one in asked for statement in one.statements if statement.cited}
        self._held = [one for one in memory.statements.values() if one.holds and one.statement.fact in cited]
        self._postings = _postings([stems(one.statement.claim) for one in self._held])
        self._newest_first: tuple[SessionConsolidated, ...] = tuple(reversed(asked))
        self._subjects = {one.session: content_stems(one.query) for one in self._newest_first}
        self._from_session: dict[str, list[int]] = {}
        for place, one in enumerate(self._held):
            for session in one.sessions:
                self._from_session.setdefault(session, []).append(place)

    def recall(self, query: str, query_id: str, tags: Iterable[str], at: str) -> Recalled:
        """Return what is known on a question; ``at`` is the time of the new session as an event's timestamp."""
        wanted = content_stems(query)
        likeness = {name: jaccard(wanted, subject) for name, subject in self._subjects.items()}
        near = sorted((name for name in likeness if likeness[name] >= NEAR_SUBJECT), key=lambda name: -likeness[name])
        chosen = [self._held[place] for place in self._ranked(wanted, query_id, frozenset(tags), likeness)[:MOST_STATEMENTS]]
        sessions = [self._memory.sessions[name] for name in near]
        return Recalled(
            statements=tuple(
                RecalledStatement(statement=one.statement, session=name, day=self._memory.sessions[name].episode.at[:10])
                for one in chosen
                for name in one.sessions[-1:]
            ),
            queries=_first(MOST_QUERIES, (query for one in sessions for way in one.procedures for query in way.queries)),
            fruitless=_first(MOST_QUERIES, self._fruitless(sessions, likeness, at)),
            origins=self._failing(_recently(at)),
            open=_first(MOST_OPEN, (question for one in sessions for question in one.episode.open)),
            unhelpful=_first(MOST_ORIGINS, _unhelpful(sessions, _recently(at))),
            episodes=tuple(
                RecalledEpisode(
                    question=one.query, day=one.episode.at[:10], text=" ".join(part.text for part in one.episode.sentences)
                )
                for one in [one for one in sessions if one.episode.sentences][:MOST_EPISODES]
            ),
        )

    def _ranked(self, wanted: frozenset[str], query_id: str, tags: frozenset[str], likeness: dict[str, float]) -> list[int]:
        rare = self._rarities(wanted)
        scores = self._scores(rare)
        same = {place for name in likeness if likeness[name] >= SAME_SUBJECT for place in self._from_session.get(name, ())}
        likely = heapq.nlargest(_CANDIDATES, scores, key=scores.__getitem__)
        best = [place for place in likely if place in same or self._covered(place, rare) >= LEAST_COVERAGE]
        mine = [place for place in best if self._is_from(place, lambda one: one.query_id == query_id)]
        tagged = [place for place in best if tags and self._is_from(place, lambda one: not tags.isdisjoint(one.tags))]
        fused: dict[int, float] = {}
        for ranking in (best, mine, tagged):
            for rank, place in enumerate(ranking, start=1):
                fused[place] = fused.get(place, 0.0) + rank_score(rank)
        return sorted(fused, key=lambda place: (-round(fused[place], 9), place))

    def _is_from(self, place: int, fits: Callable[[SessionConsolidated], bool]) -> bool:
        return any(fits(self._memory.sessions[name]) for name in self._held[place].sessions)

    def _scores(self, rare: dict[str, float]) -> dict[int, float]:
        """Return BM25 by place, of the statements that hold one of the words."""
        scores: dict[int, float] = {}
        for stem, weight in rare.items():
            for place, impact in self._postings.get(stem, ()):
                scores[place] = scores.get(place, 0.0) + weight * impact
        return scores

    def _covered(self, place: int, rare: dict[str, float]) -> float:
        """Return the share of the question's rarity that a statement holds."""
        held = rare.keys() & frozenset(stems(self._held[place].statement.claim))
        return sum(weight for stem, weight in rare.items() if stem in held) / (sum(rare.values()) or 1.0)

    def _rarities(self, wanted: frozenset[str]) -> dict[str, float]:
        """Return the inverse document frequency of each stem."""
        counts = {stem: len(self._postings.get(stem, ())) for stem in sorted(wanted)}
        return {stem: math.log(1 + (len(self._held) - count + 0.5) / (count + 0.5)) for stem, count in counts.items()}

    def _fruitless(self, near: Sequence[SessionConsolidated], likeness: dict[str, float], at: str) -> Iterator[str]:
        """Yield the searches of recent sessions on the same subject that led to no fact, and of no other that led to one."""
        since = _recently(at)
        useful = {query for one in near for way in one.procedures for query in way.queries}
        for one in near:
            if likeness[one.session] >= SAME_SUBJECT and one.episode.at >= since:
                yield from (query for way in one.procedures for query in way.fruitless if query not in useful)

    def _failing(self, since: str) -> tuple[OriginRecord, ...]:
        """Return the origins that failed three times or more ``since`` then and were never read, most failures first."""
        recent: Counter[str] = Counter()
        for one in self._newest_first:
            for entry in one.yields if one.episode.at >= since else ():
                recent[entry.origin] += sum(entry.failed.values())
        read = {entry.origin for one in self._memory.sessions.values() for entry in one.yields if entry.read}
        often = [name for name, count in recent.items() if name and count >= FAILURES and name not in read]
        often.sort(key=lambda name: (-recent[name], name))
        return tuple(OriginRecord(origin=name, failed=recent[name], failing=True) for name in often[:MOST_ORIGINS])


def _unhelpful(near: Sequence[SessionConsolidated], since: str) -> Iterator[str]:
    """Yield the documents that the sessions read ``since`` then, and that none of them ever cited.

    Hosts are not among them: a host has pages that the sessions did not read.
    """
    cited = {entry.origin for one in near for entry in one.yields if entry.cited}
    read = (entry.origin for one in near if one.episode.at >= since for entry in one.yields if entry.read and ":" in entry.origin)
    yield from (origin for origin in read if origin not in cited)


def _postings(texts: Sequence[Sequence[str]]) -> dict[str, list[tuple[int, float]]]:
    """Return for each stem the places of the texts that hold it, each with its saturated frequency."""
    average = sum(map(len, texts)) / (len(texts) or 1) or 1.0
    found: dict[str, list[tuple[int, float]]] = {}
    for place, text in enumerate(texts):
        norm = _K1 * (1 - _B + _B * len(text) / average)
        for stem, count in Counter(text).items():
            found.setdefault(stem, []).append((place, count * (_K1 + 1) / (count + norm)))
    return found


def _recently(at: str) -> str:
    """Return the time from which a session counts as recent; timestamps of events sort as they stand."""
    return timestamp(moment_of(at) - FAILED_WITHIN)


def _first(most: int, found: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(found), most))
