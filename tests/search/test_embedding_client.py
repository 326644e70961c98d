from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pipeline.domain.budget import Budget, CombinedBudget, paying
from pipeline.errors import BudgetSpent, ProviderRefused, ServiceFailed, ServiceUnavailable
from pipeline.search.model_servers import EmbeddingClient
from pipeline.search.vectors import LONGEST, Embedded
from tests.embedding_server import Reply, Stage, reply_to, vector_of


def embed(client: EmbeddingClient, texts: Sequence[str], budget: Budget | None = None) -> Embedded:
    async def asked() -> Embedded:
        paying.set(CombinedBudget((budget,) if budget else ()))
        return await client.embed(texts)

    return asyncio.run(asked())


def test_texts_get_their_vectors_in_one_request(stage: Stage) -> None:
    found = embed(stage.client(), ["deep", "ship"])
    assert [list(vector) for vector in found.vectors] == [pytest.approx(vector_of(text)) for text in ("deep", "ship")]
    assert len(stage.asked) == 1


def test_a_server_that_takes_fewer_texts_gets_fewer_and_keeps_getting_fewer(stage: Stage) -> None:
    stage.answer = lambda texts: (413, {"error": "batch too large"}) if len(texts) > 2 else None
    client = stage.client()
    texts = [f"text {number}" for number in range(8)]
    assert len(embed(client, texts).vectors) == 8
    assert client.batch == 2
    assert [len(asked) for asked in stage.asked] == [8, 4, 2, 2, 4, 2, 2]


def test_a_text_that_is_too_long_for_the_model_is_cut_and_one_that_is_never_taken_is_an_error(stage: Stage) -> None:
    stage.answer = lambda texts: (400, {"error": "input exceeds the context length"}) if len(texts[0]) > 600 else None
    assert len(embed(stage.client(), ["deep water " * 500]).vectors) == 1
    assert [len(texts[0]) for texts in stage.asked] == [LONGEST, LONGEST // 2, LONGEST // 4]
    stage.answer = lambda _texts: (400, {"error": "input exceeds the context length"})
    with pytest.raises(ServiceFailed, match="takes no text"):
        embed(stage.client(), ["deep water " * 500])


def test_a_reply_that_cannot_be_used_is_asked_for_once_more(stage: Stage) -> None:
    replies: list[Reply] = [(200, {"data": []})]
    stage.answer = lambda _texts: replies.pop() if replies else None
    assert len(embed(stage.client(), ["deep"]).vectors) == 1
    assert len(stage.asked) == 2
    stage.answer = lambda texts: reply_to(texts[:-1])
    with pytest.raises(ServiceUnavailable, match="0 vectors for 1 texts"):
        embed(stage.client(), ["deep"])


def test_a_known_price_is_charged_and_an_unknown_one_is_assumed(stage: Stage) -> None:
    budget = Budget(1.0)
    known = embed(stage.client(price=2.0), ["deep"] * 5, budget)
    assert known.tokens == 20
    assert known.cost.usd == pytest.approx(20 * 2.0 / 1e6)
    assert known.cost.assumed_usd == 0.0
    assert budget.usd == pytest.approx(known.cost.usd)
    assumed = embed(stage.client(worst_price=2.0), ["deep"]).cost
    assert assumed.usd == assumed.assumed_usd > 0
    assert embed(stage.client(), ["deep"]).cost.usd == 0


def test_a_reply_without_a_count_of_tokens_is_charged_at_its_worst_case(stage: Stage) -> None:
    stage.answer = lambda texts: (200, {"data": reply_to(texts)[1]["data"]})
    found = embed(stage.client(price=1.0), ["deep"]).cost
    assert found.usd == found.assumed_usd > 0


def test_a_request_that_does_not_fit_under_a_cap_is_not_sent(stage: Stage) -> None:
    with pytest.raises(BudgetSpent):
        embed(stage.client(price=1_000_000.0), ["deep"], Budget(0.01))
    assert stage.asked == []


def test_what_a_failure_cost_is_with_the_error(stage: Stage) -> None:
    stage.answer = lambda texts: (413, {}) if len(texts) > 1 else ((404, {"error": "gone"}) if texts == ["b"] else None)
    budget = Budget(1.0)
    with pytest.raises(ServiceFailed) as caught:
        embed(stage.client(price=1.0), ["a", "b"], budget)
    assert caught.value.cost.usd == pytest.approx(budget.usd)
    assert budget.usd > 0


def test_a_refused_key_is_an_error_of_its_own(stage: Stage) -> None:
    stage.answer = lambda _texts: (401, {"error": {"message": "no such key"}})
    with pytest.raises(ProviderRefused, match="no such key"):
        embed(stage.client(), ["deep"])
