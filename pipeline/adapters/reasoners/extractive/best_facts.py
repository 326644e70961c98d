"""A worker's memory condensed to its best facts."""

from __future__ import annotations

from pipeline.domain.questions import FoldedContext, FoldMode, FoldQuestion
from pipeline.text.normalise import tokens


def fold(question: FoldQuestion) -> FoldedContext:
    """Return the best new facts' claims, one a line, then what was known before on the levels folded, within the limit."""
    ranked = sorted(question.facts, key=lambda fact: (-fact.relevance, fact.id))
    mode = _mode(question)
    lines: list[str] = []
    left = question.limit_tokens
    for line in dict.fromkeys([*(fact.claim for fact in ranked), *_known(question, mode)]):
        cost = tokens(line + "\n")
        if line.strip() and cost <= left:
            lines.append(line)
            left -= cost
    return FoldedContext(summary="\n".join(lines), mode=mode)


def _mode(question: FoldQuestion) -> FoldMode:
    """Deep once the youngest level has taken half of its room."""
    levels = question.context.levels
    return "deep" if levels and tokens(levels[0]) > question.limit_tokens / 2 else "granular"


def _known(question: FoldQuestion, mode: FoldMode) -> list[str]:
    levels = question.context.levels
    if not levels:
        return question.summary.splitlines()
    folded = levels[: question.deep_level + 1] if mode == "deep" else levels[:1]
    return [line for text in folded for line in text.splitlines()]
