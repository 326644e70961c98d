"""The questions of a consolidation, and their answers. Without a model nothing is asked, and rules do it."""

from __future__ import annotations

from pipeline.domain.memory.values import EntityKind, Statement
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Fact, Sentence, Value


class EpisodeSentences(Value):
    """What a session found, in sentences that cite facts; none if the facts say nothing worth keeping."""

    sentences: tuple[Sentence, ...]


class ProposedName(Value):
    """A name that statements are about, and other spellings of it. Code decides whether it counts."""

    name: str
    kind: EntityKind
    aliases: tuple[str, ...] = ()


class ProposedNames(Value):
    """The names that a reasoner proposes."""

    names: tuple[ProposedName, ...]


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


class NamesQuestion(Question[ProposedNames]):
    """Which things do several of the ``statements`` name? At most ``limit``. ``known`` are the names that memory has already.

    ``query`` is the question of the session that the statements are from, or several such questions in one line.
    """

    name = "names"
    answer_type = ProposedNames
    statements: tuple[Statement, ...]
    known: tuple[str, ...] = ()
    limit: int = 20
