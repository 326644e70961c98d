"""The search services: the shapes of their replies, their refusals, and that every address they give leads to a page."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import pytest

from tests.standin.fixtures import hosted, standin
from tests.standin.options import Options
from tests.standin.rawclient import Seen, get, post
from tests.standin.server import Standin

__all__ = ["standin"]

ATOM = {"a": "http://www.w3.org/2005/Atom", "o": "http://a9.com/-/spec/opensearch/1.1/"}
KEY = {"X-Subscription-Token": "key"}
BRAVE = "/res/v1/web/search?q=heat+pumps"
NOTHING = "unfindable"


def _tavily(server: Standin, query: Any = "heat pumps", key: str = "key", **more: Any) -> Seen:
    return post(server, "/search", {"query": query, **more}, {"Authorization": f"Bearer {key}"})


def _leads_somewhere(server: Standin, url: str) -> bool:
    parts = urlsplit(url)
    found = get(server, f"{parts.path}?{parts.query}", host=parts.hostname or "")
    return parts.port == server.state.port and found.status == 200 and len(found.body) > 500


# ---- Brave -----------------------------------------------------------------------------------------------------


def test_brave_answers_in_its_shape(standin: Standin) -> None:
    seen = get(standin, BRAVE + "&count=3", KEY)
    found = seen.json()
    assert list(found) == ["type", "query", "mixed", "web"]
    assert len(found["web"]["results"]) == len(found["mixed"]["main"]) == 3
    assert "<strong>" in found["web"]["results"][0]["description"]
    assert all(_leads_somewhere(standin, result["url"]) for result in found["web"]["results"])
    assert seen.headers["x-ratelimit-limit"] == "50, 15000"


def test_brave_leaves_web_out_when_it_finds_nothing(standin: Standin) -> None:
    found = get(standin, f"/res/v1/web/search?q={NOTHING}", KEY).json()
    assert list(found) == ["type", "query"]


@pytest.mark.parametrize(
    ("target", "headers", "word"),
    [
        (BRAVE, {}, "x-subscription-token"),
        (BRAVE + "&count=21", KEY, "count"),
        (BRAVE + "&offset=10", KEY, "offset"),
        (BRAVE + "&search_lang=zh", KEY, "search_lang"),
        ("/res/v1/web/search?q=" + "x+" * 51, KEY, "q"),
        ("/res/v1/web/search", KEY, "q"),
    ],
)
def test_brave_names_what_is_wrong_with_a_request(standin: Standin, target: str, headers: dict[str, str], word: str) -> None:
    seen = get(standin, target, headers)
    error = seen.json()["error"]
    assert (seen.status, error["code"], error["meta"]["errors"][0]["loc"][-1]) == (422, "VALIDATION", word)


def test_brave_calls_a_wrong_key_422() -> None:
    with hosted(Options(keys={"brave": "right"})) as server:
        seen = get(server, BRAVE, KEY)
        assert (seen.status, seen.json()["error"]["code"]) == (422, "SUBSCRIPTION_TOKEN_INVALID")
        assert get(server, BRAVE, {"X-Subscription-Token": "right"}).status == 200


def test_brave_tells_rate_from_quota() -> None:
    with hosted(Options(rates={"brave": 1}, quotas={"brave": 2})) as server:
        first, second = get(server, BRAVE, KEY), get(server, BRAVE, KEY)
        assert first.headers["x-ratelimit-remaining"] == "0, 1"
        assert (second.status, second.json()["error"]["code"]) == (429, "RATE_LIMITED")
        server.change(rates={})
        assert get(server, BRAVE, KEY).status == 200
        assert get(server, BRAVE, KEY).json()["error"]["code"] == "QUOTA_LIMITED"


# ---- Tavily ----------------------------------------------------------------------------------------------------


def test_tavily_answers_in_its_shape(standin: Standin) -> None:
    found = _tavily(standin, max_results=2, include_usage=True).json()
    assert isinstance(found["response_time"], str)
    assert found["usage"] == {"credits": 1}
    assert [list(result) for result in found["results"]] == [["title", "url", "content", "score", "raw_content"]] * 2
    assert all(_leads_somewhere(standin, result["url"]) for result in found["results"])


def test_tavily_marks_its_addresses_as_its_own(standin: Standin) -> None:
    assert all("utm_source=tavily" in result["url"] for result in _tavily(standin).json()["results"])


def test_tavily_finds_nothing_with_an_empty_list(standin: Standin) -> None:
    assert _tavily(standin, NOTHING).json()["results"] == []


def test_tavily_refuses_in_its_ways() -> None:
    with hosted(Options(keys={"tavily": "right"}, quotas={"tavily": 1})) as server:
        assert _tavily(server).status == 401
        assert _tavily(server, query=7, key="right").json()["detail"][0]["loc"] == ["body", "query"]
        assert _tavily(server, key="right").status == 200
        spent = _tavily(server, key="right")
        assert (spent.status, "usage limit" in spent.json()["detail"]["error"]) == (432, True)


# ---- SearXNG ---------------------------------------------------------------------------------------------------


def test_searxng_answers_in_its_shape(standin: Standin) -> None:
    found = get(standin, "/search?q=heat+pumps&format=json").json()
    assert found["unresponsive_engines"] == []
    assert found["results"][0]["parsed_url"][2] == urlsplit(found["results"][0]["url"]).path
    assert all(_leads_somewhere(standin, result["url"]) for result in found["results"])


def test_searxng_says_html_unless_json_is_asked_for(standin: Standin) -> None:
    seen = get(standin, "/search?q=x&format=xyz")
    assert (seen.status, seen.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_searxng_refuses_json_when_it_is_switched_off() -> None:
    with hosted(Options(listed_formats=("html",))) as server:
        seen = get(server, "/search?q=x&format=json")
        assert (seen.status, seen.headers["content-type"]) == (403, "text/html; charset=utf-8")


def test_searxng_without_a_query_and_with_a_bang(standin: Standin) -> None:
    assert get(standin, "/search?format=json").json() == {"error": "No query"}
    assert get(standin, "/search?q=!!w+x&format=json").headers["location"].startswith("https://example.org/")


# ---- Wikipedia -------------------------------------------------------------------------------------------------


def _wiki(server: Standin, parameters: str) -> Any:
    return get(server, f"/w/api.php?format=json&formatversion=2&action=query&{parameters}").json()


def test_wikipedia_searches_in_its_shape(standin: Standin) -> None:
    found = _wiki(standin, "list=search&srsearch=heat+pumps&srlimit=2")
    assert found["batchcomplete"] is True
    assert found["continue"] == {"sroffset": 2, "continue": "-||"}
    assert '<span class="searchmatch">' in found["query"]["search"][0]["snippet"]


def test_a_title_found_has_an_extract_and_a_page(standin: Standin) -> None:
    title = _wiki(standin, "list=search&srsearch=heat+pumps")["query"]["search"][0]["title"]
    page = _wiki(standin, f"prop=extracts|info&explaintext=1&inprop=url&titles={quote(title)}")["query"]["pages"][0]
    assert "losses" in page["extract"]
    assert _leads_somewhere(standin, page["fullurl"])


def test_a_title_that_is_not_there_is_missing_in_both_versions(standin: Standin) -> None:
    assert _wiki(standin, "prop=extracts&titles=zzz")["query"]["pages"] == [{"ns": 0, "title": "zzz", "missing": True}]
    older = get(standin, "/w/api.php?action=query&prop=extracts&titles=zzz").json()
    assert (older["batchcomplete"], list(older["query"]["pages"])) == ("", ["-1"])


def test_wikipedia_clamps_what_is_too_much_with_a_warning(standin: Standin) -> None:
    assert "srlimit" in _wiki(standin, "list=search&srsearch=x&srlimit=9999")["warnings"]["search"]["warnings"]


def test_wikipedia_wants_a_name(standin: Standin) -> None:
    seen = get(standin, "/w/api.php?action=query", {"User-Agent": "python-httpx/0.28.1"})
    assert (seen.status, seen.headers["content-type"]) == (403, "text/plain; charset=utf-8")


def test_the_rest_search_gives_addresses_without_a_scheme(standin: Standin) -> None:
    rows = get(standin, "/w/rest.php/v1/search/page?q=heat+pumps&limit=2").json()["pages"]
    assert rows[0]["thumbnail"]["url"].startswith("//")
    assert rows[1]["thumbnail"] is None


# ---- arXiv -----------------------------------------------------------------------------------------------------


def _feed(server: Standin, parameters: str) -> Any:
    return ElementTree.fromstring(get(server, f"/api/query?{parameters}").body)  # noqa: S314 - this server's own words


def test_arxiv_answers_with_a_feed(standin: Standin) -> None:
    feed = _feed(standin, "search_query=all:heat+AND+all:pumps&max_results=2")
    entries = feed.findall("a:entry", ATOM)
    assert feed.findtext("o:totalResults", namespaces=ATOM) == str(len(entries)) == "2"
    assert all(_leads_somewhere(standin, link.get("href")) for entry in entries for link in entry.findall("a:link", ATOM))


def test_numbers_of_papers_hold_a_slash_as_old_ones_do(standin: Standin) -> None:
    name = _feed(standin, "search_query=all:heat+pumps").findtext("a:entry/a:id", namespaces=ATOM)
    assert re.search(r"/abs/standin/pages\.\d+v1$", name)


def test_arxiv_reports_a_wrong_number_as_an_entry(standin: Standin) -> None:
    feed = _feed(standin, "id_list=1234.123456")
    assert feed.findtext("a:entry/a:title", namespaces=ATOM) == "Error"


def test_arxiv_finds_nothing_with_no_entries(standin: Standin) -> None:
    assert _feed(standin, f"search_query=all:{NOTHING}").findall("a:entry", ATOM) == []


# ---- OpenAlex and Semantic Scholar -----------------------------------------------------------------------------


def test_openalex_answers_in_its_shape_with_gaps_where_it_has_gaps(standin: Standin) -> None:
    seen = get(standin, "/works?search=heat+pumps&per_page=8")
    works = seen.json()["results"]
    assert None in [work["doi"] for work in works]
    assert None in [work["primary_location"]["source"] for work in works]
    assert None in [work["abstract_inverted_index"] for work in works]
    assert all(_leads_somewhere(standin, work["primary_location"]["landing_page_url"]) for work in works)
    assert seen.headers["x-ratelimit-cost-usd"] == "0.001"


def test_openalex_gives_the_fields_selected(standin: Standin) -> None:
    assert list(get(standin, "/works?search=heat&select=id,doi").json()["results"][0]) == ["id", "doi"]


def test_openalex_stops_when_the_money_is_spent() -> None:
    with hosted(Options(quotas={"openalex": 1})) as server:
        assert get(server, "/works?search=heat").headers["x-ratelimit-remaining"] == "0"
        assert get(server, "/works?search=heat").json()["retryAfter"] == 62606


def test_semantic_scholar_leaves_data_and_next_out_when_there_is_none(standin: Standin) -> None:
    path = "/graph/v1/paper/search?fields=title,url"
    assert get(standin, f"{path}&query={NOTHING}").json() == {"total": 0, "offset": 0}
    first = get(standin, f"{path}&query=heat+pumps&limit=5").json()
    last = get(standin, f"{path}&query=heat+pumps&limit=5&offset={first['next']}").json()
    assert "next" not in last
    assert list(first["data"][0]) == ["paperId", "title", "url"]


def test_semantic_scholar_names_fields_it_does_not_know(standin: Standin) -> None:
    seen = get(standin, "/graph/v1/paper/search?query=x&fields=title,unknown")
    assert (seen.status, seen.json()) == (400, {"error": "Unrecognized or unsupported fields: [unknown]"})


def test_semantic_scholar_forbids_a_wrong_key() -> None:
    with hosted(Options(keys={"semanticscholar": "right"})) as server:
        assert get(server, "/graph/v1/paper/search?query=x", {"x-api-key": "wrong"}).status == 403


# ---- all of them -----------------------------------------------------------------------------------------------


def test_poisoned_searches_lead_to_poisoned_pages() -> None:
    with hosted(Options(poisoned=True)) as server:
        urls = [result["url"] for result in get(server, BRAVE, KEY).json()["web"]["results"]]
        assert any("/poison/" in url for url in urls)
        assert all(_leads_somewhere(server, url) for url in urls)


def test_two_servers_tell_the_same(standin: Standin) -> None:
    with hosted() as other:
        texts = [json.dumps(get(server, BRAVE, KEY).json()).replace(str(server.state.port), "") for server in (standin, other)]
    assert texts[0] == texts[1]
