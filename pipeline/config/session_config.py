"""Turns one query into the limits that its session runs under, and the searches it is given."""

from __future__ import annotations

from typing import Any

from pipeline.config.keys import Keys
from pipeline.config.service_selection import LOCAL, Documents, SearchChoice, reasoner_for, searches_for
from pipeline.config.values import Query, Settings
from pipeline.domain.values import ResearchConfig

_FAST = {"perspectives": 1, "iterations": 1}
# Ranking reads a page at no cost, and a report is chosen from many passages; a model is paid for each page.
_EXTRACTIVE = {
    "pages_per_iteration": 12,
    "hits_per_query": 20,
    "survey_hits": 40,
    "reads_survey": True,
    "gap_rounds": 0,
    **_FAST,
}
# The window of a model that nobody sets is what its server says.
_MODEL = {"perspectives": 3, "iterations": 2, "pages_per_iteration": 6, "reads_survey": True, "context_tokens": 0}
_COUNTS = ("perspectives", "iterations", "gap_rounds")


def search_for(query: Query, settings: Settings, keys: Keys, documents: Documents = "") -> SearchChoice:
    """Return who searches for ``query``, and why; ``documents`` is what their folder holds.

    One that names a folder of the documents is searched for there alone, unless it names its searches too.

    Raises:
        UsageError: a provider is named that is not set up.
    """
    usual = (LOCAL,) if query.within else settings.search
    return searches_for(usual if query.search is None else query.search, settings, keys, documents)


def config_for(query: Query, settings: Settings, keys: Keys | None = None, documents: Documents = "") -> ResearchConfig:
    """Return the limits of a session on ``query``: the mode's numbers, unless the query says otherwise; and who answers.

    Without ``keys`` there are none. ``documents`` is what the folder of documents holds.

    Raises:
        UsageError: query or settings name a model or a provider that is not set up.
    """
    keys = Keys() if keys is None else keys
    reasoner = reasoner_for(settings, keys, query.model).name
    if reasoner == "extractive":
        values: dict[str, Any] = dict(_EXTRACTIVE)
    else:
        values = _MODEL | (_FAST if query.mode == "fast" else {})
        values |= {name: number for name in _COUNTS if (number := getattr(query, name)) is not None}
    usual = settings.query_limits
    timeout = query.timeout or usual.timeout
    return ResearchConfig(
        mode=query.mode,
        reasoner=reasoner,
        approve=query.approve or "",
        within=query.within,
        allow=query.sources.allow or settings.sources.allow,
        deny=tuple(dict.fromkeys((*settings.sources.deny, *query.sources.deny))),
        beyond=settings.beyond if query.beyond is None else query.beyond,
        search=search_for(query, settings, keys, documents).names,
        budget_usd=usual.cost_usd if query.budget_usd is None else query.budget_usd,
        timeout_s=timeout.total_seconds() if timeout else None,
        **values,
    )
