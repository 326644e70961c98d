"""Every link of a built vault leads somewhere, and what belongs together is linked both ways."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.projection import frontmatter
from tests.fakes import MemoryStore
from tests.projection.builders import Workplace, a_store
from tests.projection.scanner import body_of, scan


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The notes of a vault by path without suffix."""
    place = Workplace(tmp_path_factory.mktemp("links"), a_store())
    place.build()
    return {name.removesuffix(".md"): data.decode() for name, data in place.files().items()}


def _targets(text: str) -> set[str]:
    in_properties = re.findall(r"\[\[([^\[\]|]+)\|", frontmatter.split(text)[0])
    return {*(target for target, _ in scan(body_of(text)).links), *in_properties}


def test_every_link_and_every_quote_it_names_exists(notes: dict[str, str]) -> None:
    for path, text in notes.items():
        for target in _targets(text):
            note, sign, place = target.partition("#")
            there = scan(body_of(notes[note or path]))
            assert not sign or (place[1:] in there.blocks if place.startswith("^") else place in there.headings), (path, target)


def test_no_two_notes_have_one_name(notes: dict[str, str]) -> None:
    stems = [path.rpartition("/")[2].casefold() for path in notes]
    assert len(set(stems)) == len(stems)


def _linked(notes: dict[str, str], start: str, end: str) -> set[tuple[str, str]]:
    pairs = ((path, target.partition("#")[0]) for path, text in notes.items() for target in _targets(text))
    return {(path, target) for path, target in pairs if path.startswith(start) and target.startswith(end)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reports/", "sessions/"), ("reports/", "workers/"), ("reports/", "sources/"), ("reports/", "nights/"),
        ("sessions/", "workers/"), ("sessions/", "nights/"), ("workers/", "sources/"), ("sources/", "nights/"),
    ],
)  # fmt: skip
def test_notes_are_linked_both_ways(notes: dict[str, str], one: str, other: str) -> None:
    there, back = _linked(notes, one, other), _linked(notes, other, one)
    assert there
    if (one, other) not in {
        ("reports/", "nights/"),
        ("sources/", "nights/"),
    }:  # a night names the report or the session, not both
        assert {(b, a) for a, b in back} & there


def test_every_source_is_named_by_each_report_that_it_names(notes: dict[str, str]) -> None:
    reports = _linked(notes, "reports/", "sources/")
    named = {(report, source) for source, report in _linked(notes, "sources/", "reports/")}
    assert reports == named


def test_home_leads_to_every_recent_report_and_night(notes: dict[str, str]) -> None:
    targets = _targets(notes["Home"])
    assert {path for path in notes if path.startswith(("reports/", "nights/"))} <= targets


def test_a_sentence_that_cites_two_quotes_of_one_source_tells_them_apart(notes: dict[str, str]) -> None:
    report = next(text for path, text in notes.items() if path.startswith("reports/"))
    cited = [words for _, words in scan(body_of(report)).links if re.fullmatch("[¹²³][ᵃ-ᶻ]?", words)]
    assert {"¹ᵃ", "¹ᵇ", "²"} <= set(cited)


def test_a_table_has_no_bare_bar(notes: dict[str, str]) -> None:
    for text in notes.values():
        rows = [line for line in body_of(text).split("\n") if line.startswith("|")]
        for first, line in pairwise(rows):
            if set(line) <= set("|-: "):
                columns = line.count("|")
            elif set(first) <= set("|-: "):
                assert len(re.findall(r"(?<!\\)\|", line)) == columns


def test_a_vault_without_any_session_says_what_to_do(tmp_path: Path) -> None:
    place = Workplace(tmp_path, MemoryStore())
    place.build()
    assert list(place.files()) == ["Home.md"]
    assert "research run" in (place.vault / "Home.md").read_text()


def test_no_note_has_an_empty_section(notes: dict[str, str]) -> None:
    for path, text in notes.items():
        assert not re.search(r"(?m)^(#{2,6}) .*\n+(?=\1 |\Z)", body_of(text)), path
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
