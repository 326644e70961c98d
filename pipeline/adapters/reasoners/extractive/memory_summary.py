"""Answers to fold questions: a worker's memory condensed to its most relevant facts."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import FoldedContext, FoldMode, FoldQuestion
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion, EpisodeSentences
from pipeline.text.normalise import tokens


def keep_summary(_question: EpisodeQuestion) -> EpisodeSentences:
    """Return no sentences: the report's checked summary stands for them."""
    return EpisodeSentences(sentences=())


def fold(question: FoldQuestion) -> FoldedContext:
    """Return the claims of the most relevant new facts, one a line, then the lines of the folded levels, within the limit."""
    ranked = sorted(question.facts, key=lambda fact: (-fact.relevance, fact.id))
    mode = _fold_mode(question)
    lines: list[str] = []
    left = question.limit_tokens
    for line in dict.fromkeys([*(fact.claim for fact in ranked), *_earlier_lines(question, mode)]):
        cost = tokens(line + "\n")
        if line.strip() and cost <= left:
            lines.append(line)
            left -= cost
    return FoldedContext(summary="\n".join(lines), mode=mode)


def _fold_mode(question: FoldQuestion) -> FoldMode:
    """Return ``deep`` if level 0 has used half of its tokens."""
    levels = question.context.levels
    return "deep" if levels and tokens(levels[0]) > question.limit_tokens / 2 else "granular"


def _earlier_lines(question: FoldQuestion, mode: FoldMode) -> list[str]:
    levels = question.context.levels
    if not levels:
        return question.summary.splitlines()
    folded = levels[: question.deep_level + 1] if mode == "deep" else levels[:1]
    return [line for text in folded for line in text.splitlines()]
