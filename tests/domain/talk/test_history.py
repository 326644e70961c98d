from __future__ import annotations

import asyncio
from pathlib import Path

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.talk import RECENT_TURNS, recent_talk, talk_of
from pipeline.engine.talk_loop import answer_question
from tests.fakes import Journal, MemoryStore
from tests.talks import TalkReasoner, read_pages, talk_context, talk_log


def long_talk(folder: Path, turns: int, reasoner: str) -> MemoryStore:
    store = MemoryStore()
    read_pages(store)
    log = talk_log(store, reasoner=reasoner)
    context = talk_context(store, folder, TalkReasoner(Journal()) if reasoner == "fake" else None)
    for number in range(turns):
        asyncio.run(answer_question(log, context, f"How deep is the harbour of Brindle at low tide on day {number}?"))
    return store


def test_a_short_talk_is_read_whole(tmp_path: Path) -> None:
    records = long_talk(tmp_path, 3, "extractive").load("talk-1")
    assert recent_talk("talk-1", records) == talk_of("talk-1", decode_all(record.data for record in records))


def test_of_a_long_talk_the_last_turns_all_questions_and_the_cost_are_read(tmp_path: Path) -> None:
    records = long_talk(tmp_path, RECENT_TURNS + 4, "fake").load("talk-1")
    whole, recent = talk_of("talk-1", decode_all(record.data for record in records)), recent_talk("talk-1", records)
    assert recent.turns[-RECENT_TURNS:] == whole.turns[-RECENT_TURNS:]
    assert [turn.text for turn in recent.turns] == [turn.text for turn in whole.turns]
    assert recent.cost() == whole.cost()
    assert recent.version == whole.version
