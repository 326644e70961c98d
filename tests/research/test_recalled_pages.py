"""What a session does with what earlier nights found: pages read again, searches left out, and nothing cited unread."""

from __future__ import annotations

from typing import Any

from pipeline.domain.agenda import worker_steps
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import chosen_pages
from pipeline.domain.research_values import (
    EarlierSession,
    Hit,
    Perspective,
    Recalled,
    RecalledStatement,
    ResearchConfig,
    Statement,
)
from pipeline.domain.session_state import Failure, SessionState, plan_of
from pipeline.domain.steps import FetchPage, FinishWorker
from pipeline.errors import GONE
from pipeline.research.planning_and_searching import recalled_pages
from pipeline.research.report_assembly import limits
from tests.fakes import MemoryStore
from tests.vault.builders import Scribe

QUESTION = "How deep is the harbour at low tide?"
VIEW = Perspective(id="basic-facts", name="Facts", focus="", questions=(QUESTION,))


def statement(number: int, url: str, claim: str = "The harbour is deep at low tide.") -> RecalledStatement:
    found = Statement(fact=f"f{number}", claim=f"{claim} {number}", quote=claim, url=url, digest="0" * 64)
    return RecalledStatement(statement=found, session="s-0", day="2026-11-01")


def recalled(*urls: str, **fields: Any) -> Recalled:
    return Recalled(statements=tuple(statement(number, url) for number, url in enumerate(urls)), **fields)


def session(known: Recalled | None, *, search: tuple[str, ...] = ("local",), **config: Any) -> Scribe:
    scribe = Scribe(MemoryStore(), "s-1")
    limits = ResearchConfig(search=search, pages_per_iteration=6, reads_survey=True, **config)
    scribe.note(e.RunStarted(), e.ResearchStarted(query=QUESTION, query_id="harbour", config=limits))
    if known:
        scribe.note(e.MemoryRecalled(recalled=known))
    hits = tuple(Hit(url=f"corpus:new-{number}.md", title="New") for number in range(9))
    scribe.note(
        e.TopicSurveyed(provider="local", hits=hits),
        e.PlanCreated(perspectives=(VIEW,), nodes=plan_of((VIEW,))),
        e.WorkerStarted(worker_id="search_0", perspective_id="basic-facts"),
    )
    return scribe


def thought_of(scribe: Scribe, queries: tuple[str, ...], pages: tuple[str, ...]) -> SessionState:
    scribe.note(e.WorkerThought(worker_id="search_0", iteration=1, reasoning="", queries=queries, pages=pages))
    return scribe.session.state


def test_pages_that_answered_the_question_are_read_again_those_with_most_answers_first() -> None:
    known = recalled("corpus:b.md", "corpus:a.md", "corpus:a.md")
    other = RecalledStatement(statement=statement(9, "corpus:c.md", "Bread rises.").statement, session="s-0", day="2026-11-01")
    known = known.model_copy(update={"statements": (*known.statements, other)})
    assert recalled_pages(session(known).session.state, VIEW) == ("corpus:a.md", "corpus:b.md")


def test_a_session_reads_only_what_its_own_searches_may_read() -> None:
    known = recalled("corpus:a.md", "https://a.example/x")
    assert recalled_pages(session(known).session.state, VIEW) == ("corpus:a.md",)
    assert recalled_pages(session(known, search=("brave",)).session.state, VIEW) == ("https://a.example/x",)
    assert recalled_pages(session(None).session.state, VIEW) == ()


def test_beside_a_search_recalled_pages_are_one_more_ranking_and_fewer_others_are_read() -> None:
    state = thought_of(session(recalled("corpus:a.md")), ("deep harbour",), ("corpus:a.md",))
    assert chosen_pages(state, state.workers["search_0"], 1) == ("corpus:a.md", "corpus:new-0.md", "corpus:new-1.md")


def test_a_recalled_document_that_is_gone_fails_no_perspective_and_the_report_says_so() -> None:
    state = thought_of(session(recalled("corpus:gone.md"), reasoner="m"), (), ("corpus:gone.md",))
    state.survey, key = None, FetchPage("corpus:gone.md").key
    state.failures[key] = Failure(key, 1, True, "ReadFailed", f"gone.md: {GONE}", "")
    assert list(worker_steps(state, state.nodes["search_0"])) == [FinishWorker("search_0", "no page that was not read")]
    assert list(limits(state)) == [f"1 page could not be read: gone.md: {GONE}"]


def test_a_question_that_is_researched_again_reads_as_many_pages_as_without_memory() -> None:
    state = thought_of(session(recalled("corpus:a.md")), (), ("corpus:a.md",))
    state.earlier = EarlierSession(session="s-0", reported_at="2026-11-14", facts=(), sources=(), cited=())
    assert len(chosen_pages(state, state.workers["search_0"], 1)) == 6
