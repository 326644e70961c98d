"""The extractive reasoner: answers with whole passages of the pages, ranked by ``pipeline.text.ranking``.

All its text is quoted. A pure function answers each type of question, so the same question always gets the same answer: there is
no clock, no randomness, no network and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from pipeline.adapters.reasoners.extractive.claim_check import check
from pipeline.adapters.reasoners.extractive.gaps import evaluate, find_gaps
from pipeline.adapters.reasoners.extractive.memory_summary import fold, keep_summary
from pipeline.adapters.reasoners.extractive.page_findings import observe
from pipeline.adapters.reasoners.extractive.planned_queries import perspectives, think
from pipeline.adapters.reasoners.extractive.sections import edit, outline, revise, write
from pipeline.adapters.reasoners.extractive.talking.talk_answers import answer, stand_alone
from pipeline.domain import reasoner_questions as q
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.reasoner_questions.talk_questions import StandAloneQuestion, TalkQuestion
from pipeline.domain.values import Cost, Value
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer

__all__ = ["ExtractiveReasoner"]

A = TypeVar("A", bound=Value)

_ANSWERS: Mapping[type[Question[Any]], Callable[[Any], Value]] = MappingProxyType(
    {
        q.PerspectivesQuestion: perspectives,
        q.ThoughtQuestion: think,
        q.ObservationQuestion: observe,
        q.EvaluationQuestion: evaluate,
        q.CrossCheckQuestion: lambda _question: q.CrossCheck(facts=()),  # without a model nothing is compared
        q.GapsQuestion: find_gaps,
        q.OutlineQuestion: outline,
        q.SectionQuestion: write,
        q.RevisionQuestion: revise,
        q.EditingQuestion: edit,
        q.ClaimCheckQuestion: check,
        q.FoldQuestion: fold,
        StandAloneQuestion: stand_alone,
        TalkQuestion: answer,
        EpisodeQuestion: keep_summary,
    }
)
_FREE = Cost(model_requested="extractive", model="extractive")


class ExtractiveReasoner:
    """Answers every question of ``pipeline.domain.reasoner_questions`` by a function for its type, at no cost."""

    name = "extractive"

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            AnswerInvalid: there is no function for this type of question.
        """
        function = _ANSWERS.get(type(question))
        if function is None:
            raise AnswerInvalid(
                f"the extractive reasoner cannot answer a question of type {type(question).__name__}",
                hint="set `reasoner:` to a language model in queries.yaml",
            )
        return Answer(cast(A, function(question)), _FREE)
