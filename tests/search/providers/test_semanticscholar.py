from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.papers import SemanticScholar
from pipeline.text.redaction import Secret
from tests.search.replies import Bench, reply

ROW: dict[str, Any] = {
    "paperId": "7cbc2a",
    "title": "T",
    "url": "https://www.semanticscholar.org/paper/7cbc2a",
    "abstract": None,
    "year": 2019,
    "publicationDate": None,
    "openAccessPdf": {"url": "https://e.org/a.pdf"},
    "externalIds": {"ArXiv": "2310.01234", "DOI": "10.1/x"},
}


def page(*rows: Any, total: Any = 1) -> dict[str, Any]:
    return {"total": total, "offset": 0, "data": list(rows)}


@pytest.mark.parametrize(
    ("change", "url"),
    [
        ({}, "https://e.org/a.pdf"),
        ({"openAccessPdf": None}, "https://arxiv.org/abs/2310.01234"),
        ({"openAccessPdf": {"url": ""}, "externalIds": {"DOI": "10.1/x"}}, "https://doi.org/10.1/x"),
        ({"openAccessPdf": None, "externalIds": None}, "https://www.semanticscholar.org/paper/7cbc2a"),
    ],
)
def test_the_paper_itself_is_the_better_address(change: dict[str, Any], url: str) -> None:
    bench = Bench(SemanticScholar(Secret("s2-canary")), reply(page({**ROW, **change})))
    (hit,) = asyncio.run(bench.search.search("log-structured", 500)).hits
    assert (hit.url, hit.snippet, hit.published) == (url, "", "2019")
    assert bench.asked.headers["x-api-key"] == "s2-canary"
    assert (bench.asked.url.params["query"], bench.asked.url.params["limit"]) == ("log structured", "100")


def test_nothing_found_has_no_data_and_null_rows_do_no_harm() -> None:
    assert asyncio.run(Bench(SemanticScholar(), reply({"total": 0, "offset": 0})).search.search("a", 5)).hits == ()
    bench = Bench(SemanticScholar(), reply(page(None, ROW)))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert "x-api-key" not in bench.asked.headers


@pytest.mark.parametrize(
    "body", [{}, {"total": 5, "offset": 0}, {"total": 5, "data": []}, {"total": None}, page(None), {"data": None}]
)
def test_a_damaged_reply_is_a_failure(body: Any) -> None:
    with pytest.raises(SearchFailed):
        asyncio.run(Bench(SemanticScholar(), lambda: reply(body)).search.search("a", 5))


@pytest.mark.parametrize(
    ("status", "body", "error", "sent"),
    [
        (403, {"message": "Forbidden"}, ProviderRefused, 1),
        (400, {"error": "Unrecognized or unsupported fields: [x]"}, SearchFailed, 1),
        (429, {"message": "Too Many Requests.", "code": "429"}, SearchFailed, 3),
        (504, {"message": "Endpoint request timed out"}, SearchFailed, 3),
    ],
)
def test_refusals_are_told_apart(status: int, body: Any, error: type[Exception], sent: int) -> None:
    bench = Bench(SemanticScholar(), lambda: reply(body, status))
    with pytest.raises(error):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == sent
