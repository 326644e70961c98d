"""The extractive reasoner in processes of its own, so that a night of many sessions uses every processor.

An answer is a function of its question alone, so it does not matter who gives it, or in which order they are given.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from pipeline.adapters.reasoners.extractive import ExtractiveReasoner
from pipeline.domain.questions import Question
from pipeline.domain.values import Value
from pipeline.ports import Answer
from pipeline.system.worker_pool import begin, processors, spawning

A = TypeVar("A", bound=Value)

WORTH_IT = 8  # sessions; fewer are nearly done before a second process has started
_MOST = 4
_log = logging.getLogger("pipeline.adapters.reasoners")


class Crew:
    """The port ``Reasoner`` over ``processes`` processes, started when the first question comes. Close it when done.

    When one of them dies (memory, usually), this process answers all further questions itself.
    """

    name = ExtractiveReasoner.name

    def __init__(self, processes: int) -> None:
        self._pool: ProcessPoolExecutor | None = ProcessPoolExecutor(processes, mp_context=spawning(), initializer=begin)
        self._here = ExtractiveReasoner()

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            AnswerInvalid: nobody here knows this kind of question.
        """
        if self._pool is not None:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._pool, _answered, question)
            except BrokenProcessPool as error:
                _log.warning("a process that answers questions has ended (%s); the work goes on without it", error)
                self._pool = None
        return await self._here.answer(question)

    async def aclose(self) -> None:
        """Let the processes end; what they are at is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def processes_for(sessions: int) -> int:
    """Return how many processes that many sessions are worth: 0 for none but this one."""
    found = processors(_MOST)
    return found if sessions >= WORTH_IT and found > 1 else 0


def _answered(question: Question[Any]) -> Answer[Any]:
    answering = ExtractiveReasoner().answer(question)
    try:
        answering.send(None)
    except StopIteration as done:
        answer: Answer[Any] = done.value
        return answer
    raise AssertionError("an extractive answer waits for nothing")
