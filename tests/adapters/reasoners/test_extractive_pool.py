"""Processes that answer for the extractive reasoner: the same answers, and none of them outlives the one who asks."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.adapters.reasoners import extractive_pool
from pipeline.adapters.reasoners.extractive import ExtractiveReasoner
from pipeline.adapters.reasoners.extractive_pool import Crew, processes_for
from pipeline.domain.reasoner_questions import ClaimCheckQuestion, Question, ThoughtQuestion
from pipeline.domain.values import Fact, Perspective, Sentence

QUOTE = "A record is synced before it is acknowledged."
FACT = Fact(id="f1", claim=QUOTE, quote=QUOTE, url="corpus:a.md", digest="d" * 64)
VIEW = Perspective(id="v", name="V", focus="records", questions=("How is it stored?",))
QUESTIONS: tuple[Question[Any], ...] = (
    ThoughtQuestion(query="How?", perspective=VIEW, iteration=1, facts=(), gaps=(), asked=(), summary="", limit=3),
    ClaimCheckQuestion(query="How?", sentences=(Sentence(text=QUOTE, facts=("f1",)),), facts=(FACT,)),
)
ROOT = Path(__file__).parents[3]


async def answers(reasoner: Crew | ExtractiveReasoner) -> list[object]:
    return list(await asyncio.gather(*(reasoner.answer(question) for question in QUESTIONS)))


async def answered_by_a_crew() -> list[object]:
    found = Crew(2)
    try:
        return await answers(found)
    finally:
        await found.aclose()


def test_the_answers_are_those_of_the_reasoner_itself() -> None:
    assert asyncio.run(answered_by_a_crew()) == asyncio.run(answers(ExtractiveReasoner()))


def test_when_a_process_dies_the_work_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> list[object]:
        found = Crew(1)
        await answers(found)
        for process in multiprocessing.active_children():
            os.kill(process.pid or 0, signal.SIGKILL)
        return await answers(found)

    assert asyncio.run(work()) == asyncio.run(answers(ExtractiveReasoner()))
    assert "goes on without it" in caplog.text


def test_few_sessions_are_not_worth_a_process() -> None:
    assert processes_for(extractive_pool.WORTH_IT - 1) == 0
    assert processes_for(1_000) <= 4


def test_processes_end_with_the_one_who_asks_even_if_that_is_killed() -> None:
    program = (
        "import asyncio, multiprocessing, sys, time\n"
        "from pipeline.adapters.reasoners.extractive_pool import Crew\n"
        "from tests.adapters.reasoners.test_extractive_pool import QUESTIONS\n"
        "async def work():\n"
        "    crew = Crew(1)\n"
        "    await crew.answer(QUESTIONS[0])\n"
        "    print(*[process.pid for process in multiprocessing.active_children()], flush=True)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(work())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as asking:
        assert asking.stdout
        (worker,) = map(int, asking.stdout.readline().split())
        asking.kill()
    assert gone(worker)


def gone(process: int) -> bool:
    for _ in range(1_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False
