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

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The citation keys and delimiters of one prompt. ``limit`` is the most fetched text, in tokens."""

    keys: CitationKeys
    delimiters: Delimiters
    limit: int


def evidence_for(facts: Sequence[Fact], question: q.Question[Any], tools: PromptParts) -> Material:
    """Return the list of ``facts``, with what the question knows of their sources."""
    return evidence(facts, tools.keys, tools.delimiters, tools.limit, dict(getattr(question, "published", {})))
