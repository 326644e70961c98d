"""What stands where a model could answer, if there is none."""

from __future__ import annotations

from typing import TypeVar

from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.domain.values import EXTRACTIVE
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer

A = TypeVar("A", bound=Reply)


class PassageReasoner:
    """Answers nothing: whoever has it takes passages instead of asking."""

    name = EXTRACTIVE

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer no question.

        Raises:
            AnswerInvalid: always.
        """
        raise AnswerInvalid(
            f"a question of type {type(question).__name__} needs a language model",
            hint="set `reasoner:` to a language model in queries.yaml",
        )
