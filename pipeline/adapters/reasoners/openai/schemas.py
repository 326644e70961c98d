"""The JSON schema of a question's answer, as servers with strict schemas want it: every field required, no other one allowed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from pipeline.domain import reasoner_questions as q
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.reasoner_questions.talk_questions import StandAloneQuestion, TalkQuestion

QUESTIONS: Mapping[str, type[q.Question[Any]]] = MappingProxyType(
    {
        one.name: one
        for one in (
            q.PlanQuestion,
            q.ReadingQuestion,
            q.ReportQuestion,
            q.CheckQuestion,
            q.MendingQuestion,
            TalkQuestion,
            StandAloneQuestion,
            EpisodeQuestion,
        )
    }
)


@cache
def schema_of(answer: type[q.Reply]) -> dict[str, Any]:
    """Return the JSON schema of an answer, without titles, defaults and class descriptions, which a server does not need.

    Every call returns the same object, because generating it takes milliseconds: do not change it.
    """
    schema: dict[str, Any] = answer.model_json_schema()
    _bound_lists(schema)
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
        part["required"] = list(part["properties"])
        part["additionalProperties"] = False
        for field in part["properties"].values():
            field.pop("title", None)
            field.pop("default", None)
    return schema


def _bound_lists(part: Any) -> None:
    """Give each list its bound under the name that schemas have for it; pydantic calls it a length behind a validator."""
    for value in part.values() if isinstance(part, dict) else ():
        _bound_lists(value)
    if isinstance(part, dict) and part.get("type") == "array" and "maxLength" in part:
        part["maxItems"] = part.pop("maxLength")
