"""Memory: what one session leaves behind, what all consolidations give together, and what of it a new question recalls. Pure.

Of sessions without a model nothing is recalled, and of the others only the statements that an answer cited.
Statements are ranked by the share of the question's words, weighted by their rarity among all statements, that they hold; of
equal ones those of the same query come first, then those with a tag of it. One that holds less than a third is recalled only from
a session on nearly the same subject.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from pipeline.domain import research_values as v
from pipeline.domain.events.session_events import Answered, EventBase
from pipeline.domain.events.stream_records import begin_of
from pipeline.domain.events.upkeep_events import SessionConsolidated
from pipeline.domain.fold import lost_calls
from pipeline.domain.page_choice_and_findings import all_facts, disputed_facts, open_gaps, without_fragment
from pipeline.domain.research_values import Recalled, RecalledEpisode, RecalledStatement
from pipeline.domain.session_state import SessionState, asked_queries, cost_of, workers_in_order
from pipeline.text.questions import content_stems
from pipeline.text.times import moment_of, timestamp
from pipeline.text.words import jaccard, stems

MOST_KEPT = 400  # statements of one session, the cited ones first; a report cites some dozens
MOST_STATEMENTS, MOST_QUERIES, MOST_OPEN, MOST_EPISODES = 40, 10, 10, 5
LEAST_COVERAGE = 1 / 3  # of the question's rarity, for a statement of a session on another subject
SAME_SUBJECT = 0.5  # Jaccard similarity of two questions' stems
NEAR_SUBJECT = 0.25
RECENT = timedelta(days=30)


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
        return begin_of(event.session_id), event.up_to, event.session_id, event.version

    latest: dict[str, SessionConsolidated] = {}
    for event in events:
        if isinstance(event, SessionConsolidated):
            latest[event.session] = max(latest.get(event.session, event), event, key=when)
    ordered = sorted(latest.values(), key=lambda event: (event.episode.at, event.session))
    return Memory({event.session: event for event in ordered})


def consolidated(state: SessionState, head: str = "") -> SessionConsolidated:
    """Return what an ended session leaves behind; ``head`` is the SHA-256 of its last event's JSON."""
    report, facts, changes = state.report, all_facts(state), state.changes
    gaps = tuple(dict.fromkeys(gap.question for gap in (report.unknowns if report else open_gaps(state))))
    episode = v.Episode(at=state.ended_at, open=(state.query,) if state.status == "not-found" else gaps, cost=cost_of(state))
    no_longer_said = (*(pair.before for pair in changes.changed), *changes.gone) if changes else ()
    cited = {name for reference in report.references for name in reference.facts} if report else set()
    disputed = disputed_facts(state)
    kept = sorted((fact for fact in facts if fact.id in cited or fact.id in disputed), key=lambda fact: fact.id not in cited)
    searches = {state.query: state.survey.hits} if state.survey else {}  # in the order of the plan: the survey first, each once
    for query in (query for worker in workers_in_order(state) for query in asked_queries(worker)):
        if query in state.searches:
            searches.setdefault(query, state.searches[query].hits)
    with_facts, with_cited = {fact.url for fact in facts}, {fact.url for fact in facts if fact.id in cited}
    pages = {query: {without_fragment(hit.url) for hit in hits} for query, hits in searches.items()}
    procedure = v.Procedure(
        queries=tuple(query for query, found in pages.items() if found & with_cited),
        fruitless=tuple(query for query, found in pages.items() if not found & with_facts),
    )
    return SessionConsolidated(
        session=state.id,
        up_to=state.version,
        head=head,
        query=state.query,
        query_id=state.query_id,
        tags=state.tags,
        episode=episode,
        statements=tuple(
            v.Statement(
                **{name: getattr(fact, name) for name in ("claim", "quote", "url", "digest")},
                fact=fact.id,
                cited=fact.id in cited,
            )
            for fact in kept[:MOST_KEPT]
        ),
        superseded=tuple(v.Superseded(fact=fact.id) for fact in no_longer_said),
        procedures=(procedure,) if procedure.queries or procedure.fruitless else (),
    )


