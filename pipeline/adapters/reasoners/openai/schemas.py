"""What a model may say, as small pydantic models: their JSON schemas go out with the prompt, and replies are held against them.

A model cites opaque keys (``E3`` for a piece of evidence, ``Q1`` for a question); ids, addresses, citation numbers and scores are
made in code. Every field is required and nothing may be added, which is also what servers with strict schemas ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pipeline.text.normalise import clean

Text = Annotated[str, AfterValidator(clean)]
Level = Literal["high", "medium", "low"]


class Wire(BaseModel):
    """The root: frozen, strict, closed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class PerspectiveWire(Wire):
    """One point of view."""

    name: Text
    focus: Text
    questions: list[Text]
    keywords: list[Text]


class PerspectivesWire(Wire):
    """Points of view: the basic facts first, the sceptic last."""

    perspectives: list[PerspectiveWire]


class ThoughtWire(Wire):
    """What to search for next."""

    reasoning: Text
    queries: list[Text]


class FindingWire(Wire):
    """A claim and the words of the page that it rests on."""

    claim: Text
    quote: Text = Field(description="copied from the page, word for word")
    question: Text = Field(description="key of the question it answers, or empty")
    relevance: Level


class ObservationWire(Wire):
    """What a page says, best first."""

    findings: list[FindingWire]


class EvaluationWire(Wire):
    """Questions that are still open."""

    open_questions: list[Text] = Field(description="keys of questions")
    reason: Text


class SupportWire(Wire):
    """One piece of evidence and those from other sources that say the same."""

    evidence: Text
    borne_out_by: list[Text] = Field(description="keys of evidence")
    confidence: Level


class ValidationWire(Wire):
    """What bears what out."""

    entries: list[SupportWire]


class ClashWire(Wire):
    """Two pieces of evidence that cannot both hold."""

    first: Text
    second: Text
    subject: Text
    kind: Literal["number", "date", "version", "polarity", "claim"]
    explanation: Text


class ContradictionsWire(Wire):
    """All clashes."""

    contradictions: list[ClashWire]


class GapWire(Wire):
    """Something that is still unknown."""

    question: Text
    importance: Level
    reason: Text
    perspective: Text = Field(description="key of the perspective it belongs to, or empty")


class GapsWire(Wire):
    """What is unknown, most important first."""

    gaps: list[GapWire]


class OutlineSectionWire(Wire):
    """One section to be written."""

    title: Text
    purpose: Text
    evidence: list[Text] = Field(description="keys of evidence")


class OutlineWire(Wire):
    """The report's title and sections, in order."""

    title: Text
    sections: list[OutlineSectionWire]


class SentenceWire(Wire):
    """One sentence and the evidence it rests on."""

    text: Text
    evidence: list[Text] = Field(description="keys of evidence")


class ParagraphWire(Wire):
    """Sentences that belong together."""

    sentences: list[SentenceWire]


class SectionWire(Wire):
    """A section's text."""

    paragraphs: list[ParagraphWire]


class VerdictWire(Wire):
    """Whether one sentence's evidence supports it."""

    sentence: Text = Field(description="key of the sentence")
    supported: bool
    reason: Text


class ClaimCheckWire(Wire):
    """One verdict a sentence."""

    verdicts: list[VerdictWire]


class FoldWire(Wire):
    """A memory, condensed."""

    mode: Literal["granular", "deep"]
    summary: Text


WIRES: Mapping[str, type[Wire]] = MappingProxyType(
    {
        "perspectives": PerspectivesWire,
        "thought": ThoughtWire,
        "observation": ObservationWire,
        "evaluation": EvaluationWire,
        "validation": ValidationWire,
        "contradictions": ContradictionsWire,
        "gaps": GapsWire,
        "outline": OutlineWire,
        "section": SectionWire,
        "claim_check": ClaimCheckWire,
        "fold": FoldWire,
    }
)


@cache
def schema_of(wire: type[Wire]) -> dict[str, Any]:
    """Return the JSON schema of a wire model, without the titles and class descriptions that a server has no use for.

    The same object each time, for a generation takes milliseconds: not to be changed.
    """
    schema = wire.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
        for field in part["properties"].values():
            field.pop("title", None)
    return schema
