"""Arbitrary text of a model: a wire model or a fault in words, nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.queue_schema import Price
from pipeline.domain.reasoner_questions import Reading
from pipeline.domain.research_values import Cost
from pipeline.net.calls_and_replies import Reply
from pipeline.reasoners.model import completion_replies
from pipeline.reasoners.model.call_costs import Prices
from pipeline.reasoners.model.json_reply import UnusableReply, parse_reply
from pipeline.reasoners.model.prompts import schema_of
from tests.reasoners.model.kit import QUESTIONS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["error", "choices", "usage", "code", "message", "metadata", "finish_reason", "content", "availability", "type"]
)
ENVELOPES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 600) | st.text(max_size=6) | st.sampled_from(["stop", "error", "429"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(st.one_of(st.text(), JSON.map(json.dumps), st.text().map("```json\n{}\n```".format)))
def test_any_text_is_an_answer_or_is_unfit(text: str) -> None:
    try:
        said: object = parse_reply(text, Reading)
    except UnusableReply as fault:
        said = fault
    assert isinstance(said, Reading) or 0 < len(str(said)) < 2_000


def test_characters_that_cannot_be_stored_are_cleaned_away() -> None:
    assert parse_reply('{"findings": [], "queries": ["a\\ud800b\\u0000c\\u202ed"]}', Reading).queries == ("abcd",)


WORDS = st.text(max_size=12) | st.sampled_from(["E1", "E2", "Q1", "P1", "T1", "T2", "[E1]", "E9", "0", "https://e.example"])


def said_by(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """JSON that fits a schema of the wire."""
    if "$ref" in schema:
        return said_by(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(said_by(schema["items"], definitions), max_size=3)
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: said_by(part, definitions) for name, part in schema["properties"].items()})
    return st.booleans() if schema["type"] == "boolean" else WORDS


@pytest.mark.parametrize("name", sorted(QUESTIONS))
@given(data=st.data())
@settings(max_examples=40)
def test_any_reply_that_fits_the_schema_is_an_answer(name: str, data: st.DataObject) -> None:
    wanted = QUESTIONS[name].answer_type
    schema = schema_of(wanted)
    assert isinstance(parse_reply(json.dumps(data.draw(said_by(schema, schema.get("$defs", {})))), wanted), wanted)


@given(ENVELOPES, st.sampled_from([200, 400, 402, 404, 429, 500]))
def test_any_envelope_means_something(body: object, status: int) -> None:
    reply = Reply(status, {}, json.dumps(body).encode(), "https://m.example")
    found = completion_replies.meaning_of(reply)
    assert status == 200 or not isinstance(found, completion_replies.Content | completion_replies.CutOff)
    assert status == 200 or not completion_replies.may_be_billed(reply)


@given(st.binary(max_size=200), st.sampled_from([200, 204, 301, 503]))
def test_any_bytes_mean_something(body: bytes, status: int) -> None:
    assert completion_replies.meaning_of(Reply(status, {}, body, "https://m.example")) is not None


@given(st.dictionaries(st.sampled_from(["usage", "model"]), ENVELOPES | st.floats() | JSON))
def test_any_account_is_a_finite_cost(body: dict[str, object]) -> None:
    cost = Prices(Price(1, 1)).billed(body, "m", Cost(input_tokens=5, output_tokens=5, total_tokens=10, usd=0.1))
    assert 0 <= cost.usd <= 1_000_000
    assert cost.total_tokens == cost.input_tokens + cost.output_tokens >= 0
