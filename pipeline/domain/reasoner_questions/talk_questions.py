"""The questions of a talk on stored pages, and their answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.domain.reasoner_questions import EvidenceQuestion, Line, Passage, Question, Reply, cut
from pipeline.domain.values import Value


class PastTurn(Value):
    """A question that was answered before, in words that stand alone, and the text of its answer ("" if there was none)."""

    question: str
    answer: str = ""


class StandAlone(Reply):
    """A question that can be understood without those before it."""

    question: Line


class TalkReply(Reply):
    """An answer in sentences with keys; empty if the facts do not say. ``follow_ups`` are questions that it suggests."""

    answer: Passage
    follow_ups: Annotated[tuple[Line, ...], cut(3), Field(max_length=3)] = ()


class StandAloneQuestion(Question[StandAlone]):
    """What does ``query`` ask, in words that stand alone?

    ``history`` are the last turns, the latest last; ``folded`` are the questions before them. ``subject`` is the question that
    the talk is about, or "".
    """

    name = "stand_alone"
    answer_type = StandAlone
    history: tuple[PastTurn, ...] = ()
    folded: tuple[str, ...] = ()
    subject: str = ""


class TalkQuestion(EvidenceQuestion[TalkReply]):
    """Answer ``query`` from ``facts`` in at most ``words`` words."""

    name = "talk"
    answer_type = TalkReply
    words: int = 120
    history: tuple[PastTurn, ...] = ()
