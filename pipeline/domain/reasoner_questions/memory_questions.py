"""The question of a consolidation to a model, and its answer."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Fact, Sentence, Value


class EpisodeSentences(Value):
    """What a session found, in sentences that cite facts; none if the facts say nothing worth keeping."""

    sentences: tuple[Sentence, ...]


class EpisodeQuestion(Question[EpisodeSentences]):
    """What did the session on ``query`` find? At most ``count`` sentences with ``words`` words in all, each from ``facts``.

    ``open`` are the questions that it left open; ``today`` is the day on which it ended.
    """

    name = "episode"
    answer_type = EpisodeSentences
    facts: tuple[Fact, ...]
    open: tuple[str, ...] = ()
    count: int = 2
    words: int = 60
    today: str = ""
