"""What readers ask of 400 notes is found: the wanted page first in nine of ten cases, among three always."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pipeline.site.build import Folders, build_site
from pipeline.site.search_index.terms import STOP, terms
from tests.browser.finding.notes import Asked, asked, topics, write
from tests.browser.serving import served
from tests.browser.visiting import Visitor
from tests.vault.builders import TEMPLATES

PATHS = 'found => [...document.querySelectorAll("#search-results a")].map(link => link.getAttribute("href"))'


@pytest.fixture(scope="module")
def finding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finding")
    assert write(folder / "vault") == 400
    build_site(Folders(folder / "vault", TEMPLATES.parent / "site", folder / "site", folder / "local"))
    return folder / "site"


@pytest.fixture(scope="module")
def url(finding: Path) -> Iterator[str]:
    with served(finding) as address:
        yield address


def found(visitor: Visitor, url: str, words: str, **filters: str) -> list[str]:
    page = visitor.pass_by(f"{url}/search.html?{urlencode({'q': words, **filters})}")
    page.locator(".search-status:not(:empty)").wait_for()
    paths: list[str] = page.evaluate(PATHS)
    return paths


def rank(one: Asked, paths: list[str]) -> int:
    """The place of the first page that answers, from 1; 99 if it is not shown."""
    return next((place for place, path in enumerate(paths, start=1) if path in one.wanted), 99)


@pytest.mark.parametrize("kept", [False, True])
def test_the_wanted_page_comes_first(url: str, visitor: Visitor, kept: bool) -> None:
    queries = [one for one in asked() if one.kept == kept]
    ranks = {
        f"{one.words} {dict(one.filters) or ''}": rank(one, found(visitor, url, one.words, **one.filters)) for one in queries
    }
    missed = {words: place for words, place in ranks.items() if place > 1}
    print(f"{len(ranks)} queries, not first: {missed}", file=sys.stderr)
    assert len(ranks) >= 38
    assert [words for words, place in ranks.items() if place > 3] == []
    assert len(missed) <= len(ranks) / 10
    assert visitor.happened == [] or all("ERR_FILE_NOT_FOUND" in said or "404" in said for said in visitor.happened)
