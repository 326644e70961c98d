"""The extractive reasoner in worker processes, so that a run of many sessions uses every processor.

An answer depends on its question alone, so the worker and the order do not matter.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pipeline.adapters.reasoners.extractive import ExtractiveReasoner
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Value
from pipeline.ports import Answer
from pipeline.system.worker_pool import Pool, processors

A = TypeVar("A", bound=Value)

WORTH_IT = 8  # sessions; fewer are nearly done before a second process has started
_MOST = 4


class Crew:
    """The port ``Reasoner`` over ``processes`` processes, started when the first question comes. Close it when done."""

    name = ExtractiveReasoner.name

    def __init__(self, processes: int) -> None:
        self._pool = Pool(processes, ExtractiveReasoner(), _reasoner, None)

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            AnswerInvalid: nobody here knows this kind of question.
        """
        return await self._pool.submit(_answered, question).awaited()

    async def aclose(self) -> None:
        """Let the processes end; what they are at is dropped."""
        self._pool.close(wait=False)


def processes_for(sessions: int) -> int:
    """Return how many processes that many sessions are worth: 0 for none but this one."""
    found = processors(_MOST)
    return found if sessions >= WORTH_IT and found > 1 else 0


def _reasoner(_nothing: None) -> ExtractiveReasoner:
    return ExtractiveReasoner()


def _answered(reasoner: ExtractiveReasoner, question: Question[Any]) -> Answer[Any]:
    answering = reasoner.answer(question)
    try:
        answering.send(None)
    except StopIteration as done:
        answer: Answer[Any] = done.value
        return answer
    raise AssertionError("an extractive answer waits for nothing")
