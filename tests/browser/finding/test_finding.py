"""What readers ask of 400 notes on 64 topics is found: the wanted page first in nine of ten cases, among three always.

``topics.yaml`` has what the notes are made of, ``asked.yaml`` what is asked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from pipeline.site.search import STOP, terms
from tests.browser.visiting import Visitor, served
from tests.site.scratch import Scratch, note

HERE = Path(__file__).parent
NIGHTS = 16


def topics() -> Any:
    """Return the topics, a list of dictionaries: slug, date, tags, title, five sentences."""
    return yaml.safe_load((HERE / "topics.yaml").read_text("utf-8"))


def notes() -> Iterator[tuple[str, str]]:
    """Yield path and text of each note."""
    dice, every = random.Random(11), topics()
    for topic in every:
        yield from _of(topic, [other for other in every if other is not topic], dice)
    for number in range(NIGHTS):
        lines = "\n".join(f"- {topic['title']}" for topic in every[number * 4 : number * 4 + 4])
        day = date(2026, 1, 1) + timedelta(days=number)
        yield f"nights/{day}.md", note(f"Night of {day}", lines, "night", created=f"{day}T02:00:00", tags="[research/night]")


def _of(topic: Mapping[str, Any], others: list[dict[str, Any]], dice: random.Random) -> Iterator[tuple[str, str]]:
    slug, title, facts = topic["slug"], topic["title"], topic["facts"]

    def stray(count: int) -> list[str]:
        return [dice.choice(other["facts"]) for other in dice.sample(others, count)]

    body = f"> [!abstract] In short\n> {facts[0]}\n\n## What was found\n\n" + "\n\n".join(facts)
    yield _note("report", slug, title, f"{body}\n\n## Beside the question\n\n{stray(1)[0]}", topic)
    lines = "\n".join(f"- {line}" for line in (*facts[:2], *stray(3)))
    yield _note("session", slug, title, f"## Plan\n\nBasic facts, then doubts.\n\n## Timeline\n\n{lines}", topic)
    for number, name in enumerate(("Basic facts", "Doubts"), start=1):
        mine = facts[number - 1 :: 2]
        read = "\n".join(f"> “{line}”\n" for line in (*mine, *stray(2)))
        yield _note("worker", f"{slug}-{number}", f"{name}: {title}", f"Searched for {title}\n\n{read}", topic)
    for number in (1, 2):
        quotes = "\n\n".join(f"> “{line}”" for line in facts[number::2])
        yield _note("source", f"{slug}-{number}", facts[number], f"Read in one session.\n\n{quotes}\n\n{stray(1)[0]}", topic)


def _note(kind: str, name: str, title: str, body: str, topic: Mapping[str, Any]) -> tuple[str, str]:
    tags = [f"research/{kind}", "status/complete", *(f"topic/{tag.replace(' ', '-')}" for tag in topic["tags"])]
    return f"{kind}s/2026/{name}.md", note(title, body, kind, created=f"{topic['date']}T02:15:00", tags=json.dumps(tags))


PATHS = 'found => [...document.querySelectorAll("#search-results a")].map(link => link.getAttribute("href"))'


@pytest.fixture(scope="module")
def finding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = Scratch(tmp_path_factory.mktemp("finding"))
    for path, text in notes():
        scratch.write(path, text)
    assert scratch.build().pages == 400
    return scratch.folder / "site"


@pytest.fixture(scope="module")
def url(finding: Path) -> Iterator[str]:
    with served(finding) as address:
        yield address


def found(visitor: Visitor, url: str, words: str, **filters: str) -> list[str]:
    page = visitor.pass_by(f"{url}/search.html?{urlencode({'q': words, **filters})}")
    page.locator(".search-status:not(:empty)").wait_for()
    paths: list[str] = page.evaluate(PATHS)
    return paths


@pytest.mark.parametrize("kept", [False, True])
def test_the_wanted_page_comes_first(url: str, visitor: Visitor, kept: bool) -> None:
    missed, number = {}, 0
    for one in yaml.safe_load((HERE / "asked.yaml").read_text("utf-8")):
        if one.get("kept", False) == kept:
            filters = {name: one[name] for name in ("kind", "tag", "from", "to") if name in one}
            named = [topic_and_kind.split() for topic_and_kind in (one["want"], *one.get("also", ()))]
            wanted = [f"{kind}s/2026/{slug}{number}.html" for slug, kind in named for number in ("", "-1", "-2")]
            places = [place for place, path in enumerate(found(visitor, url, one["ask"], **filters), start=1) if path in wanted]
            number += 1
            if places[:1] != [1]:
                missed[f"{one['ask']} {filters or ''}"] = places[0] if places else 99
    assert number >= 38
    assert [words for words, place in missed.items() if place > 3] == []
    assert len(missed) <= number / 10, missed
    assert visitor.happened == []


def test_words_are_cut_in_the_page_as_in_the_index(url: str, visitor: Visitor) -> None:
    dice = random.Random(5)
    letters = "aZé ß1_-.'’İΣςأإةىًـשָׁनमस्ते।กำเခ日本、ｱ㌔語한국어ーパ\U00020000"
    texts = ["".join(dice.choices(letters, k=12)) for _ in range(300)]
    texts += [line for topic in topics() for line in (topic["title"], *topic["facts"])]
    page = visitor.pass_by(f"{url}/search.html")
    cut = page.evaluate("([texts, stop]) => texts.map(text => termsOf(text, stop))", [texts, sorted(STOP)])
    assert dict(zip(texts, cut, strict=True)) == {text: terms(text) for text in texts}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("randomised votes", "Randomised timeouts make split votes rare."),
        ("wraparond", "Freezing old transaction ids prevents wraparound."),
        ("透水铺装", "海绵城市用透水铺装和雨水花园延缓洪峰。"),
        ('"eau de la mie"', "L'amidon rétrogradé chasse l'eau de la mie vers la croûte."),
    ],
)
def test_the_passage_that_matches_is_shown_and_marked(url: str, visitor: Visitor, words: str, shown: str) -> None:
    page = visitor.pass_by(f"{url}/search.html?{urlencode({'q': words})}")
    page.locator(".results mark").first.wait_for()
    assert page.locator(".results li").first.locator("p").first.inner_text() == shown


def test_more_notes_are_shown_when_asked_for(url: str, visitor: Visitor) -> None:
    assert len(found(visitor, url, "kind:report")) == 10
    page = visitor.pass_by(f"{url}/search.html?q=kind:report")
    page.get_by_role("button", name="Show more").click()
    page.locator(".results li").nth(19).wait_for()
    assert page.locator(".search-status").inner_text() == "64 notes found"
    assert "reports" in (page.evaluate("document.activeElement.getAttribute('href')") or "")


def test_filters_narrow_what_is_found_and_stay_in_the_address(url: str, visitor: Visitor) -> None:
    page = visitor.pass_by(f"{url}/search.html?q=lithium")
    page.locator(".results li").first.wait_for()
    page.get_by_label("Kind").select_option("report")
    page.get_by_label("Tag").fill("physics")
    page.get_by_label("To", exact=True).fill("2026-12-31")
    page.keyboard.press("Enter")
    page.wait_for_function('document.querySelectorAll("#search-results a").length < 3')
    assert page.evaluate(PATHS)[0] == "reports/2026/solid-state-cells.html"
    assert {"kind=report", "tag=physics", "to=2026-12-31"} <= {*page.url.partition("?")[2].split("&")}


def test_a_slash_leads_from_any_page_to_the_search_and_arrows_through_what_it_finds(url: str, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/reports/2026/raft.html")
    page.keyboard.press("/")
    page.keyboard.type("octopus/colour")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.locator(".results li").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == "octopus/colour"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "reports/2026/octopus.html"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "q"


def test_the_box_works_from_a_folder_on_disk_and_below_a_path(finding: Path, visitor: Visitor) -> None:
    with served(finding.parent) as above:
        for address in (f"{above}/site/reports/2026/raft.html", (finding / "reports/2026/raft.html").as_uri()):
            page = visitor.open(address)
            page.get_by_role("searchbox").fill("vaccum")
            with page.expect_navigation():
                page.keyboard.press("Enter")
            page.locator(".results li").first.wait_for()
            assert "autovacuum" in page.evaluate(PATHS)[0]
    assert visitor.happened == []
