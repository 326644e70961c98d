"""A worker's memory condensed to its best facts."""

from __future__ import annotations

from pipeline.questions import FoldedContext, FoldQuestion
from pipeline.reasoners.extractive.ranking import distinct, merits
from pipeline.text import tokens


def fold(question: FoldQuestion) -> FoldedContext:
    """Return the best facts' claims, one a line, then what was known before, within the limit."""
    merit = merits(question.query, question.facts)
    ranked = distinct(sorted(question.facts, key=lambda fact: (-merit[fact.id], fact.id)))
    lines: list[str] = []
    left = question.limit_tokens
    for line in dict.fromkeys([*(fact.claim for fact in ranked), *question.summary.splitlines()]):
        cost = tokens(line + "\n")
        if line.strip() and cost <= left:
            lines.append(line)
            left -= cost
    return FoldedContext(summary="\n".join(lines))
