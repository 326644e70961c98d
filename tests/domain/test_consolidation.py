"""What one session leaves behind: its episode, statements, procedures, and how its errors were met."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.memory import consolidated
from pipeline.domain.session_state import SessionState
from tests.fakes import MemoryStore
from tests.vault.builders import Story

PAGES = ("https://db.example/wal", "https://db.example/fsync", "corpus:drives.md")


def whole() -> SessionState:
    return Story(MemoryStore(), pages=PAGES).whole().scribe.session.state


def test_a_session_leaves_what_stayed_open_and_what_it_cost() -> None:
    episode = consolidated(whole()).episode
    assert episode.open == ("How loud is it?",)
    assert episode.cost.total_tokens == 90


def test_a_session_without_a_report_leaves_its_question_open() -> None:
    state = Story(MemoryStore()).begin().not_found().scribe.session.state
    found = consolidated(state)
    assert found.statements == ()
    assert found.episode.open == (state.query,)


def test_statements_are_the_facts_that_were_cited_or_disputed() -> None:
    found = {one.quote: one for one in consolidated(whole()).statements}
    assert list(found) == [
        "An append is durable after fsync returned.",
        "The reader stops at the first torn record!",
        "After fsync has returned, an append is durable.",
        "One drive in nine loses flushed data.",
    ]
    assert all(one.cited and one.digest for one in found.values())


def test_a_procedure_holds_the_searches_that_led_to_cited_facts_in_order() -> None:
    (procedure,) = consolidated(whole()).procedures
    assert procedure.queries == ("How does an append-only log survive a power cut?", "search_0 power cut", "search_1 power cut")


def test_a_search_whose_pages_gave_no_fact_was_fruitless() -> None:
    story = Story(MemoryStore(), pages=PAGES).begin().planned()
    story.scribe.note(
        e.WorkerStarted(worker_id="search_0", perspective_id="basic-facts"),
        e.WorkerThought(worker_id="search_0", iteration=1, reasoning="", queries=("nothing here",)),
        e.SearchCompleted(query="nothing here", provider="local", hits=()),
    )
    assert "nothing here" in consolidated(story.scribe.session.state).procedures[0].fruitless


def test_a_session_researched_again_says_which_statements_its_sources_no_longer_make() -> None:
    store = MemoryStore()
    first = Story(store, pages=PAGES).whole()
    again = Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28", pages=PAGES).whole()
    found = consolidated(again.scribe.session.state)
    (gone,) = {one.fact for one in found.superseded}
    assert gone not in {one.fact for one in found.statements}
