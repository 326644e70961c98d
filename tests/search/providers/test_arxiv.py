from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import Malformed, SearchFailed
from pipeline.search.providers.papers import Arxiv, parse_feed
from tests.search.replies import Bench, reply

ENTRY = """<entry><id>http://arxiv.org/abs/hep-ex/0307015v1</id><title>Multi-Electron Production at
 HERA &amp; more</title><published>2003-07-07T17:46:39Z</published>
 <link href="https://arxiv.org/abs/hep-ex/0307015v1" rel="alternate" type="text/html"/>
 <link href="https://arxiv.org/pdf/hep-ex/0307015v1" rel="related" title="pdf"/><summary>We  measure.</summary></entry>"""
ERROR = """<entry><id>http://arxiv.org/api/errors#incorrect_id_format</id><title>Error</title>
 <summary>incorrect id format for 1234.12345</summary></entry>"""


def feed(entries: str = "", total: str = "0", head: str = "") -> str:
    return f"""<?xml version='1.0' encoding='UTF-8'?>{head}
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns="http://www.w3.org/2005/Atom"><title>arXiv Query</title>
<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"""


def test_an_entry_is_a_hit_under_its_page_without_a_version() -> None:
    bench = Bench(Arxiv(), reply(feed(ENTRY, "1000")))
    (hit,) = asyncio.run(bench.search.search("What is the electron-yield of HERA?", 5)).hits
    assert hit.url == "https://arxiv.org/abs/hep-ex/0307015"
    assert (hit.title, hit.snippet, hit.published) == ("Multi-Electron Production at HERA & more", "We measure.", "2003-07-07")
    assert bench.asked.url.params["search_query"] == "all:electron-yield OR all:hera"


def test_a_query_never_writes_its_own_operators() -> None:
    bench = Bench(Arxiv(), reply(feed(ENTRY, "1")))
    asyncio.run(bench.search.search('au:x ANDNOT (ti:"y") & max_results=9', 5))
    assert bench.asked.url.params["search_query"] == "all:au OR all:x OR all:ti OR all:y OR all:max OR all:results OR all:9"
    assert bench.asked.url.params["max_results"] == "5"


def test_no_entry_is_nothing_found_unless_entries_were_promised() -> None:
    assert asyncio.run(Bench(Arxiv(), reply(feed())).search.search("a b", 5)).hits == ()
    with pytest.raises(SearchFailed, match="announces 12 results and holds none"):
        asyncio.run(Bench(Arxiv(), lambda: reply(feed(total="12"))).search.search("a b", 5))


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_in_the_feed_is_an_error_with_its_own_words(status: int) -> None:
    bench = Bench(Arxiv(), reply(feed(ERROR, "1"), status))
    with pytest.raises(SearchFailed, match=r"incorrect id format for 1234\.12345"):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1


LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'
DAMAGED = [
    "",
    "Rate exceeded.",
    "<html><body>no</body></html>",
    "<feed/>",
    feed(ENTRY, "1")[:300],
    feed("<entry><id></id></entry>", "1"),
    feed("<entry><title>&c;</title></entry>", "1", LAUGHS),
    feed("", "1", '<!DOCTYPE feed SYSTEM "file:///etc/passwd">'),
    feed(ENTRY, "1").replace("totalResults", "total"),
    feed(ENTRY, "1").encode("utf-16"),
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("body", DAMAGED)
def test_a_damaged_feed_is_a_failure_and_tries_keep_the_distance(body: str | bytes) -> None:
    bench = Bench(Arxiv(), lambda: reply(body), gap_s=3.0)
    with pytest.raises(SearchFailed):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 3
    assert all(wait >= 3 for wait in bench.clock.slept)


def test_a_lost_connection_keeps_the_distance_too() -> None:
    bench = Bench(Arxiv(), ConnectionResetError(), gap_s=3.0)
    with pytest.raises(SearchFailed):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 3
    assert bench.clock.slept == [3.0, 3.0]


def test_entities_are_never_expanded() -> None:
    with pytest.raises(Malformed, match="document type"):
        parse_feed(feed("<entry><title>&c;</title></entry>", "1", LAUGHS).encode())


@given(st.binary())
def test_any_bytes_are_a_feed_or_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_feed(data)


def test_requests_stand_three_seconds_apart() -> None:
    bench = Bench(Arxiv(), lambda: reply(feed(ENTRY, "1")), gap_s=3.0)

    async def several() -> None:
        await asyncio.gather(*(bench.search.search(f"word{n}", 5) for n in range(4)))

    asyncio.run(several())
    assert bench.hits == 4
    assert bench.clock.now == pytest.approx(1_009.0)


def test_too_many_requests_pass_later() -> None:
    bench = Bench(Arxiv(), reply("Rate exceeded.", 429), reply(feed(ENTRY, "1")))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert bench.clock.slept == [3.0]
