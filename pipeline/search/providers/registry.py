"""Registry of the web search providers: name → ``WebSearch`` with the rate limit of the provider's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.adapters.http.client import HttpClient
from pipeline.search.providers import arxiv, semanticscholar
from pipeline.search.providers.arxiv import Arxiv
from pipeline.search.providers.brave import Brave
from pipeline.search.providers.openalex import Openalex
from pipeline.search.providers.provider import Provider, WebSearch
from pipeline.search.providers.rate_limit import Pacer
from pipeline.search.providers.searxng import Searxng
from pipeline.search.providers.semanticscholar import SemanticScholar
from pipeline.search.providers.tavily import Tavily
from pipeline.search.providers.wikipedia import Wikipedia
from pipeline.text.redaction import Secret

_NO_KEY = Secret("")

_PROVIDERS: dict[str, Callable[[str, Secret | None], Provider]] = {
    "brave": lambda url, key: Brave(key or _NO_KEY, url),
    "tavily": lambda url, key: Tavily(key or _NO_KEY, url),
    "searxng": lambda url, _: Searxng(url),
    "wikipedia": lambda url, _: Wikipedia(url),
    "arxiv": lambda url, _: Arxiv(url),
    "openalex": lambda url, key: Openalex(key, url),
    "semanticscholar": lambda url, key: SemanticScholar(key, url),
}
NAMES = tuple(_PROVIDERS)

# arXiv's terms allow one connection, so its requests run one at a time.
_PACERS: dict[str, Callable[[], Pacer]] = {
    "arxiv": lambda: Pacer(arxiv.GAP_S, one_at_a_time=True),
    "semanticscholar": lambda: Pacer(semanticscholar.GAP_S),
}


def web_search(name: str, url: str, key: Secret | None, http: HttpClient, headers: Mapping[str, str]) -> WebSearch:
    """Return the search of the provider ``name`` at ``url``; ``headers`` are sent with every request.

    Raises:
        KeyError: there is no such provider.
    """
    return WebSearch(_PROVIDERS[name](url, key), http, _PACERS.get(name, Pacer)(), headers)
