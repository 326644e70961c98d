"""The questions of a talk on stored pages, and their answers."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Fact, Sentence, Value
from pipeline.text.ranking.term_statistics import TermStatistics


class PastTurn(Value):
    """A question that was answered before, in words that stand alone, and the text of its answer ("" if there was none)."""

    question: str
    answer: str = ""


class StandAlone(Value):
    """A question that can be understood without those before it."""

    question: str


class TalkReply(Value):
    """An answer in sentences that cite facts; none if the facts do not say. ``follow_ups`` are questions that it suggests."""

    sentences: tuple[Sentence, ...]
    follow_ups: tuple[str, ...] = ()


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


class TalkQuestion(Question[TalkReply]):
    """Answer ``query`` from ``facts`` in at most ``words`` words. ``published`` are pairs of a page's address and its date."""

    name = "talk"
    answer_type = TalkReply
    facts: tuple[Fact, ...]
    words: int
    history: tuple[PastTurn, ...] = ()
    statistics: TermStatistics = TermStatistics()
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()
