from __future__ import annotations

import asyncio
import logging

import pytest

from pipeline.domain.research_values import Cost, FailedSide, Hit
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed
from pipeline.ports import Search, SearchResult
from pipeline.search.combined_searches import FallbackChain, Member, OwnAndWeb

OWN = tuple(Hit(url=f"corpus:{name}.md#top", title=name) for name in "abc")
WEB = tuple(Hit(url=f"https://e.org/{name}", title=name) for name in "abc")


class Side:
    """Answers with its outcomes in turn, the last one for ever, hits at a price or a failure."""

    def __init__(self, name: str, *outcomes: ResearchError | tuple[Hit, ...], usd: float = 0.0) -> None:
        self.name, self.outcomes, self.usd, self.calls = name, list(outcomes), usd, 0

    async def search(self, query: str, limit: int) -> SearchResult:
        self.calls += 1
        found = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(found, ResearchError):
            raise found
        known = {"languages": ("english",), "absent": ("Kafka",)} if self.name == "local" else {}
        return SearchResult(self.name, found[:limit], Cost(usd=self.usd), **known)  # type: ignore[arg-type]


def lost(message: str, usd: float) -> SearchFailed:
    error = SearchFailed(message, hint="wait")
    error.cost = Cost(usd=usd)
    return error


def asked(own: Search, web: Search, limit: int = 5) -> SearchResult:
    return asyncio.run(OwnAndWeb(own, web).search("a", limit))


def chain(*sides: Side) -> FallbackChain:
    return FallbackChain([Member(side, price=side.usd) for side in sides])


def test_both_are_asked_their_hits_fused_and_both_named() -> None:
    own, web = Side("local", OWN), Side("brave", WEB, usd=0.005)
    found = asked(own, web)
    assert (found.provider, found.failed, own.calls, web.calls) == ("local+brave", (), 1, 1)
    assert found.hits == (OWN[0], WEB[0], OWN[1], WEB[1], OWN[2])
    assert (found.cost, found.languages, found.absent) == (Cost(usd=0.005), ("english",), ())  # those of the own documents


@pytest.mark.parametrize("error", [SearchFailed("the index is broken"), CorpusUnusable("the folder is gone")])
def test_without_the_folder_the_web_is_searched_and_paid_for(error: ResearchError) -> None:
    found = asked(chain(Side("local", error)), Side("brave", WEB, usd=0.005))
    assert (found.provider, found.hits, found.cost.usd) == ("brave", WEB, 0.005)
    assert found.failed == (FailedSide(origin="own", reason=error.message),)


@pytest.mark.parametrize("error", [SearchFailed("brave is down"), ProviderRefused("brave refuses us: key")])
def test_without_the_web_the_folder_is_searched(error: ResearchError) -> None:
    found = asked(Side("local", OWN), chain(Side("brave", error)))
    assert (found.provider, found.hits, found.cost.usd) == ("local", OWN, 0.0)
    assert found.failed == (FailedSide(origin="web", reason=error.message),)


def test_what_a_failed_search_of_the_web_may_have_cost_is_in_the_bill() -> None:
    assert asked(Side("local", OWN), chain(Side("brave", lost("down", usd=0.01)))).cost.usd == 0.01
    fallback = chain(Side("brave", lost("down", usd=0.01)), Side("tavily", WEB, usd=0.008))
    found = asked(Side("local", OWN), fallback)
    assert (found.provider, found.cost.usd, found.failed) == ("local+tavily", 0.018, ())


def test_with_both_down_it_may_pass_later_if_one_of_them_may() -> None:
    with pytest.raises(SearchFailed, match="gone; down") as caught:
        asked(Side("local", CorpusUnusable("gone")), Side("brave", lost("down", usd=0.01)))
    assert (caught.value.hint, caught.value.cost) == ("wait", Cost(usd=0.01))
    with pytest.raises(ProviderRefused, match="gone; key"):
        asked(Side("local", CorpusUnusable("gone")), Side("brave", ProviderRefused("key")))


FOUND = Hit(url="https://e.org/", title="E")


def provider_of(searches: FallbackChain) -> str:
    return asyncio.run(searches.search("a", 5)).provider


def test_the_first_serves_and_finding_nothing_is_an_answer() -> None:
    first, second = Side("brave", ()), Side("local", (FOUND,))
    result = asyncio.run(chain(first, second).search("a", 5))
    assert (result.provider, result.hits, second.calls) == ("brave", (), 0)


def test_while_one_is_down_the_next_serves_and_the_first_is_asked_again() -> None:
    both = chain(Side("brave", SearchFailed("down"), (FOUND,)), Side("local", (FOUND,)))
    assert [provider_of(both), provider_of(both)] == ["local", "brave"]


def test_one_that_refuses_is_left_for_the_night_by_all_chains_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    brave = Side("brave", ProviderRefused("brave refuses us: key", hint="check BRAVE_API_KEY"))
    member, local = Member(brave), Member(Side("local", (FOUND,)))
    with caplog.at_level(logging.WARNING):
        providers = [provider_of(FallbackChain([member, local])) for _ in range(3)]
    assert providers == ["local"] * 3
    assert brave.calls == 1
    assert [record.getMessage() for record in caplog.records] == [
        "brave refuses us: key; it is not asked again tonight (check BRAVE_API_KEY)"
    ]


def test_when_all_refuse_the_provider_refuses_and_what_it_may_have_cost_counts_once() -> None:
    refusal = ProviderRefused("brave: key", hint="one")
    refusal.cost = Cost(usd=0.005)
    alone = chain(Side("brave", refusal))
    for usd in (0.005, 0.0):
        with pytest.raises(ProviderRefused, match="brave: key") as caught:
            provider_of(alone)
        assert caught.value.cost.usd == usd
    both = chain(Side("brave", ProviderRefused("brave: key", hint="one")), Side("tavily", ProviderRefused("tavily: quota")))
    with pytest.raises(ProviderRefused, match="brave: key; tavily: quota") as caught:
        provider_of(both)
    assert caught.value.hint == "one"


def test_when_one_refuses_and_the_other_is_down_it_may_pass_later() -> None:
    both = chain(Side("brave", ProviderRefused("key")), Side("tavily", SearchFailed("down"), (FOUND,)))
    with pytest.raises(SearchFailed, match="down; key") as caught:
        provider_of(both)
    assert caught.value.retryable
    assert provider_of(both) == "tavily"


def test_a_folder_without_documents_is_a_member_that_cannot_serve() -> None:
    assert provider_of(chain(Side("local", CorpusUnusable("empty")), Side("wikipedia", (FOUND,)))) == "wikipedia"
    with pytest.raises(CorpusUnusable):
        provider_of(chain(Side("local", CorpusUnusable("empty"))))
