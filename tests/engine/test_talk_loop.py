from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import Answered, EventBase, StepFailed
from pipeline.domain.events.stream_records import Record
from pipeline.domain.events.talk_events import MessageAnswered, PassagesFound, PassagesTaken, TalkOpened
from pipeline.domain.research_values import Cost, FailedSide
from pipeline.domain.talk import talk_of
from pipeline.engine.talk_loop import TalkLog, answer_question, finish_question, history_of
from pipeline.errors import AnswerInvalid, LogUnwritable, Outage, ServiceUnavailable
from pipeline.ports import SearchResult
from tests.fakes import Journal, MemoryStore, context_for
from tests.talks import TalkReasoner, ask_all, read_pages, said, talk_context, talk_log

DEPTH = "How deep is the harbour of Brindle at low tide?"


class DyingStore(MemoryStore):
    """A store whose process dies after some appends to a talk."""

    left = 1_000

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        if session_id.startswith("talk-"):
            self.left -= 1
            if self.left < 0:
                raise LogUnwritable("the process died")
        return super().append(session_id, records, expected_version)


def events_of(store: MemoryStore) -> list[EventBase]:
    return list(decode_all(record.data for record in store.load("talk-1")))


def test_a_question_is_answered_in_four_recorded_steps(tmp_path: Path) -> None:
    store = MemoryStore()
    read_pages(store)
    log = talk_log(store)
    turn = asyncio.run(answer_question(log, talk_context(store, tmp_path), DEPTH))
    assert "12 metres deep" in said(turn)
    first = ["run.started", "talk.opened", "message.asked", "message.resolved", "passages.found"]
    assert [event.type for event in events_of(store)] == [*first, "passages.taken", "message.answered"]
    assert turn.answer is not None
    assert (turn.answer.outcome, turn.answer.found) == ("passages", True)


def test_what_the_search_of_the_folders_cost_and_why_it_failed_is_recorded(tmp_path: Path) -> None:
    store, folders = MemoryStore(), AsyncMock()
    folders.search.return_value = SearchResult("local", (), Cost(usd=0.25), (FailedSide(origin="embeddings", reason="too busy"),))
    read_pages(store)
    log = TalkLog.open(store, context_for("run-1"), "talk-1")
    log.record(TalkOpened(scope="vault"))
    asyncio.run(answer_question(log, replace(talk_context(store, tmp_path), documents=folders), DEPTH))
    (found,) = [event for event in events_of(store) if isinstance(event, PassagesFound)]
    assert (found.failed[0].reason, talk_of("talk-1", events_of(store)).cost().usd) == ("too busy", 0.25)


def test_what_the_stored_pages_do_not_say_is_refused_and_is_no_part_of_the_history(tmp_path: Path) -> None:
    far = ("What does a berth in Rotterdam cost a day?", "Is semaglutide safe in pregnancy?", "Who composed the opera Turandot?")
    for question in far:
        turn, _ = ask_all(tmp_path / question[:6], question, "Who paid for it?")
        assert turn.answer is not None
        assert (turn.answer.found, turn.answer.sentences, turn.answer.nearest, turn.answer.facts) == (False, (), (), ())
        assert history_of([turn])[0].answer == ""


def test_a_follow_up_with_a_pronoun_is_answered_as_the_full_question(tmp_path: Path) -> None:
    _, short = ask_all(tmp_path / "a", "When was the lighthouse of Brindle lit first?", "How far is it seen?")
    (full,) = ask_all(tmp_path / "b", "How far is the lighthouse of Brindle seen?")
    assert "18 miles" in said(short)
    assert said(short) == said(full)


def killed_and_continued(folder: Path, left: int) -> tuple[list[str], MemoryStore]:
    """Ask two questions, die after ``left`` appends, and go on in a new process; return the calls to the model."""
    store, journal = DyingStore(), Journal()
    read_pages(store)
    reasoner = TalkReasoner(journal)
    try:
        store.left = left
        log = talk_log(store, reasoner="fake")
        for text in (DEPTH, "And the pilots of Brindle?"):
            asyncio.run(answer_question(log, talk_context(store, folder, reasoner), text))
    except LogUnwritable:
        journal.calls.append("died")
    store.left = 1_000
    log = talk_log(store, run="run-2", reasoner="fake")
    if log.state.turns and log.state.turns[-1].answer is None:
        asyncio.run(finish_question(log, talk_context(store, folder, reasoner)))
    return journal.calls, store


@pytest.mark.parametrize("left", range(1, 20, 3))
def test_a_talk_that_was_killed_asks_nothing_twice_that_was_recorded(tmp_path: Path, left: int) -> None:
    calls, store = killed_and_continued(tmp_path, left)
    events = events_of(store)
    observed = [event.number for event in events if isinstance(event, PassagesTaken)]
    answered = [event.number for event in events if isinstance(event, MessageAnswered)]
    assert len(set(observed)) == len(observed)
    assert len(set(answered)) == len(answered)
    recorded = [event for event in events if isinstance(event, Answered) and event.exchange]
    made = [name for name in calls if name != "died"]
    assert len(made) - len(recorded) <= 1  # only the call whose answer could not be stored is made again


def test_a_question_asked_before_a_kill_gets_the_same_answer_as_without_one(tmp_path: Path) -> None:
    _, whole = killed_and_continued(tmp_path / "a", 1_000)
    expected = talk_of("talk-1", events_of(whole)).turns[0]
    for left in range(3, 9, 2):
        _, store = killed_and_continued(tmp_path / str(left), left)
        turn = talk_of("talk-1", events_of(store)).turns[0]
        assert said(turn) == said(expected)


def test_what_a_model_fails_to_do_is_done_without_it(tmp_path: Path) -> None:
    store = MemoryStore()
    read_pages(store)
    journal = Journal(faults={"talk": [AnswerInvalid("nonsense")], "stand_alone": [AnswerInvalid("nonsense")]})
    log = talk_log(store, reasoner="fake")
    turn = asyncio.run(answer_question(log, talk_context(store, tmp_path, TalkReasoner(journal)), DEPTH))
    assert "12 metres deep" in said(turn)
    failed = [event for event in events_of(store) if isinstance(event, StepFailed)]
    assert [event.step for event in failed] == ["talk-resolve:1", "talk-draft:1"]


def test_an_outage_keeps_the_talk_open_and_the_question_is_finished_later(tmp_path: Path) -> None:
    store = MemoryStore()
    read_pages(store)
    down = ServiceUnavailable("the model is down")
    down.outage = Outage("fake")
    reasoner = TalkReasoner(Journal(faults={"talk": [down]}))
    log = talk_log(store, reasoner="fake")
    with pytest.raises(ServiceUnavailable):
        asyncio.run(answer_question(log, talk_context(store, tmp_path, reasoner), DEPTH))
    turn = asyncio.run(finish_question(talk_log(store, run="run-2"), talk_context(store, tmp_path, reasoner)))
    assert turn.answer is not None
    assert turn.answer.found


def test_an_answer_has_at_most_120_words_and_a_talk_keeps_its_turns_in_order(tmp_path: Path) -> None:
    turns = ask_all(tmp_path, DEPTH, "Who comes aboard every ship longer than 80 metres?", "When was the lighthouse lit?")
    assert [turn.number for turn in turns] == [1, 2, 3]
    assert all(len(said(turn).split()) <= 120 for turn in turns)
