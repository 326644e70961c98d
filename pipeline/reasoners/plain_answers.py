"""What is said without a model to a question asked back: whole passages of the pages, ranked by words and meaning.

All its text is quoted: it finds passages and judges nothing. The same question over the same passages always gets the same
answer: there is no clock, no randomness, no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pipeline.domain.not_found_gate import stemmed_fact
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.domain.values import EXTRACTIVE, Fact, Sentence
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer
from pipeline.text.ranking.passages import text_key, without_open_end
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import scores
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import word_count

A = TypeVar("A", bound=Reply)

_ANSWER_SHARE = 0.8  # least share of the best score for a further passage of an answer
_ANSWER_PASSAGES = 3


def best_passages(query: str, facts: Sequence[Fact], known: TermStatistics, words: int) -> tuple[Sentence, ...]:
    """Return the best passage, and up to two others that are nearly as good, while they have ``words`` words together."""
    question = parse_question(query, known.language)
    own = _distinct(facts)
    strength = scores(question, [stemmed_fact(fact, question.language) for fact in own], known, [fact.cosine for fact in own])
    ranked = sorted((at for at, score in enumerate(strength) if score > 0), key=lambda at: (-round(strength[at], 9), at))
    near = [own[at] for at in ranked[:_ANSWER_PASSAGES] if strength[at] >= _ANSWER_SHARE * strength[ranked[0]]] or own[:1]
    taken: list[Fact] = []
    for fact in near:
        length = word_count(f"{fact.lead} {fact.quote}")
        if not taken or length <= words:
            taken.append(fact)
            words -= length
    return tuple(Sentence(text=without_open_end(fact.quote) or fact.quote, facts=(fact.id,)) for fact in taken)


def _distinct(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, each text once, without those that only introduce what is not in them."""
    found: dict[str, Fact] = {}
    for fact in sorted((one for one in facts if without_open_end(one.quote)), key=lambda fact: (fact.url, fact.id)):
        found.setdefault(text_key(fact.quote, fact.heading), fact)
    return list(found.values()) or list(facts)


class PassageReasoner:
    """Stands where a model could answer: whoever has it asks nothing, and takes passages."""

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