def cost_of_calls(events: Iterable[EventBase]) -> v.Cost:
    """Return what a model cost in memory streams. A call without a recorded answer counts at its worst case."""
    known = list(events)
    answered = (event.cost for event in known if isinstance(event, Answered))
    return v.total([*answered, *(v.assumed(call.worst) for call in lost_calls(known))])


class MemoryIndex:
    """The statements of a memory that still hold and that an answer of a model cited, with the stems of their claims."""

    def __init__(self, memory: Memory) -> None:
        self._sessions = memory.sessions
        self._newest_first = [one for one in reversed(memory.sessions.values()) if one.episode.cost.total_tokens]
        cited = {statement.fact for one in self._newest_first for statement in one.statements if statement.cited}
        held = [one for one in memory.statements.values() if one.holds and one.statement.fact in cited]
        self._held = [(one, frozenset(stems(one.statement.claim))) for one in held]
        self._counts = Counter(stem for _, said in self._held for stem in said)
        self._subjects = {one.session: content_stems(one.query) for one in self._newest_first}

    def recall(self, query: str, query_id: str, tags: Iterable[str], at: str) -> Recalled:
        """Return what is known on a question; ``at`` is the time of the new session as an event's timestamp."""
        wanted, since = content_stems(query), timestamp(moment_of(at) - RECENT)  # timestamps of events sort as they stand
        likeness = {name: jaccard(wanted, subject) for name, subject in self._subjects.items()}
        near = [one for one in self._newest_first if likeness[one.session] >= NEAR_SUBJECT]
        near.sort(key=lambda one: -likeness[one.session])
        useful = {text for one in near for way in one.procedures for text in way.queries}
        same = [one for one in near if likeness[one.session] >= SAME_SUBJECT and one.episode.at >= since]
        tried = (text for one in same for way in one.procedures for text in way.fruitless)
        return Recalled(
            statements=tuple(islice(self._statements(wanted, query_id, frozenset(tags), likeness), MOST_STATEMENTS)),
            queries=_first(MOST_QUERIES, (text for one in near for way in one.procedures for text in way.queries)),
            fruitless=_first(MOST_QUERIES, (text for text in tried if text not in useful)),
            open=_first(MOST_OPEN, (question for one in near for question in one.episode.open)),
            episodes=tuple(
                RecalledEpisode(
                    question=one.query, day=one.episode.at[:10], text=" ".join(part.text for part in one.episode.sentences)
                )
                for one in [one for one in near if one.episode.sentences][:MOST_EPISODES]
            ),
        )

    def _statements(
        self, wanted: Set[str], query_id: str, tags: Set[str], likeness: Mapping[str, float]
    ) -> Iterator[RecalledStatement]:
        """Yield the statements on a question with those stems, best first; see above."""
        counts = {stem: self._counts[stem] for stem in sorted(wanted)}
        rarity = {stem: math.log(1 + (len(self._held) - count + 0.5) / (count + 0.5)) for stem, count in counts.items()}
        whole = sum(rarity.values()) or 1.0
        ranked: list[tuple[float, bool, bool, int]] = []
        for place, (one, said) in enumerate(self._held):
            coverage = sum(weight for stem, weight in rarity.items() if stem in said) / whole
            least = 0.0 if any(likeness.get(name, 0.0) >= SAME_SUBJECT for name in one.sessions) else LEAST_COVERAGE
            if coverage and coverage >= least:
                sessions = [self._sessions[name] for name in one.sessions]
                is_same = any(session.query_id == query_id for session in sessions)
                is_tagged = any(not tags.isdisjoint(session.tags) for session in sessions)
                ranked.append((-round(coverage, 2), not is_same, not is_tagged, place))
        for *_, place in sorted(ranked):
            one, last = self._held[place][0], self._held[place][0].sessions[-1]
            yield RecalledStatement(statement=one.statement, session=last, day=self._sessions[last].episode.at[:10])


def _first(most: int, found: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(found), most))
