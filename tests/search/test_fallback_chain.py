from __future__ import annotations

import asyncio
import logging

import pytest

from pipeline.domain.values import Cost, Hit
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed
from pipeline.ports import SearchResult
from pipeline.search.several import FallbackChain, Member

HIT = Hit(url="https://e.org/", title="E")


class Scripted:
    def __init__(self, name: str, *outcomes: ResearchError | tuple[Hit, ...]) -> None:
        self.name = name
        self.outcomes = list(outcomes)
        self.calls = 0

    async def search(self, query: str, limit: int) -> SearchResult:
        self.calls += 1
        found = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(found, ResearchError):
            raise found
        return SearchResult(self.name, found)


def chain(*searches: Scripted) -> FallbackChain:
    return FallbackChain([Member(search) for search in searches])


def provider_of(searches: FallbackChain) -> str:
    return asyncio.run(searches.search("a", 5)).provider


def test_the_first_serves_and_finding_nothing_is_an_answer() -> None:
    first, second = Scripted("brave", ()), Scripted("local", (HIT,))
    result = asyncio.run(chain(first, second).search("a", 5))
    assert (result.provider, result.hits, second.calls) == ("brave", (), 0)


def test_while_one_is_down_the_next_serves_and_the_first_is_asked_again() -> None:
    both = chain(Scripted("brave", SearchFailed("down"), (HIT,)), Scripted("local", (HIT,)))
    assert [provider_of(both), provider_of(both)] == ["local", "brave"]


def test_one_that_refuses_is_left_for_the_night_by_all_chains_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    brave = Scripted("brave", ProviderRefused("brave refuses us: key", hint="check BRAVE_API_KEY"))
    member, local = Member(brave), Member(Scripted("local", (HIT,)))
    with caplog.at_level(logging.WARNING):
        providers = [provider_of(FallbackChain([member, local])) for _ in range(3)]
    assert providers == ["local"] * 3
    assert brave.calls == 1
    assert [record.getMessage() for record in caplog.records] == [
        "brave refuses us: key; it is not asked again tonight (check BRAVE_API_KEY)"
    ]


def test_when_all_refuse_the_provider_refuses() -> None:
    alone = chain(Scripted("brave", ProviderRefused("brave: key", hint="one")))
    for _ in range(2):
        with pytest.raises(ProviderRefused, match="brave: key"):
            provider_of(alone)
    both = chain(
        Scripted("brave", ProviderRefused("brave: key", hint="one")), Scripted("tavily", ProviderRefused("tavily: quota"))
    )
    with pytest.raises(ProviderRefused, match="brave: key; tavily: quota") as caught:
        provider_of(both)
    assert caught.value.hint == "one"


def test_when_one_refuses_and_the_other_is_down_it_may_pass_later() -> None:
    both = chain(Scripted("brave", ProviderRefused("key")), Scripted("tavily", SearchFailed("down"), (HIT,)))
    with pytest.raises(SearchFailed, match="down; key") as caught:
        provider_of(both)
    assert caught.value.retryable
    assert provider_of(both) == "tavily"


def test_a_folder_without_documents_is_a_member_that_cannot_serve() -> None:
    assert provider_of(chain(Scripted("local", CorpusUnusable("empty")), Scripted("wikipedia", (HIT,)))) == "wikipedia"
    with pytest.raises(CorpusUnusable):
        provider_of(chain(Scripted("local", CorpusUnusable("empty"))))


def test_what_failed_on_the_way_may_have_cost() -> None:
    lost = SearchFailed("down")
    lost.cost = Cost(usd=0.005)
    result = asyncio.run(chain(Scripted("brave", lost), Scripted("local", (HIT,))).search("a", 5))
    assert result.cost.usd == 0.005
