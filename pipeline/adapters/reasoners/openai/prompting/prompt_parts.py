"""What the values of all prompts are made with: keys, delimiters, the room for fetched text, and the list of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, Material
from pipeline.adapters.reasoners.openai.prompting.fact_listing import evidence
from pipeline.domain import reasoner_questions as q
from pipeline.domain.values import Fact

SNIPPET = 400  # characters of a hit's snippet
LIST_TOKENS = 8_000  # of the evidence for gaps and outline; of more, the best of each page on each question is shown

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The citation keys and delimiters of one prompt. ``limit`` is the most fetched text, in tokens."""

    keys: CitationKeys
    delimiters: Delimiters
    limit: int


def evidence_for(facts: Sequence[Fact], question: q.Question[Any], tools: PromptParts) -> Material:
    """Return the list of ``facts``, with what the question knows of them and of their sources."""
    validated, published = getattr(question, "validated", ()), dict(getattr(question, "published", {}))
    return evidence(facts, tools.keys, tools.delimiters, tools.limit, validated, published)
