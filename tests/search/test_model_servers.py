from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import Malformed
from pipeline.net.calls import Again, Failed, Good, Refused, Reply
from pipeline.search.model_servers import (
    ServedModel,
    TooLarge,
    judged,
    tokens_in,
    usd_in,
    vectors_in,
)
from pipeline.text.redaction import Secret

SERVER = ServedModel("tiny", "embeddings", base_url="http://127.0.0.1/v1/", key=Secret("sk-very-secret-key"))


def reply(body: Any, status: int = 200) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, {}, data, "http://127.0.0.1/v1/embeddings")


def rows(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}


def test_a_request_names_model_and_texts_and_has_the_key_in_one_header() -> None:
    call = SERVER.embeddings(["one", "two"])
    assert (call.url, call.json) == ("http://127.0.0.1/v1/embeddings", {"model": "tiny", "input": ["one", "two"]})
    assert call.headers == {"authorization": "Bearer sk-very-secret-key"}
    assert "secret" not in repr(call)


def test_another_length_of_vector_is_asked_for_and_is_a_space_of_its_own() -> None:
    short = ServedModel("tiny", "embeddings", 8, base_url="http://127.0.0.1/v1")
    assert short.embeddings(["one"]).json["dimensions"] == 8
    assert short.space != SERVER.space


def test_vectors_are_in_the_order_of_the_texts_whatever_the_order_of_the_reply() -> None:
    body = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}
    assert [list(vector) for vector in vectors_in(reply(body), 2)] == [[1, 0], [0, 1]]
    assert len(vectors_in(reply({"data": [{"embedding": [1]}, {"embedding": [2]}]}), 2)) == 2  # without numbers of their own


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "shape"),
        ({"data": "none"}, "shape"),
        ({"data": [[1, 2]]}, "shape"),
        (rows([1, 2]), "count"),
        (rows([1, 2], [3, 4], [5, 6]), "count"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "index"),
        (rows([1, 2], [1, 2, 3]), "length"),
        (rows([1, 2], [0, 0]), "vector"),
        (rows([1, 2], []), "vector"),
        (rows([1, 2], ["a", 2]), "vector"),
        (rows([1, 2], "AAAA"), "vector"),
        (rows([1, 2], [1e300, 1e300]), "vector"),
        (b'{"data": [{"embedding": [1, 2]}, {"embedding": [NaN, 2]}]}', "vector"),
        (b'{"data": [{"embedding": [1, 2]}, {"embedding": [1e400, 2]}]}', "vector"),
    ],
)
def test_a_reply_that_is_not_what_was_asked_for_is_refused(body: Any, kind: str) -> None:
    with pytest.raises(Malformed) as caught:
        vectors_in(reply(body), 2)
    assert caught.value.kind == kind


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("data", "embedding", "index", "usage", "cost")), inner)
        ),
        max_leaves=8,
    )
)
def test_any_reply_is_vectors_or_malformed(body: Any) -> None:
    one = reply({"data": body, "usage": body})
    assert tokens_in(one) is None or tokens_in(one) >= 0  # type: ignore[operator]
    assert usd_in(one) is None or usd_in(one) >= 0  # type: ignore[operator]
    with suppress(Malformed):
        assert len(vectors_in(one, 1)) == 1


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, {}, Good),
        (413, {}, TooLarge),
        (500, {"error": {"message": "input is too large to process. increase the physical batch size"}}, TooLarge),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}, TooLarge),
        (422, {"error": "batch size 64 > maximum allowed batch size 32", "error_type": "Validation"}, TooLarge),
        (400, {"error": "the input length exceeds the context length"}, TooLarge),
        (404, {"error": {"message": "model not found"}}, Failed),
        (400, {"error": {"message": "no such model"}}, Failed),
        (401, {"error": {"message": "invalid key sk-very-secret-key"}}, Refused),
        (429, {}, Again),
        (503, b"<html>", Again),
    ],
)
def test_a_reply_is_judged_by_status_and_message(status: int, body: Any, verdict: type) -> None:
    found = judged(reply(body, status), SERVER)
    assert type(found) is verdict
    assert "secret-key" not in repr(found)


def test_tokens_and_price_are_read_if_they_can_be_true() -> None:
    good = reply({"usage": {"total_tokens": 7, "cost": 0.25}})
    assert (tokens_in(good), usd_in(good)) == (7, 0.25)
    for usage in ({"total_tokens": -1, "cost": -1}, {"total_tokens": True, "cost": "1"}, {"total_tokens": 1e9}, None, "many"):
        bad = reply({"usage": usage})
        assert (tokens_in(bad), usd_in(bad)) == (None, None)
