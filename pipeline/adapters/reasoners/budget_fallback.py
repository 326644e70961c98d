"""A model as long as the budget lasts, then the extractive reasoner: a spent budget ends in a report from what there is."""

from __future__ import annotations

from typing import TypeVar

from pipeline.domain.questions import Question
from pipeline.domain.values import Cost, Value
from pipeline.errors import BudgetSpent, ProviderRefused, StepError
from pipeline.ports import Answer, Reasoner

A = TypeVar("A", bound=Value)

WRITING = frozenset({"outline", "section", "claim_check"})
FOLD = "fold"


class FrugalReasoner:
    """Asks ``model``; what the report needs is answered by ``extractive`` when the next call does not fit the budget.

    A fold that the model cannot make, for whatever reason, is made by ``extractive`` too: a full context must not stop a worker.
    """

    def __init__(self, model: Reasoner, extractive: Reasoner) -> None:
        self._model, self._extractive = model, extractive
        self.name = model.name

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            StepError: as the model's reasoner says, but for what is answered without it.
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
    """What was spent before the model gave up, under the name of the reasoner that answered."""
    return spent.model_copy(update={"model": plain.model}) if spent else plain
