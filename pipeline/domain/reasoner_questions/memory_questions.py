"""The question of a consolidation to a model, and its answer."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import EvidenceQuestion, Passage, Reply


class EpisodeText(Reply):
    """What a session found, in sentences with keys; empty if the facts say nothing worth keeping."""

    episode: Passage = ""


class EpisodeQuestion(EvidenceQuestion[EpisodeText]):
    """What did the session on ``query`` find? At most ``count`` sentences with ``words`` words in all, each from ``facts``.

    ``open`` are the questions that it left open; ``today`` is the day on which it ended.
    """

    name = "episode"
    answer_type = EpisodeText
    open: tuple[str, ...] = ()
    count: int = 2
    words: int = 60
