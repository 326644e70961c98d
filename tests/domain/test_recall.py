"""Recall: which statements, searches and open questions of earlier nights a new session is given."""

from __future__ import annotations

from typing import Any

from pipeline.domain.events.stream_events import SessionConsolidated
from pipeline.domain.memory import MOST_STATEMENTS, MemoryIndex, remember
from pipeline.domain.values import Cost, Episode, Procedure, Recalled, Statement, Superseded

AT = "2026-11-21T02:15:00.000Z"


def statement(name: str, claim: str, url: str = "https://a.example/x") -> Statement:
    return Statement(fact=name, claim=claim, quote=claim, url=url, digest="0" * 64, cited=True)


def left(query: str, *statements: Statement, at: str = "2026-11-20T03:00:00.000Z", **fields: Any) -> SessionConsolidated:
    cost = Cost(total_tokens=fields.pop("tokens", 100))
    answer = Episode(at=at, answer="So.", open=fields.pop("open", ()), cost=cost)
    core = {"session_id": "memory-1", "version": 3, "session": f"{at[:10]} {query}", "up_to": 9, "head": "", "query": query}
    ids = {"query_id": fields.pop("query_id", query), "tags": fields.pop("tags", ())}
    return SessionConsolidated(**core, **ids, outcome="complete", episode=answer, statements=statements, **fields)


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
    found = recalled(left("What is a log?", LOG, BREAD, POWER))
    assert names(found) == ["log"]
    assert found.statements[0].day == "2026-11-20"


def test_what_no_answer_of_a_model_cited_is_not_recalled() -> None:
    assert recalled(left("What is a log?", LOG, tokens=0)).is_empty
    assert names(recalled(left("What is a log?", LOG.model_copy(update={"cited": False})))) == []


def test_a_superseded_statement_is_not_recalled() -> None:
    gone = left("What is a log?", at="2026-11-21T01:00:00.000Z", superseded=(Superseded(fact="log"),))
    assert names(recalled(left("What is a log?", LOG), gone)) == []


def test_a_statement_from_the_same_query_or_with_its_tag_comes_before_an_equal_one() -> None:
    one, two, three = (statement(name, LOG.claim) for name in ("one", "two", "three"))
    sessions = (left("a?", one), left("b?", two, tags=("storage",)), left("c?", three, query_id="new", tags=("storage",)))
    assert names(recalled(*sessions, tags=("storage",))) == ["three", "two", "one"]


def test_at_most_forty_statements_are_recalled() -> None:
    many = (statement(f"f{number}", LOG.claim) for number in range(100))
    assert len(recalled(left("What is a log?", *many)).statements) == MOST_STATEMENTS


def test_searches_of_sessions_on_a_like_question_are_recalled_and_fruitless_ones_of_nearly_the_same_only() -> None:
    same = "How does a write-ahead log survive a power cut or a crash?"
    way = Procedure(subject=(), queries=("wal fsync",), fruitless=("wal astrology",))
    found = recalled(
        left(same, procedures=(way,)), left("How is bread baked?", procedures=(Procedure(subject=(), queries=("bread",)),))
    )
    assert (found.queries, found.fruitless) == (("wal fsync",), ("wal astrology",))
    other = left("When does a power cut hurt?", procedures=(way,))
    assert recalled(other).fruitless == ()
    old = left(same, procedures=(way,), at="2026-09-01T03:00:00.000Z")
    assert recalled(old).fruitless == ()


def test_open_questions_are_those_of_like_sessions() -> None:
    one = left("Does a log survive a power cut?", open=("Is it slow?",))
    assert recalled(one, left("How is bread baked?", open=("How long?",))).open == ("Is it slow?",)
