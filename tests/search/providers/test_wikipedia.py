from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.web import Wikipedia
from tests.search.replies import Bench, reply

ROW = {
    "ns": 0,
    "title": "C++/é (language)?",
    "snippet": '<span class="searchmatch">Asyncio</span> is &quot;fast&quot;',
    "timestamp": "2024-02-01T00:00:00Z",
}


def page(*rows: Any, total: Any = 1) -> dict[str, Any]:
    return {"batchcomplete": True, "query": {"searchinfo": {"totalhits": total}, "search": list(rows)}}


def test_a_title_becomes_the_articles_address() -> None:
    bench = Bench(Wikipedia(), reply(page(ROW)))
    (hit,) = asyncio.run(bench.search.search("q" * 500, 100)).hits
    assert hit.url == "https://en.wikipedia.org/wiki/C%2B%2B/%C3%A9_(language)%3F"
    assert (hit.title, hit.snippet, hit.published) == ("C++/é (language)?", 'Asyncio is "fast"', "2024-02-01")
    params = bench.asked.url.params
    assert (len(params["srsearch"]), params["srlimit"], params["maxlag"], params["formatversion"]) == (300, "50", "5", "2")


def test_no_rows_are_nothing_found_unless_rows_were_promised() -> None:
    assert asyncio.run(Bench(Wikipedia(), reply(page(total=0))).search.search("a", 5)).hits == ()
    damaged: tuple[Any, ...] = (page(total=7), {}, {"query": {}}, {"query": {"search": None}}, page({"title": ""}), page(7))
    for body in damaged:
        with pytest.raises(SearchFailed):
            asyncio.run(Bench(Wikipedia(), *[reply(body) for _ in range(3)]).search.search("a", 5))


def test_lag_with_status_200_is_waited_out() -> None:
    lag = {"error": {"code": "maxlag", "info": "Waiting for db1: 7 seconds lagged", "lag": 7}}
    bench = Bench(Wikipedia(), reply(lag, 200, {"Retry-After": "5"}), reply(page(ROW)))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert sum(bench.clock.slept) == pytest.approx(5)


@pytest.mark.parametrize(
    ("code", "sent"), [("ratelimited", 3), ("internal_api_error_DBQueryError", 3), ("badvalue", 1), (None, 1)]
)
def test_an_error_with_status_200_is_an_error(code: Any, sent: int) -> None:
    bench = Bench(Wikipedia(), lambda: reply({"error": {"code": code, "info": "The page <b>fails</b>."}}))
    with pytest.raises(SearchFailed, match="The page fails"):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == sent


def test_who_does_not_say_who_he_is_learns_what_to_write() -> None:
    bench = Bench(Wikipedia(), reply("Please set a user-agent and respect our robot policy", 403))
    with pytest.raises(ProviderRefused) as caught:
        asyncio.run(bench.search.search("a", 5))
    assert "contact:" in caught.value.hint
