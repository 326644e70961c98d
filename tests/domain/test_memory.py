"""The memory of all consolidations: the last of a session wins, and no order of streams makes a difference."""

from __future__ import annotations

import random
from typing import Any

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.memory import remember
from pipeline.domain.values import Episode, Statement, Superseded


def statement(name: str, **fields: Any) -> Statement:
    return Statement(
        fact=name, claim=f"Claim {name}.", quote=f"Quote {name}.", url="https://a.example/x", digest="0" * 64, **fields
    )


def left(
    session: str, stream: str = "memory-1", at: str = "", up_to: int = 9, version: int = 3, **fields: Any
) -> SessionConsolidated:
    episode = Episode(at=at or f"2026-11-{session[-2:]}T03:00:00.000Z", answer="So.")
    core = {"session_id": stream, "version": version, "session": session, "up_to": up_to, "head": "", "query": "What?"}
    return SessionConsolidated(**core, query_id="what", tags=(), outcome="complete", episode=episode, **fields)


def test_the_last_consolidation_of_a_session_wins() -> None:
    old = left("s-01", up_to=9, statements=(statement("a"),))
    new = left("s-01", stream="memory-2", up_to=12, statements=(statement("b"),))
    for events in ((old, new), (new, old)):
        memory = remember(events)
        assert memory.sessions["s-01"].up_to == 12
        assert list(memory.statements) == ["b"]


def test_a_statement_of_two_sessions_is_one_and_cited_if_either_cited_it() -> None:
    memory = remember([left("s-01", statements=(statement("a", cited=True),)), left("s-02", statements=(statement("a"),))])
    found = memory.statements["a"]
    assert found.sessions == ("s-01", "s-02")
    assert found.statement.cited
    assert found.holds


def test_a_statement_is_superseded_until_its_source_makes_it_again() -> None:
    first = left("s-01", statements=(statement("a"),))
    gone = left("s-02", superseded=(Superseded(fact="a", by="b"),), statements=(statement("b"),))
    back = left("s-03", statements=(statement("a"),))
    found = remember([gone, first]).statements["a"]
    assert not found.holds
    assert remember([back, gone, first]).statements["a"].holds


def test_any_order_of_streams_gives_the_same_memory() -> None:
    dice = random.Random(1)
    events: list[EventBase] = []
    for number in range(40):
        stream = f"memory-{number % 7}"
        facts = tuple(statement(f"f{dice.randrange(20)}") for _ in range(3))
        gone = (Superseded(fact=f"f{dice.randrange(20)}"),)
        session = f"s-{dice.randrange(12):02d}"
        events.append(left(session, stream, up_to=number, version=number, statements=facts, superseded=gone))
    expected = remember(events)
    for _ in range(20):
        dice.shuffle(events)
        found = remember(events)
        assert list(found.sessions.items()) == list(expected.sessions.items())
        assert list(found.statements.items()) == list(expected.statements.items())
