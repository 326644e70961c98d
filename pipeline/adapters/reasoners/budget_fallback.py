"""A reasoner that falls back from a model to passages when the budget is spent, so that a report is written."""

from __future__ import annotations

from typing import TypeVar

from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Cost, Value
from pipeline.errors import BudgetSpent, ProviderRefused, StepError
from pipeline.ports import Answer, Reasoner

A = TypeVar("A", bound=Value)

WRITING = frozenset({"outline", "section", "claim_check", "revision", "editing"})
FOLD = "fold"


class FallbackReasoner:
    """Asks ``model``; if the budget does not allow the next call, ``extractive`` answers the questions that the report needs.

    ``extractive`` also makes each fold that the model fails to make, because a full context must not stop a worker.
    """

    def __init__(self, model: Reasoner, extractive: Reasoner) -> None:
        self._model, self._extractive = model, extractive
        self.name = model.name

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            StepError: the model's error, for a question that has no fallback.
        """
        try:
            return await self._model.answer(question)
        except ProviderRefused:
            raise
        except StepError as error:
            if question.name != FOLD and not (isinstance(error, BudgetSpent) and question.name in WRITING):
                raise
            plain = await self._extractive.answer(question)
            return Answer(plain.value, _with_model(error.cost, plain.cost), error.exchange)


def _with_model(spent: Cost | None, plain: Cost) -> Cost:
    """Return the cost of the model's failed calls, under the name of the reasoner that answered."""
    return spent.model_copy(update={"model": plain.model}) if spent else plain
