"""The arguments of the tools, as models: their fields, limits and descriptions are what a client's model reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

LONGEST_TEXT = 10_000  # characters of a question
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class Arguments(BaseModel):
    """The arguments of one tool. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Search(Arguments):
    """Of ``search``."""

    query: Text = Field(description="What to look for, in words or as a question.")


class Fetch(Arguments):
    """Of ``fetch``."""

    id: Name = Field(description="An id from search: report/<session> or source/<sha256>.")


class Ask(Arguments):
    """Of ``ask``."""

    question: Text = Field(description="A question that stands alone, as a full sentence.")
    scope: Name | None = Field(None, description="A session's or query's id, or a tag as #tag; without it all pages are asked.")


class ReportId(Arguments):
    """Of ``report``, ``verify`` and ``status``."""

    id: Name = Field(description="A session's id, or a query's id for its latest session.")


class WhyArguments(Arguments):
    """Of ``why``."""

    id: Name = Field(description="A session's id, or a query's id for its latest session.")
    sentence: Text = Field(description="Some words of a sentence of the report, or a fact's id.")


class WhatsNew(Arguments):
    """Of ``whats_new``."""

    since: Annotated[str, StringConstraints(min_length=1, max_length=40)] = Field(
        description="A date or time in ISO 8601, such as 2026-11-21 or 2026-11-21T06:30:00Z, or a length of time: 12h, 7d."
    )


class Enqueue(Arguments):
    """Of ``enqueue``."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=1_000)] = Field(
        description="The question to research the next night, as a full sentence."
    )
    mode: Literal["fast", "deep"] = Field("fast", description="fast: one perspective; deep: several, and gaps are filled.")
    tags: Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=60)], ...], Field(max_length=10)] = Field(
        (), description="Topics."
    )
    every: Annotated[str, StringConstraints(pattern=r"^[1-9]\d{0,2}d$")] | None = Field(
        None, description="Research it again after this time, in days, such as 7d."
    )


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for value in schema.get("properties", {}).values():
        value.pop("title", None)
    return schema
