"""Web search providers: one small class each, all asked in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pipeline.text.redaction import Secret

if TYPE_CHECKING:
    from pipeline.net.client import HttpClient
    from pipeline.ports.distribution import SharedPace
    from pipeline.search.providers.provider import Provider, WebSearch

NAMES = ("brave", "tavily", "searxng", "wikipedia", "arxiv", "openalex", "semanticscholar")


def web_search(
    name: str, url: str, key: Secret | None, http: HttpClient, headers: Mapping[str, str], pace: SharedPace | None = None
) -> WebSearch:
    """Return the search of the provider ``name`` at ``url``; ``headers`` are sent with every request. ``pace`` is shared.

    Raises:
        KeyError: there is no such provider.
    """
    from pipeline.search.providers import papers, web
    from pipeline.search.providers.provider import Pacer, WebSearch

    made: dict[str, Callable[[], Provider]] = {
        "brave": lambda: web.Brave(key or Secret(""), url),
        "tavily": lambda: web.Tavily(key or Secret(""), url),
        "searxng": lambda: web.Searxng(url),
        "wikipedia": lambda: web.Wikipedia(url),
        "arxiv": lambda: papers.Arxiv(url),
        "openalex": lambda: papers.Openalex(key, url),
        "semanticscholar": lambda: papers.SemanticScholar(key, url),
    }
    # arXiv's terms allow one connection, so its requests run one at a time.
    gap_s = {"arxiv": papers.ARXIV_GAP_S, "semanticscholar": papers.SCHOLAR_GAP_S}.get(name, 0.0)
    pacer = Pacer(gap_s, one_at_a_time=name == "arxiv", name=name, shared=pace)
    return WebSearch(made[name](), http, pacer, headers)
