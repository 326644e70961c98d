"""A talk that was continued on two machines: the questions and answers of both stay, and so does what both cost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.domain.branch_merging import joined
from pipeline.domain.events import session_events as e
from pipeline.domain.events import talk_events as t
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.stream_records import Branch, Record
from pipeline.domain.research_values import Cost
from pipeline.domain.talk import TalkState, next_step, talk_of
from pipeline.engine.talk_loop import TalkLog, answer_question, finish_question
from pipeline.text.cleaning import digest_of
from tests.fakes import MemoryStore
from tests.talks import read_pages, said, talk_context, talk_log

DEEP = "How deep is the harbour of Brindle?"
LIT = "When was the lighthouse of Brindle lit?"
PILOTS = "How many boats does the pilot station of Brindle have?"
LAMP = "How often does the lamp of the lighthouse turn?"


class Machine:
    """A machine's copy of the talk, and what it does with it."""

    def __init__(self, folder: Path, name: str, shared: Sequence[Record] = ()) -> None:
        self.store, self.name = MemoryStore(), name
        read_pages(self.store)
        if shared:
            self.store.append("talk-1", shared, 0)
        self.log: TalkLog = talk_log(self.store, run=name)
        self.context = talk_context(self.store, folder)

    def ask(self, *questions: str) -> Machine:
        for text in questions:
            asyncio.run(answer_question(self.log, self.context, text))
        return self

    def begin(self, text: str, *more: e.EventBase) -> Machine:
        self.log.record(t.MessageAsked(number=len(self.log.state.turns) + 1, text=text), *more)
        return self

    def finish(self) -> Machine:
        asyncio.run(finish_question(self.log, self.context))
        return self

    def records(self) -> list[Record]:
        return list(self.store.load("talk-1"))

    def branch(self) -> Branch:
        chain = self.records()
        return Branch(digest_of(self.name.encode()), chain, {f"{one.run_id} {one.id}": one for one in chain})


@pytest.fixture
def shared(tmp_path: Path) -> list[Record]:
    return Machine(tmp_path, "first").ask(DEEP).records()


def union(one: Machine, other: Machine) -> tuple[TalkState, e.BranchMerged, list[Record]]:
    """Both machines' logs united, in either order the same."""
    kept, added = joined(one.branch(), other.branch())
    assert (kept, added) == joined(other.branch(), one.branch())
    event = decode(added[0].data)
    assert isinstance(event, e.BranchMerged)
    records = [*kept.records, *added]
    return talk_of("talk-1", decode_all(record.data for record in records)), event, records


def test_the_questions_of_both_machines_stay_with_their_answers(tmp_path: Path, shared: list[Record]) -> None:
    laptop, server = Machine(tmp_path, "laptop", shared).ask(LIT, PILOTS), Machine(tmp_path, "server", shared).ask(LAMP)
    state, event, _ = union(laptop, server)
    assert [turn.text for turn in state.turns] == [DEEP, LIT, PILOTS, LAMP]
    assert [turn.number for turn in state.turns] == [1, 2, 3, 4]
    assert "20 seconds" in said(state.turns[3])
    assert "1871" in said(state.turns[1])
    assert set(event.places) == {4}
    assert next_step(state) is None


def test_the_same_question_with_the_same_answer_stands_once(tmp_path: Path, shared: list[Record]) -> None:
    laptop, server = Machine(tmp_path, "laptop", shared).ask(LIT, PILOTS), Machine(tmp_path, "server", shared).ask(LIT)
    state, event, _ = union(laptop, server)
    assert [turn.text for turn in state.turns] == [DEEP, LIT, PILOTS]
    assert not event.adopted
    assert event.same
    assert not event.left


def test_a_question_that_only_the_other_machine_finished_gets_that_answer(tmp_path: Path, shared: list[Record]) -> None:
    base = Machine(tmp_path, "second", shared).begin(LIT).records()
    failure = e.StepFailed(step="talk-find:2", error="SearchFailed", message="no disk", recoverable=True, attempt=1)
    laptop, server = Machine(tmp_path, "laptop", base), Machine(tmp_path, "server", base).finish()
    laptop.log.record(*[failure] * 9)
    state, _, _ = union(laptop, server)
    assert [turn.text for turn in state.turns] == [DEEP, LIT]
    assert "1871" in said(state.turns[1])


def test_an_open_question_of_the_other_machine_is_worked_on_next(tmp_path: Path, shared: list[Record]) -> None:
    laptop, server = Machine(tmp_path, "laptop", shared).ask(LIT), Machine(tmp_path, "server", shared).begin(LAMP)
    state, _, records = union(laptop, server)
    assert [turn.text for turn in state.turns] == [DEEP, LIT, LAMP]
    goes_on = Machine(tmp_path, "later", records).finish()
    assert "20 seconds" in said(goes_on.log.state.turns[2])
    assert goes_on.log.state.turns[2].number == 3


def test_a_call_that_a_killed_run_sent_is_counted_although_the_step_was_done_again(tmp_path: Path, shared: list[Record]) -> None:
    killed = Machine(tmp_path, "killed", shared).begin(LIT, e.CallSent(step="talk-resolve:2", worst=Cost(usd=0.5, calls=1)))
    again = Machine(tmp_path, "again", killed.records()).finish()
    assert "1871" in said(again.log.state.turns[1])
    assert again.log.state.cost().usd == 0.5
    assert talk_of("talk-1", decode_all(one.data for one in again.records())).cost().usd == 0.5
