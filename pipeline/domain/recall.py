"""Recall: what memory holds on a new question. Pure; made once for a run, asked once for each new session with a model.

Of sessions without a model nothing is recalled, and of the others only the statements that an answer cited.
Statements are ranked by BM25 over their stems (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75). That ranking is fused by
reciprocal ranks with two others: statements of sessions on the same query, and of sessions that share a tag with it. A statement
is recalled only if it covers a third of the question's rarity, or comes from a session on nearly the same subject.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice

from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.memory import Memory
from pipeline.domain.values import OriginRecord, Recalled, RecalledEpisode, RecalledStatement
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.ranking.rank_fusion import rank_score
from pipeline.text.times import moment_of, timestamp
from pipeline.text.words import jaccard, stems

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
