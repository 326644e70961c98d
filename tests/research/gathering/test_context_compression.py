from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.domain import reasoner_questions as q
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode
from pipeline.domain.reasoner_questions import FoldMode
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import Iteration, PageDone, PageObserved, SearchDone, SessionState, Worker
from pipeline.domain.steps import Fold
from pipeline.domain.values import Fact, Hit, Perspective, ResearchConfig
from pipeline.engine.loop import run_session
from pipeline.research.gathering.context_compression import RECENT, context_of, fold_context
from pipeline.text.normalise import tokens
from tests.engine.test_loop import begin
from tests.fakes import FakeReasoner, Journal, MemoryStore, context_for, desk_for

VIEW = Perspective(id="view", name="View", focus="pumps", questions=("What of pumps?",))


@dataclass
class Folder(FakeReasoner):
    """Folds as told, and keeps the questions."""

    modes: list[FoldMode] = field(default_factory=list)
    summary: str = ""
    asked: list[q.FoldQuestion] = field(default_factory=list)

    def _fold(self, question: q.FoldQuestion) -> q.FoldedContext:
        self.asked.append(question)
        mode = self.modes.pop(0) if self.modes else "granular"
        return q.FoldedContext(summary=self.summary or f"fold {len(self.asked)}", mode=mode)


def with_iterations(count: int, **config: Any) -> SessionState:
    """A worker that read one page an iteration and found one fact on each."""
    state = SessionState(id="s1", query="pumps", config=ResearchConfig(**config))
    state.perspectives["view"] = VIEW
    worker = state.workers["search_0"] = Worker("search_0", "view", 0, "")
    for number in range(1, count + 1):
        url = f"corpus:page-{number}.md"
        fact = Fact(id=f"f{number}", claim="c", quote=f"Pump {number} is loud.", url=url, digest="d")
        state.searches[f"query {number}"] = SearchDone("fake", (Hit(url=url, title=""),))
        state.pages[url] = PageDone(url, f"Page {number}", "d", 1, "")
        observed = {url: PageObserved((fact,), ())}
        worker.iterations.append(Iteration(f"Why {number}?", (f"query {number}",), observed, True, False, ("What of pumps?",)))
    return state


def folded(state: SessionState, reasoner: Any) -> e.ContextFolded:
    """Fold the worker's context once, and apply the event as a session would."""
    worker = state.workers["search_0"]
    step_context = desk_for(MemoryStore(), Journal())
    step_context = type(step_context)(reasoner, step_context.search, step_context.fetch, step_context.page_text)
    (event,) = asyncio.run(fold_context(Fold(worker.id, worker.folds + 1), state, step_context)).drafts
    assert isinstance(event, e.ContextFolded)
    worker.folds, worker.folded, worker.summary, worker.levels = (
        event.fold,
        len(worker.iterations),
        event.summary,
        event.levels or (event.summary,),
    )
    return event


def test_granular_folds_renew_level_0_and_deep_ones_go_to_level_1_then_2() -> None:
    state, reasoner = with_iterations(1), Folder(Journal(), modes=["granular", "deep", "granular", "deep", "deep"])
    levels = [folded(state, reasoner).levels for _ in range(5)]
    assert levels == [
        ("fold 1",),
        ("", "fold 2"),
        ("fold 3", "fold 2"),
        ("", "", "fold 4"),
        ("", "fold 5", "fold 4"),
    ]
    assert [question.deep_level for question in reasoner.asked] == [1, 1, 2, 2, 1]
    assert state.workers["search_0"].summary == "fold 4\nfold 5"


def test_only_what_was_found_since_the_last_fold_is_folded() -> None:
    state, reasoner = with_iterations(2), Folder(Journal())
    folded(state, reasoner)
    more = with_iterations(3)
    more.workers["search_0"].levels, more.workers["search_0"].folded = ("fold 1",), 2
    folded(more, reasoner)
    assert [[fact.id for fact in question.facts] for question in reasoner.asked] == [["f1", "f2"], ["f3"]]
    assert reasoner.asked[1].context.folded == ("f1", "f2")


def test_a_context_holds_the_last_five_interactions_and_all_that_was_used() -> None:
    state = with_iterations(3)
    context = context_of(state, state.workers["search_0"])
    assert len(context.recent) == RECENT
    assert context.recent[-3:] == (
        "Thought 3: Why 3? Searched for: query 3.",
        "Read Page 3: 1 fact.",
        "Evaluation 3: still open: What of pumps?.",
    )
    assert context.queries == ("query 1", "query 2", "query 3")
    assert context.pages == ("Page 1", "Page 2", "Page 3")


@pytest.mark.parametrize("summary", ["word " * 5_000, "line of words\n" * 5_000, "é" * 9_000])
def test_a_summary_that_is_too_long_is_cut_to_its_limit(summary: str) -> None:
    event = folded(with_iterations(1, context_tokens=800), Folder(Journal(), summary=summary))
    assert 0 < event.tokens_after <= 100
    assert event.tokens_after == tokens(event.summary)


def test_a_fold_of_an_older_program_is_read_as_one_level() -> None:
    event = decode(
        b'{"id":"1","session_id":"s","version":1,"type":"context.folded","at":"","run_id":"r","worker_id":"w","fold":1,'
        b'"summary":"old","tokens_before":9,"tokens_after":1}'
    )
    assert isinstance(event, e.ContextFolded)
    assert (event.mode, event.level, event.levels) == ("granular", 0, ())


def test_a_session_opened_again_has_the_folds_that_its_events_tell_of() -> None:
    store, context = MemoryStore(), context_for()
    session = begin(store, context, context_tokens=200)
    state = asyncio.run(run_session(session, store, desk_for(store, Journal()), context))
    levels = {name: worker.levels for name, worker in state.workers.items()}
    opened = ResearchSession.open(store, "s1").state
    assert {name: worker.levels for name, worker in opened.workers.items()} == levels
    assert any(levels.values())
