"""Providers of web searches: what each is asked, how its replies become hits, and what a reply that is no result means."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.keys import SEARCHES
from pipeline.domain.budget import Budget, Caps, CombinedBudget, paying
from pipeline.domain.research_values import Cost, Hit
from pipeline.errors import Malformed, ProviderRefused, SearchFailed, StepError
from pipeline.net.client import HttpClient, Policy
from pipeline.search.providers import PROVIDER_BY_NAME, Provider, WebSearch, parse_feed
from pipeline.text.redaction import Secret
from tests.search.replies import Bench, Script, reply

KEY = Secret("canary-key")


def made(name: str, key: Secret | None = KEY) -> Provider:
    """The provider at its own address."""
    return PROVIDER_BY_NAME[name](SEARCHES[name].url or "https://searx.example.org/", key)


BRAVE: dict[str, Any] = {
    "title": "Private <strong>Search</strong> Engine &amp; more",
    "url": "HTTPS://Example.com?utm_source=b#top",
    "description": "<strong>Brave</strong> Search &lt;b&gt; a &amp; b",
    "page_age": "2023-04-27T00:00:00",
    "extra_snippets": ["one&nbsp;two", None],
}
TAVILY = {"title": "Lionel Messi | Britannica", "url": "https://www.britannica.com/a", "content": "std::vector<int>"}
SEARXNG = {"url": "https://e.org/a#b", "title": "A", "content": "C", "publishedDate": "2024-05-06T00:00:00"}
SILENT = [["google", "Suspended: too many requests"], ["brave", "timeout"]]
WIKIPEDIA = {
    "title": "C++/é (language)?",
    "snippet": '<span class="searchmatch">Asyncio</span> is &quot;fast&quot;',
    "timestamp": "2024-02-01T00:00:00Z",
}
OPENALEX: dict[str, Any] = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.7717/peerj.4375",
    "display_name": "The state of <i>OA</i>",
    "publication_date": "2018-02-13",
    "open_access": {"oa_url": "https://peerj.com/articles/4375.pdf"},
    "primary_location": {"landing_page_url": "https://doi.org/x", "source": None},
    "abstract_inverted_index": {"growing": [1, 3], "Despite": [0], "interest,": [2]},
}
SCHOLAR: dict[str, Any] = {
    "title": "T",
    "url": "https://www.semanticscholar.org/paper/7cbc2a",
    "abstract": None,
    "year": 2019,
    "openAccessPdf": {"url": "https://e.org/a.pdf"},
    "externalIds": {"ArXiv": "2310.01234", "DOI": "10.1/x"},
}
ENTRY = """<entry><id>http://arxiv.org/abs/hep-ex/0307015v1</id><title>Multi-Electron Production at
 HERA &amp; more</title><published>2003-07-07T17:46:39Z</published>
 <link href="https://arxiv.org/abs/hep-ex/0307015v1" rel="alternate" type="text/html"/>
 <link href="https://arxiv.org/pdf/hep-ex/0307015v1" rel="related" title="pdf"/><summary>We  measure.</summary></entry>"""
ERROR = """<entry><id>http://arxiv.org/api/errors#incorrect_id_format</id><title>Error</title>
 <summary>incorrect id format for 1234.12345</summary></entry>"""
LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'


def brave(*rows: Any) -> dict[str, Any]:
    return {"type": "search", "web": {"results": list(rows)}}


def listed(*rows: Any, **more: Any) -> dict[str, Any]:
    return {"results": list(rows), **more}


def wikipedia(*rows: Any, total: Any = 1) -> dict[str, Any]:
    return {"query": {"searchinfo": {"totalhits": total}, "search": list(rows)}}


def openalex(*rows: Any, count: Any = 1) -> dict[str, Any]:
    return listed(*rows, meta={"count": count})


def scholar(*rows: Any, total: Any = 1) -> dict[str, Any]:
    return {"total": total, "offset": 0, "data": list(rows)}


def feed(entries: str = "", total: str = "0", head: str = "") -> str:
    return f"""<?xml version='1.0' encoding='UTF-8'?>{head}
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns="http://www.w3.org/2005/Atom"><title>arXiv Query</title>
<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"""


def brave_error(code: str, **more: Any) -> dict[str, Any]:
    return {"type": "ErrorResponse", "error": {"code": code, "detail": "Refused.", **more}}


def asked(bench: Bench, query: str = "a", limit: int = 5) -> tuple[Hit, ...]:
    return asyncio.run(bench.search.search(query, limit)).hits


# -- of all providers -----------------------------------------------------------------------------------------------------------


def test_every_provider_of_the_settings_can_be_made() -> None:
    assert PROVIDER_BY_NAME.keys() == SEARCHES.keys()


@pytest.mark.parametrize("name", PROVIDER_BY_NAME)
def test_a_provider_is_asked_at_the_given_address_under_its_own_circuit(name: str) -> None:
    script = Script(reply("", 404))
    http = HttpClient(Policy(), transport=script)
    search = WebSearch(PROVIDER_BY_NAME[name]("https://mirror.example.org", KEY), http, {"user-agent": "me"})
    with pytest.raises(Exception, match=f"{name}: "):
        asyncio.run(search.search("a", 3))
    assert search.name == name
    assert script.requests[0].url.host == "mirror.example.org"
    assert script.requests[0].headers["user-agent"] == "me"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("brave", {"type": "search", "query": {}}),
        ("tavily", listed()),
        ("searxng", listed()),
        ("wikipedia", wikipedia(total=0)),
        ("arxiv", feed()),
        ("openalex", openalex(count=0)),
        ("semanticscholar", {"total": 0, "offset": 0}),
    ],
)
def test_nothing_found_is_an_answer(name: str, body: Any) -> None:
    assert asked(Bench(made(name), reply(body))) == ()


DAMAGED: dict[str, list[Any]] = {
    "brave": [
        "", {}, {"type": "search", "web": None}, {"type": "search", "web": {"results": [None, 1]}}, brave({**BRAVE, "url": None}),
        {"type": "search", "mixed": {"main": [{"type": "web", "index": 0}]}},
    ],
    "tavily": [{"query": "x"}, listed(None), listed({"title": "x"}), {"results": {}}],
    "searxng": [{}, listed(None), listed(silent=1, unresponsive_engines=SILENT)],
    "wikipedia": [wikipedia(total=7), {}, {"query": {"search": None}}, wikipedia({"title": ""}), wikipedia(7)],
    "arxiv": [
        "", "Rate exceeded.", "<html><body>no</body></html>", "<feed/>", feed(ENTRY, "1")[:300], feed(total="12"),
        feed("<entry><id></id></entry>", "1"), feed("<entry><title>&c;</title></entry>", "1", LAUGHS),
        feed("", "1", '<!DOCTYPE feed SYSTEM "file:///etc/passwd">'), feed(ENTRY, "1").replace("totalResults", "total"),
        feed(ENTRY, "1").encode("utf-16"), b"\xff\xfe\x00",
    ],
    "openalex": [openalex(count=3), {}, {"results": None}, openalex(None), openalex({"id": None})],
    "semanticscholar": [{}, {"total": 5, "offset": 0}, scholar(total=5), {"total": None}, scholar(None), {"data": None}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "body"), [(name, body) for name, bodies in DAMAGED.items() for body in bodies])
def test_a_damaged_reply_is_a_failure_and_never_an_empty_result_and_tries_keep_the_distance(name: str, body: Any) -> None:
    bench = Bench(made(name), lambda: reply(body), gap_s=3.0)
    with pytest.raises(SearchFailed) as caught:
        asked(bench)
    assert caught.value.retryable
    assert bench.hits == 3
    assert all(wait >= 3 for wait in bench.clock.slept)


NO_BUDGET = {"error": "Rate limit exceeded", "message": "Insufficient budget. You only have $0 remaining.", "retryAfter": 62606}
WRONG = [{"loc": ["header", "x-subscription-token"], "type": "missing"}]


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("brave", 422, brave_error("SUBSCRIPTION_TOKEN_INVALID")),
        ("brave", 422, brave_error("VALIDATION", meta={"errors": WRONG})),
        ("brave", 404, brave_error("SUBSCRIPTION_NOT_FOUND")),
        ("brave", 429, {"type": "ErrorResponse", "errors": [{"code": "QUOTA_LIMITED", "detail": "Refused."}]}),
        ("brave", 401, "<html>no</html>"),
        ("tavily", 432, {"detail": {"error": "Over your plan's set usage limit."}}),
        ("tavily", 433, ""),
        ("searxng", 403, "<h1>Forbidden</h1>"),
        ("searxng", 200, "<!doctype html><div id='results'></div>"),
        ("wikipedia", 403, "Please set a user-agent and respect our robot policy"),
        ("openalex", 429, NO_BUDGET),
        ("openalex", 401, {"error": "Invalid API key"}),
        ("semanticscholar", 403, {"message": "Forbidden"}),
    ],
)
def test_a_wrong_key_a_spent_month_or_a_wrong_setting_is_asked_once_and_never_again(name: str, status: int, body: Any) -> None:
    bench = Bench(made(name), lambda: reply(body, status))
    for _ in range(2):
        with pytest.raises(ProviderRefused, match=f"{name} refuses us: .") as caught:
            asked(bench)
        assert caught.value.hint
        assert "canary" not in caught.value.message + caught.value.hint
    assert bench.hits == 1


@pytest.mark.parametrize(
    ("name", "status", "body", "why", "sent"),
    [
        ("brave", 422, brave_error("VALIDATION", meta={"errors": [{"loc": ["query", "country"]}]}), r"Refused\.", 1),
        ("tavily", 400, {"detail": {"error": "Query is too long"}}, "Query is too long", 1),
        ("tavily", 422, {"detail": [{"type": "string_type", "msg": "Query is too long"}]}, "Query is too long", 1),
        ("searxng", 302, "", "status 302", 1),
        ("searxng", 400, {"error": "No query"}, ".", 1),
        ("searxng", 429, "Too Many Requests", ".", 3),
        ("searxng", 200, listed(unresponsive_engines=SILENT), "google: Suspended: too many requests, brave: timeout", 3),
        ("wikipedia", 200, {"error": {"code": "ratelimited", "info": "The page <b>fails</b>."}}, "The page fails", 3),
        ("wikipedia", 200, {"error": {"code": "badvalue", "info": "The page <b>fails</b>."}}, "The page fails", 1),
        ("arxiv", 200, feed(ERROR, "1"), r"incorrect id format for 1234\.12345", 1),
        ("arxiv", 400, feed(ERROR, "1"), r"incorrect id format for 1234\.12345", 1),
        ("openalex", 400, {"error": "Invalid query parameters error.", "message": "no"}, "no", 1),
        ("semanticscholar", 400, {"error": "Unrecognized or unsupported fields: [x]"}, "Unrecognized", 1),
        ("semanticscholar", 504, {"message": "Endpoint request timed out"}, ".", 3),
    ],
)
def test_what_may_pass_is_tried_again_and_the_rest_fails_this_search_alone(
    name: str, status: int, body: Any, why: str, sent: int
) -> None:
    bench = Bench(made(name), lambda: reply(body, status))
    with pytest.raises(SearchFailed, match=why):
        asked(bench)
    assert bench.hits == sent


@pytest.mark.parametrize(
    ("name", "first", "then", "slept"),
    [
        ("brave", reply(brave_error("RATE_LIMITED"), 429), brave(BRAVE), 1),
        ("tavily", reply({"detail": {"error": "Slow down"}}, 429, {"Retry-After": "3"}), listed(TAVILY), 3),
        ("wikipedia", reply({"error": {"code": "maxlag"}}, 200, {"Retry-After": "5"}), wikipedia(WIKIPEDIA), 5),
        ("arxiv", reply("Rate exceeded.", 429), feed(ENTRY, "1"), 3),
    ],
)
def test_a_burst_is_waited_out(name: str, first: Any, then: Any, slept: float) -> None:
    bench = Bench(made(name), first, reply(then))
    assert len(asked(bench)) == 1
    assert sum(bench.clock.slept) == pytest.approx(slept)


# -- of each ---------------------------------------------------------------------------------------------------------------------


def test_brave_hits_are_plain_text_under_canonical_addresses_and_each_search_has_its_price() -> None:
    bench = Bench(made("brave"), reply(brave(BRAVE, {**BRAVE, "url": "http://example.com/"})))
    result = asyncio.run(bench.search.search("wort " * 100, 100))
    (hit,) = result.hits
    assert (result.provider, result.cost.usd) == ("brave", 0.005)
    assert (hit.url, hit.title, hit.published) == ("https://example.com/", "Private Search Engine & more", "2023-04-27")
    assert hit.snippet == "Brave Search <b> a & b … one two"
    assert bench.asked.headers["x-subscription-token"] == "canary-key"
    assert bench.asked.headers["user-agent"] == "night-research/test"
    assert (len(bench.asked.url.params["q"].split()), bench.asked.url.params["count"]) == (50, "20")


def paid(bench: Bench, budget: Budget) -> Cost:
    """What a search that is charged to a budget says that it cost."""

    async def search() -> Cost:
        paying.set(CombinedBudget((budget,)))
        return (await bench.search.search("a", 5)).cost

    try:
        return asyncio.run(search())
    except StepError as error:
        return error.cost or Cost()


@pytest.mark.parametrize(
    ("replies", "usd"),
    [
        ([reply(brave(BRAVE))], 0.005),
        ([ConnectionResetError()], 0.015),
        ([ConnectionResetError(), reply(brave(BRAVE))], 0.01),
        ([ConnectionResetError(), reply(brave_error("QUOTA_LIMITED"), 429)], 0.005),
        ([reply(brave_error("QUOTA_LIMITED"), 429)], 0.0),
    ],
)
def test_a_search_that_was_lost_may_have_been_billed_and_the_budget_is_charged_what_is_said(replies: Any, usd: float) -> None:
    budget = Budget(Caps(1.0))
    assert paid(Bench(made("brave"), *replies), budget).usd == budget.usd == usd
    budget.check(Cost(usd=1.0 - usd))  # nothing is set aside any more


def test_a_price_that_does_not_fit_ends_the_search_before_it_is_paid() -> None:
    bench = Bench(made("brave"), reply(brave(BRAVE)))
    assert (paid(bench, Budget(Caps(0.001))).usd, bench.hits) == (0.0, 0)
    free = Bench(made("wikipedia"), reply(wikipedia(WIKIPEDIA)))
    assert (paid(free, Budget(Caps(0.001), spent=Cost(usd=0.002))).usd, free.hits) == (0.0, 1)


@pytest.mark.parametrize("usage", [({"credits": 2}, 0.016), ({"credits": "2"}, 0.008), ({"credits": True}, 0.008), (None, 0.008)])
def test_tavilys_credits_are_money(usage: tuple[Any, float]) -> None:
    bench = Bench(made("tavily"), reply(listed(TAVILY, usage=usage[0])))
    result = asyncio.run(bench.search.search("who", 100))
    assert (result.cost.usd, result.hits[0].snippet) == (usage[1], "std::vector<int>")
    body = json.loads(bench.asked.content)
    assert (body["query"], body["max_results"], body["include_answer"]) == ("who", 20, False)
    assert bench.asked.headers["authorization"] == "Bearer canary-key"


@pytest.mark.parametrize("silent", [SILENT, None, "google", [None], [[1, None]], {"google": 1}])
def test_hits_of_searxng_count_though_some_engines_are_silent_and_its_commands_become_plain_words(silent: Any) -> None:
    bench = Bench(made("searxng"), reply(listed(SEARXNG, unresponsive_engines=silent)))
    (hit,) = asked(bench, "!!g :de what is a:b! != c")
    assert (hit.url, hit.published) == ("https://e.org/a", "2024-05-06")
    assert bench.asked.url.params["q"] == "g de what is a:b! = c"
    assert (bench.asked.url.host, bench.asked.url.params["format"]) == ("searx.example.org", "json")


def test_a_title_of_wikipedia_becomes_the_articles_address() -> None:
    bench = Bench(made("wikipedia"), reply(wikipedia(WIKIPEDIA)))
    (hit,) = asked(bench, "q" * 500, 100)
    assert hit.url == "https://en.wikipedia.org/wiki/C%2B%2B/%C3%A9_(language)%3F"
    assert (hit.title, hit.snippet, hit.published) == ("C++/é (language)?", 'Asyncio is "fast"', "2024-02-01")
    params = bench.asked.url.params
    assert (len(params["srsearch"]), params["srlimit"], params["maxlag"], params["formatversion"]) == (300, "50", "5", "2")


def test_an_entry_of_arxiv_is_a_hit_under_its_page_without_a_version() -> None:
    bench = Bench(made("arxiv"), reply(feed(ENTRY, "1000")))
    (hit,) = asked(bench, "What is the electron-yield of HERA?")
    assert hit.url == "https://arxiv.org/abs/hep-ex/0307015"
    assert (hit.title, hit.snippet, hit.published) == ("Multi-Electron Production at HERA & more", "We measure.", "2003-07-07")
    assert bench.asked.url.params["search_query"] == "all:electron-yield OR all:hera"


def test_a_query_to_arxiv_never_writes_its_own_operators() -> None:
    bench = Bench(made("arxiv"), reply(feed(ENTRY, "1")))
    asked(bench, 'au:x ANDNOT (ti:"y") & max_results=9')
    assert bench.asked.url.params["search_query"] == "all:au OR all:x OR all:ti OR all:y OR all:max OR all:results OR all:9"
    assert bench.asked.url.params["max_results"] == "5"


@given(st.binary())
def test_any_bytes_are_a_feed_or_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_feed(data)


def test_an_abstract_of_openalex_is_put_together_and_the_price_read() -> None:
    bench = Bench(made("openalex", Secret("alex-canary")), reply(openalex(OPENALEX), headers={"x-ratelimit-cost-usd": "0.0015"}))
    result = asyncio.run(bench.search.search("a", 500))
    (hit,) = result.hits
    assert (hit.url, hit.title, hit.published) == ("https://peerj.com/articles/4375.pdf", "The state of OA", "2018-02-13")
    assert (hit.snippet, result.cost.usd) == ("Despite growing interest, growing", 0.0015)
    assert (bench.asked.url.params["per_page"], bench.asked.url.params["api_key"]) == ("100", "alex-canary")
    for cost in ("", "-1", "nan", "1e9"):
        without = Bench(made("openalex", None), reply(openalex(OPENALEX), headers={"x-ratelimit-cost-usd": cost}))
        assert asyncio.run(without.search.search("a", 5)).cost.usd == 0.001
        assert "api_key" not in str(without.asked.url)


BARE = {**OPENALEX, "open_access": None, "primary_location": None, "abstract_inverted_index": None}


@pytest.mark.parametrize(
    ("row", "url", "snippet"),
    [
        (BARE, "https://doi.org/10.7717/peerj.4375", ""),
        ({**BARE, "doi": None, "abstract_inverted_index": {"a": None, "b": ["1"]}}, "https://openalex.org/W1", ""),
        ({**OPENALEX, "is_retracted": True}, "https://peerj.com/articles/4375.pdf", "This work was retracted. Despite growing"),
    ],
)
def test_fields_of_openalex_may_be_null_and_a_retracted_work_says_so(row: dict[str, Any], url: str, snippet: str) -> None:
    (hit,) = asked(Bench(made("openalex", None), reply(openalex(row))))
    assert (hit.url, hit.snippet[: len(snippet)]) == (url, snippet)


@pytest.mark.parametrize(
    ("change", "url"),
    [
        ({}, "https://e.org/a.pdf"),
        ({"openAccessPdf": None}, "https://arxiv.org/abs/2310.01234"),
        ({"openAccessPdf": {"url": ""}, "externalIds": {"DOI": "10.1/x"}}, "https://doi.org/10.1/x"),
        ({"openAccessPdf": None, "externalIds": None}, "https://www.semanticscholar.org/paper/7cbc2a"),
    ],
)
def test_of_semantic_scholars_addresses_the_paper_itself_is_the_better_one(change: dict[str, Any], url: str) -> None:
    bench = Bench(made("semanticscholar"), reply(scholar(None, {**SCHOLAR, **change})))
    (hit,) = asked(bench, "log-structured", 500)
    assert (hit.url, hit.snippet, hit.published) == (url, "", "2019")
    assert bench.asked.headers["x-api-key"] == "canary-key"
    assert (bench.asked.url.params["query"], bench.asked.url.params["limit"]) == ("log structured", "100")


# -- the pace --------------------------------------------------------------------------------------------------------------------


def test_searches_of_a_provider_run_one_at_a_time_and_a_gap_apart() -> None:
    bench = Bench(made("arxiv"), lambda: reply(feed(ENTRY, "1")))

    async def several() -> None:
        await asyncio.gather(*(bench.search.search(f"question {number}", 5) for number in range(3)))

    asyncio.run(several())
    assert bench.clock.slept == [3, 3]
