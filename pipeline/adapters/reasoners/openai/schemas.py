"""Pydantic models of a model's replies: their JSON schemas are sent with the prompt, and replies are validated against them.

A model cites opaque keys (``E3`` for a piece of evidence, ``Q1`` for a question); the code adds ids, addresses, citation numbers
and scores. In the schema every field is required and no other field is allowed, as servers with strict schemas demand; a reply
from another server may leave out what has a default here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from pipeline.text.normalise import clean

Text = Annotated[str, AfterValidator(clean)]
Level = Literal["high", "medium", "low"]
Form = Literal["paragraph", "steps", "bullets", "table", "code"]


_QUERIES = {"type": "array", "items": {"type": "string"}, "description": "what to search for next; empty if nothing is left"}


class Wire(BaseModel):
    """The base of all replies: frozen, strict, no additional fields."""

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
    """A claim and its verbatim quote from the page."""

    claim: Text
    quote: Text = Field(description="copied from the page, word for word")
    question: Text = Field(description="key of the question it answers, or empty")
    relevance: Level


class ObservationWire(Wire):
    """The findings in a page, best first."""

    findings: list[FindingWire]
    more_sections: list[Text] = Field(description="headings of sections to read too, as listed; empty if none")


class EvaluationWire(Wire):
    """Questions that are still open, and what to search for next."""

    open_questions: list[Text] = Field(description="keys of questions")
    reason: Text
    queries: Annotated[list[Text] | None, WithJsonSchema(_QUERIES)] = None


class SupportWire(Wire):
    """One piece of evidence and those from other sources that confirm it."""

    evidence: Text
    confirmed_by: list[Text] = Field(description="keys of evidence")
    confidence: Level


class ClashWire(Wire):
    """Two pieces of evidence that contradict each other."""

    first: Text
    second: Text
    subject: Text
    kind: Literal["number", "date", "version", "polarity", "claim"]
    explanation: Text


class CrossCheckWire(Wire):
    """Which pieces of evidence confirm each other, and which contradict each other."""

    confirmations: list[SupportWire]
    contradictions: list[ClashWire]


class GapWire(Wire):
    """A question that is still open."""

    question: Text
    importance: Level
    reason: Text
    perspective: Text = Field(description="key of the perspective it belongs to, or empty")


class GapsWire(Wire):
    """The open questions, most important first."""

    gaps: list[GapWire]


class OutlineSectionWire(Wire):
    """One section of the outline."""

    title: Text
    purpose: Text
    shape: Form = "paragraph"
    evidence: list[Text] = Field(description="keys of evidence")


class OutlineWire(Wire):
    """The report's title and sections, in order."""

    title: Text
    sections: list[OutlineSectionWire]


class SentenceWire(Wire):
    """One sentence, step, item, table row or piece of code, and the evidence that it cites."""

    text: Text
    evidence: list[Text] = Field(description="keys of evidence")
    basis: Literal["quoted", "derived"] = "quoted"
    cells: list[Text] = Field(default=[], description="of a table's row, else empty")


class ParagraphWire(Wire):
    """A paragraph or another block."""

    form: Form = "paragraph"
    header: list[Text] = Field(default=[], description="a table's columns, else empty")
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
    overstated: list[Text] = Field(default=[], description="keys of evidence whose claim says more than its quote")
    claimless: list[Text] = Field(default=[], description="keys of the sentences that cite nothing and claim nothing")


class EditWire(Wire):
    """A change of one sentence: a new text with its evidence, or ``drop``."""

    sentence: Text = Field(description="key of the sentence")
    drop: bool
    text: Text
    evidence: list[Text] = Field(description="keys of evidence")
    basis: Literal["quoted", "derived"] = "quoted"
    cells: list[Text] = Field(default=[], description="of a table's row, else empty")


class RevisionWire(Wire):
    """Changes of unsupported sentences, and a new title if one was asked for."""

    edits: list[EditWire]
    title: Text = ""


class EditingWire(Wire):
    """Changes of the whole report."""

    order: list[Text] = Field(description="keys of all sections in their best order, or empty")
    edits: list[EditWire]
    to_do: list[SentenceWire]
    how_sure: list[SentenceWire]


class FoldWire(Wire):
    """A condensed memory."""

    mode: Literal["granular", "deep"]
    summary: Text


class StandAloneWire(Wire):
    """A question in words that stand alone."""

    question: Text


class TalkWire(Wire):
    """An answer in sentences that cite, and what might be asked next."""

    sentences: list[SentenceWire]
    follow_ups: list[Text] = Field(default=[], description="questions that the answer leaves open; empty if none")


class EpisodeWire(Wire):
    """A finished session in two sentences that cite."""

    episode: list[SentenceWire]


WIRES: Mapping[str, type[Wire]] = MappingProxyType(
    {
        "perspectives": PerspectivesWire,
        "thought": ThoughtWire,
        "observation": ObservationWire,
        "evaluation": EvaluationWire,
        "cross_check": CrossCheckWire,
        "gaps": GapsWire,
        "outline": OutlineWire,
        "section": SectionWire,
        "claim_check": ClaimCheckWire,
        "revision": RevisionWire,
        "editing": EditingWire,
        "fold": FoldWire,
        "stand_alone": StandAloneWire,
        "talk": TalkWire,
        "episode": EpisodeWire,
    }
)


@cache
def schema_of(wire: type[Wire]) -> dict[str, Any]:
    """Return the JSON schema of a wire model, without titles and class descriptions, which a server does not need.

    Every call returns the same object, because generating it takes milliseconds: do not change it.
    """
    schema = wire.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
        part["required"] = list(part["properties"])
        for field in part["properties"].values():
            field.pop("title", None)
            field.pop("default", None)
    return schema
