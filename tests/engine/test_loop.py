"""The loop of one session, with scripted fakes at the real doors."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.page_choice_and_findings import all_facts
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.errors import LogUnwritable, ReadFailed, SearchFailed
from pipeline.ports import SearchResult
from pipeline.text.quotes import holds_quote
from tests.fakes import Down, Journal, MemoryStore, begun, context_for, event_names, report_bytes, step_context_for
from tests.memory_store import MemoryObjects
from tests.seeds import SEED


def research(journal: Journal, store: MemoryStore | None = None, **config: Any) -> SessionState:
    store = store or MemoryStore()
    context = context_for()
    session = begun(store, context, **config)
    return asyncio.run(run_session(session, store, step_context_for(store, journal), context))


def limits_of(state: SessionState) -> str:
    """What the report of a complete session says of its limits."""
    assert state.status == "complete"
    assert state.report is not None
    return "\n".join(state.report.limits)


def stored(store: MemoryStore) -> list[e.EventBase]:
    return list(decode_all(record.data for record in store.load("s1")))


def test_a_session_ends_complete_with_a_report_whose_every_citation_holds() -> None:
    store = MemoryStore()
    state = research(Journal(), store)
    assert state.status == "complete"
    assert state.report is not None
    sentences = [s for part in state.report.sections for p in part.paragraphs for s in p.sentences]
    assert sentences
    for sentence in sentences:
        assert sentence.facts
        for name in sentence.facts:
            fact = state.facts[name]
            assert holds_quote(store.objects.get(fact.digest).decode(), fact.quote)


def test_a_finding_whose_quote_is_not_in_the_page_is_kept_as_rejected_and_goes_nowhere_else() -> None:
    state = research(Journal())
    rejected = [r for w in state.workers.values() for i in w.iterations for o in i.observed.values() for r in o.rejected]
    assert rejected
    assert {entry.quote for entry in rejected} == {"This stands in no page at all."}
    assert all("no page at all" not in fact.quote for fact in all_facts(state))


def test_a_search_that_fails_once_is_made_again_and_one_that_fails_for_good_is_named_in_the_report() -> None:
    query = "common 1"
    once = Journal(faults={f"search:{query}": [SearchFailed("busy")]})
    assert query in research(once).searches
    assert once.calls.count(f"search:{query}") == 2
    twice = Journal(faults={f"search:{query}": [SearchFailed("busy"), SearchFailed("still busy")]})
    assert "still busy" in limits_of(research(twice))


def test_a_page_that_cannot_be_read_is_skipped_and_named() -> None:
    clean = Journal()
    research(clean)
    url = next(name.removeprefix("read:") for name in clean.calls if name.startswith("read:"))
    state = research(Journal(faults={f"read:{url}": [ReadFailed(f"{url} is gone")]}))
    assert url not in state.pages
    assert "is gone" in limits_of(state)


@pytest.mark.parametrize(
    ("call", "words"), [("reading:view-1:1", "not read by the language model"), ("plan", "without the language model")]
)
def test_what_a_model_cannot_read_or_plan_is_done_without_it_and_the_report_says_so(call: str, words: str) -> None:
    state = research(Journal(faults={call: [SearchFailed("no"), SearchFailed("no again")]}))
    assert any(words in line and "no again" in line for line in limits_of(state).split("\n"))
    assert {worker.status for worker in state.workers.values()} == {"completed"}
    if call == "plan":
        assert next(view.questions[0] for view in state.perspectives.values()) == state.query
    assert all(fact.question for fact in state.facts.values())  # that it answers


def test_without_a_model_the_survey_is_the_search_for_the_question_which_is_not_searched_for_again() -> None:
    state = research(Journal(), reasoner="extractive")
    assert [(view.questions, view.queries) for view in state.perspectives.values()] == [(("How do pumps behave?",), ())]
    assert not state.searches


@pytest.mark.parametrize("call", ["report:1", "check"])
def test_a_report_that_cannot_be_written_ends_as_passages_and_one_unchecked_keeps_quotes_alone(call: str) -> None:
    state = research(Down(call))
    assert f"the service for {call} is down" in limits_of(state)
    assert state.report is not None
    assert state.report.outcome == ("passages" if call == "report:1" else "in-part")
    cited = [s for part in state.report.sections for p in part.paragraphs for s in p.sentences]
    assert all(any(holds_quote(state.facts[name].quote, one.text) for name in one.facts) for one in cited)


def test_an_unforeseen_error_in_a_step_is_recorded_and_does_not_end_the_session() -> None:
    state = research(Journal(faults={"reading:view-1:1": [ZeroDivisionError("oops")]}))
    assert state.failures["ReadPages:search_1:1"].error == "ZeroDivisionError"
    assert state.status == "complete"


def test_a_search_service_that_is_down_ends_in_failure_that_names_it_never_in_an_empty_report() -> None:
    state = research(Down("search:"))
    assert state.status == "failed"
    assert state.report is None
    assert "the service for search: is down" in state.end_reason


def test_a_session_whose_pages_hold_nothing_ends_as_not_found_and_says_where_it_looked() -> None:
    store, journal = MemoryStore(), Journal()
    context = context_for()
    step_context = step_context_for(store, journal)
    step_context.search.pages = 1  # type: ignore[attr-defined]  # the fake's own knob

    class Silent:
        name = "silent"

        async def answer(self, question: Any) -> Any:
            answer = await step_context.answer(question)
            if question.name == "reading":
                return type(answer)(type(answer.value)(findings=()), answer.cost)
            return answer

    silent = type(step_context)(Silent(), step_context.search, step_context.fetch, step_context.page_text)
    state = asyncio.run(run_session(begun(store, context), store, silent, context))
    assert state.status == "not-found"
    assert re.match(r"the language model found nothing in the pages .* \(\d+ searches, \d+ pages? read\)", state.end_reason)
    assert state.report is None


def test_an_unsupported_sentence_that_is_not_mended_is_cut_and_listed_with_the_reason() -> None:
    store, journal = MemoryStore(), Journal()
    context = context_for()
    state = asyncio.run(run_session(begun(store, context), store, step_context_for(store, journal, doubtful="mode 2"), context))
    assert state.report is not None
    text = " ".join(s.text for part in state.report.sections for p in part.paragraphs for s in p.sentences)
    assert "mode 2" not in text
    assert state.parts[1].revision == 1
    assert {(one.reason, "mode 2" in one.text) for one in state.report.cut_sentences} == {("looked", True)}
    assert state.report.cut == len(state.report.cut_sentences)
    assert "mode 1" in text


def test_a_spent_budget_stops_the_gathering_and_the_report_says_so() -> None:
    state = research(Journal(), budget_usd=0.004)
    assert state.exhausted == "usd"
    assert "cut short (usd)" in limits_of(state)


def test_a_run_stopped_between_any_two_events_goes_on_without_asking_again() -> None:
    whole = MemoryStore()
    in_order = report_bytes(research(Journal(), whole, iterations=2))
    records = list(whole.load("s1"))
    for cut in range(2 + SEED % 5, len(records), 17):
        store = MemoryStore()
        store.objects.update(whole.objects)
        store.streams["s1"] = records[:cut]
        done = event_names(stored(store), {})
        journal = Journal()
        session = ResearchSession.open(store, "s1")
        state = asyncio.run(run_session(session, store, step_context_for(store, journal), context_for("run-2")))
        assert report_bytes(state) == in_order
        assert not done & set(journal.calls)


def test_a_log_that_cannot_be_written_stops_the_run() -> None:
    class Full(MemoryStore):
        def append(self, *args: Any) -> int:
            if len(self.streams.get("s1", ())) > 30:
                raise LogUnwritable("no space left on the device")
            return super().append(*args)

    store, context = Full(), context_for()
    with pytest.raises(LogUnwritable):
        asyncio.run(run_session(begun(store, context), store, step_context_for(store, Journal()), context))


def test_an_event_whose_object_cannot_be_stored_is_not_recorded() -> None:
    class Full(MemoryObjects):
        def put(self, data: bytes) -> str:
            if data == b"report:1":
                raise LogUnwritable("no space left on the device")
            return super().put(data)

    store, context = MemoryStore(), context_for()
    store.objects = Full()
    with pytest.raises(LogUnwritable):
        asyncio.run(run_session(begun(store, context), store, step_context_for(store, Journal()), context))
    assert not any(isinstance(event, e.ReportWritten) for event in stored(store))
    assert all(event.exchange in store.objects for event in stored(store) if isinstance(event, e.Answered) and event.exchange)


def test_an_answer_that_cannot_be_stored_fails_its_own_step_alone() -> None:
    store, context = MemoryStore(), context_for()
    step_context = step_context_for(store, Journal())

    class Broken:
        async def search(self, query: str, limit: int) -> SearchResult:
            found = await step_context.search.search(query, limit)
            return SearchResult("half \ud83d", found.hits) if query == "common 1" else found

    broken = type(step_context)(step_context.reasoner, Broken(), step_context.fetch, step_context.page_text)
    state = asyncio.run(run_session(begun(store, context), store, broken, context))
    assert state.status == "complete"
    failure = state.failures["SearchFor:common 1"]
    assert (failure.error, failure.attempts) == ("AnswerInvalid", 2)
    assert "not Unicode" in failure.message
