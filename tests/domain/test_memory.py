"""The memory of all consolidations: the last of a session wins, in any order of streams; and what of it a new session recalls."""

from __future__ import annotations

import random
from typing import Any

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.upkeep_events import SessionConsolidated
from pipeline.domain.memory import MOST_STATEMENTS, MemoryIndex, remember
from pipeline.domain.research_values import Cost, Episode, Procedure, Recalled, Statement, Superseded

AT = "2026-11-21T02:15:00.000Z"


def statement(name: str, claim: str = "So it is.", *, cited: bool = True) -> Statement:
    return Statement(fact=name, claim=claim, quote=claim, url="https://a.example/x", digest="0" * 64, cited=cited)


def left(session: str, *statements: Statement, at: str = "", **fields: Any) -> SessionConsolidated:
    """What a session left; ``s-07`` ended on the seventh."""
    cost = Cost(total_tokens=fields.pop("tokens", 100))
    episode = Episode(at=at or f"2026-11-{session[-2:]}T03:00:00.000Z", open=fields.pop("open", ()), cost=cost)
    core = {"session_id": "memory-1", "version": 3, "up_to": 9, "head": "", "query": "What?", "query_id": "what", "tags": ()}
    kept = {"session": session, "episode": episode, "statements": statements}
    return SessionConsolidated(**{**core, **kept, **fields})


def on(query: str, *statements: Statement, at: str = "2026-11-20T03:00:00.000Z", **fields: Any) -> SessionConsolidated:
    """What a session on a question left."""
    return left(f"{at[:10]} {query}", *statements, at=at, **{"query": query, "query_id": query, **fields})


def test_the_last_consolidation_of_a_session_wins() -> None:
    old = left("s-01", statement("a"))
    new = left("s-01", statement("b"), session_id="memory-2", up_to=12)
    for events in ((old, new), (new, old)):
        memory = remember(events)
        assert memory.sessions["s-01"].up_to == 12
        assert list(memory.statements) == ["b"]


def test_a_statement_of_two_sessions_is_one_and_cited_if_either_cited_it() -> None:
    memory = remember([left("s-01", statement("a")), left("s-02", statement("a", cited=False))])
    found = memory.statements["a"]
    assert found.sessions == ("s-01", "s-02")
    assert found.statement.cited
    assert found.holds


def test_a_statement_is_superseded_until_its_source_makes_it_again() -> None:
    first = left("s-01", statement("a"))
    gone = left("s-02", statement("b"), superseded=(Superseded(fact="a"),))
    back = left("s-03", statement("a"))
    found = remember([gone, first]).statements["a"]
    assert not found.holds
    assert remember([back, gone, first]).statements["a"].holds


def test_any_order_of_streams_gives_the_same_memory() -> None:
    dice = random.Random(1)
    events: list[EventBase] = []
    for number in range(40):
        facts = [statement(f"f{dice.randrange(20)}") for _ in range(3)]
        gone = (Superseded(fact=f"f{dice.randrange(20)}"),)
        place: dict[str, Any] = {"session_id": f"memory-{number % 7}", "up_to": number, "version": number}
        events.append(left(f"s-{dice.randrange(12):02d}", *facts, superseded=gone, **place))
    expected = remember(events)
    for _ in range(20):
        dice.shuffle(events)
        found = remember(events)
        assert list(found.sessions.items()) == list(expected.sessions.items())
        assert list(found.statements.items()) == list(expected.statements.items())


def recalled(
    *sessions: SessionConsolidated, query: str = "How does a write-ahead log survive a power cut?", **fields: Any
) -> Recalled:
    return MemoryIndex(remember(sessions)).recall(query, fields.get("query_id", "new"), fields.get("tags", ()), AT)


LOG = statement("log", "A write-ahead log survives a power cut because fsync is called first.")
BREAD = statement("bread", "Sourdough bread rises slowly in the cold.")
POWER = statement("power", "Power is measured in watts.")


def names(found: Recalled) -> list[str]:
    return [one.statement.fact for one in found.statements]


def test_statements_on_the_question_are_recalled_with_their_day_and_others_are_not() -> None:
    found = recalled(on("What is a log?", LOG, BREAD, POWER))
    assert names(found) == ["log"]
    assert found.statements[0].day == "2026-11-20"


def test_what_no_answer_of_a_model_cited_is_not_recalled() -> None:
    assert recalled(on("What is a log?", LOG, tokens=0)) == Recalled()
    assert names(recalled(on("What is a log?", LOG.model_copy(update={"cited": False})))) == []


def test_a_superseded_statement_is_not_recalled() -> None:
    gone = on("What is a log?", at="2026-11-21T01:00:00.000Z", superseded=(Superseded(fact="log"),))
    assert names(recalled(on("What is a log?", LOG), gone)) == []


def test_a_statement_from_the_same_query_or_with_its_tag_comes_before_an_equal_one() -> None:
    one, two, three = (statement(name, LOG.claim) for name in ("one", "two", "three"))
    sessions = (on("a?", one), on("b?", two, tags=("storage",)), on("c?", three, query_id="new", tags=("storage",)))
    assert names(recalled(*sessions, tags=("storage",))) == ["three", "two", "one"]


def test_at_most_forty_statements_are_recalled() -> None:
    many = (statement(f"f{number}", LOG.claim) for number in range(100))
    assert len(recalled(on("What is a log?", *many)).statements) == MOST_STATEMENTS


def test_searches_of_sessions_on_a_like_question_are_recalled_and_fruitless_ones_of_nearly_the_same_only() -> None:
    same = "How does a write-ahead log survive a power cut or a crash?"
    way = Procedure(queries=("wal fsync",), fruitless=("wal astrology",))
    found = recalled(on(same, procedures=(way,)), on("How is bread baked?", procedures=(Procedure(queries=("bread",)),)))
    assert (found.queries, found.fruitless) == (("wal fsync",), ("wal astrology",))
    other = on("When does a power cut hurt?", procedures=(way,))
    assert recalled(other).fruitless == ()
    old = on(same, procedures=(way,), at="2026-09-01T03:00:00.000Z")
    assert recalled(old).fruitless == ()


def test_open_questions_are_those_of_like_sessions() -> None:
    one = on("Does a log survive a power cut?", open=("Is it slow?",))
    assert recalled(one, on("How is bread baked?", open=("How long?",))).open == ("Is it slow?",)
