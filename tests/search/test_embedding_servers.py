"""Servers of embeddings and rerankers: what a request has, what a reply must be, and what it costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.budget import Budget, Caps, CombinedBudget, paying
from pipeline.errors import Malformed, ProviderRefused, ServiceFailed, ServiceUnavailable
from pipeline.net.calls_and_replies import Reply
from pipeline.search.embedding_servers import EmbeddingClient, usage_in, vectors_in
from pipeline.search.vectors import LONGEST, Embedded
from pipeline.text.redaction import Secret
from tests.embedding_server import Stage, reply_to, vector_of


def embed(client: EmbeddingClient, texts: Sequence[str], budget: Budget | None = None) -> Embedded:
    async def asked() -> Embedded:
        paying.set(CombinedBudget((budget,) if budget else ()))
        return await client.embed(texts)

    return asyncio.run(asked())


def rows(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}


def test_texts_get_their_vectors_in_one_request_with_the_key_in_one_header(stage: Stage) -> None:
    client = stage.client(key=Secret("sk-very-secret-key"))
    texts = ["deep", "ship"]
    assert [list(one) for one in embed(client, texts).vectors] == [pytest.approx(vector_of(t)) for t in ("deep", "ship")]
    assert len(stage.asked) == 1
    (headers,) = stage.headers
    assert [name for name, value in headers.items() if "very-secret" in value] == ["authorization"]


def test_vectors_are_in_the_order_of_the_texts_whatever_the_order_of_the_reply(stage: Stage) -> None:
    stage.answer = lambda _texts: (200, {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]})
    assert [list(one) for one in embed(stage.client(), ["a", "b"]).vectors] == [[1, 0], [0, 1]]
    stage.answer = lambda _texts: (200, {"data": [{"embedding": [1]}, {"embedding": [2]}]})  # without numbers of their own
    assert [list(one) for one in embed(stage.client(), ["a", "b"]).vectors] == [[1], [2]]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"data": "none"}, "no list"),
        ({"data": [[1, 2]]}, "no list"),
        (rows([1, 2]), "1 rows for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "another way"),
        (rows([1, 2], [1, 2, 3]), "different lengths"),
        (rows([1, 2], [0, 0]), "all zeros"),
        (rows([1, 2], []), "all zeros"),
        (rows([1, 2], ["a", 2]), "no number"),
        (rows([1, 2], [1e300, 1e300]), "finite|no number"),
        (b'{"data": [{"embedding": [1, 2]}, {"embedding": [NaN, 2]}]}', "finite|no number"),
    ],
)
def test_a_reply_that_cannot_be_used_is_asked_for_once_more_and_then_an_error(stage: Stage, body: Any, why: str) -> None:
    stage.answer = lambda _texts: (200, body)
    with pytest.raises(ServiceUnavailable, match=why):
        embed(stage.client(), ["a", "b"])
    assert len(stage.asked) == 2


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
    class Read(Reply):
        def json_object(self) -> dict[str, Any]:
            return {"data": body, "usage": body}

    one = Read(200, {}, b"", "")
    assert all(value is None or value >= 0 for value in usage_in(one))
    with suppress(Malformed):
        assert len(vectors_in(one, 1)) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (413, {}),
        (500, {"error": {"message": "input is too large to process. increase the physical batch size"}}),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}),
        (422, {"error": "batch size 64 > maximum allowed batch size 32", "error_type": "Validation"}),
    ],
)
def test_a_server_that_takes_fewer_texts_gets_fewer_and_keeps_getting_fewer(stage: Stage, status: int, body: Any) -> None:
    stage.answer = lambda texts: (status, body) if len(texts) > 2 else None
    client = stage.client()
    assert len(embed(client, [f"text {number}" for number in range(8)]).vectors) == 8
    assert client.batch == 2
    assert [len(asked) for asked in stage.asked] == [8, 4, 2, 2, 4, 2, 2]


def test_a_text_that_is_too_long_for_the_model_is_cut_and_one_that_is_never_taken_is_an_error(stage: Stage) -> None:
    stage.answer = lambda texts: (400, {"error": "input exceeds the context length"}) if len(texts[0]) > 600 else None
    assert len(embed(stage.client(), ["deep water " * 500]).vectors) == 1
    assert [len(texts[0]) for texts in stage.asked] == [LONGEST, LONGEST // 2, LONGEST // 4]
    stage.answer = lambda _texts: (400, {"error": "input exceeds the context length"})
    with pytest.raises(ServiceFailed, match="takes no text"):
        embed(stage.client(), ["deep water " * 500])


@pytest.mark.parametrize(("status", "error"), [(401, ProviderRefused), (404, ServiceFailed), (400, ServiceFailed)])
def test_what_a_server_refuses_is_said_in_its_words_without_the_key(stage: Stage, status: int, error: type[Exception]) -> None:
    stage.answer = lambda _texts: (status, {"error": {"message": "unknown: sk-very-secret-key"}})
    with pytest.raises(error, match="unknown") as caught:
        embed(stage.client(key=Secret("sk-very-secret-key")), ["deep"])
    assert "secret-key" not in str(caught.value)


def test_a_known_price_is_charged_and_an_unknown_one_or_a_reply_without_tokens_is_assumed(stage: Stage) -> None:
    budget = Budget(Caps(1.0))
    known = embed(stage.client(price=2.0), ["deep"] * 5, budget)
    assert (known.tokens, known.cost.assumed_usd) == (20, 0.0)
    assert known.cost.usd == pytest.approx(20 * 2.0 / 1e6)
    assert budget.usd == pytest.approx(known.cost.usd)
    assumed = embed(stage.client(worst_price=2.0), ["deep"]).cost
    assert assumed.usd == assumed.assumed_usd > 0
    assert embed(stage.client(), ["deep"]).cost.usd == 0
    for usage in (None, "many", {"total_tokens": -1, "cost": -1}, {"total_tokens": True, "cost": "1"}, {"total_tokens": 1e9}):
        stage.answer = lambda texts, usage=usage: (200, {**reply_to(texts)[1], "usage": usage})  # type: ignore[misc]
        found = embed(stage.client(price=1.0), ["deep"]).cost
        assert found.usd == found.assumed_usd > 0
    stage.answer = lambda texts: (200, {**reply_to(texts)[1], "usage": {"total_tokens": 7, "cost": 0.25}})
    assert embed(stage.client(price=1.0), ["deep"]).cost.usd == 0.25


def test_a_request_that_is_broken_off_may_have_been_billed(stage: Stage) -> None:
    budget = Budget(Caps(1.0))
    stage.answer = lambda _texts: time.sleep(0.5)

    async def broken_off() -> None:
        paying.set(CombinedBudget((budget,)))
        asking = asyncio.create_task(stage.client(price=1.0).embed(["deep"]))
        while not stage.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(broken_off())
    assert budget.usd > 0


def test_what_a_failure_cost_is_with_the_error(stage: Stage) -> None:
    stage.answer = lambda texts: (413, {}) if len(texts) > 1 else ((404, {"error": "gone"}) if texts == ["b"] else None)
    budget = Budget(Caps(1.0))
    with pytest.raises(ServiceFailed) as caught:
        embed(stage.client(price=1.0), ["a", "b"], budget)
    assert caught.value.cost.usd == pytest.approx(budget.usd)
    assert budget.usd > 0
