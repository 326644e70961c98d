"""Every link of a built vault leads somewhere, and what belongs together is linked both ways."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes import MemoryStore
from tests.vault.builders import a_store, built
from tests.vault.links import targets
from tests.vault.scanner import body_of, fenced


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The notes of a vault by path without suffix."""
    place = built(tmp_path_factory.mktemp("links"), a_store())
    return {name.removesuffix(".md"): data.decode() for name, data in place.files().items() if name.endswith(".md")}


def _linked(notes: dict[str, str], start: str, end: str) -> set[tuple[str, str]]:
    pairs = ((path, target.partition("#")[0]) for path, text in notes.items() for target in targets(text))
    return {(path, target) for path, target in pairs if path.startswith(start) and target.startswith(end)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reports/", "topics/"), ("reports/", "sessions/"), ("reports/", "workers/"), ("reports/", "sources/"),
        ("sessions/", "workers/"),
    ],
)  # fmt: skip
def test_notes_are_linked_both_ways(notes: dict[str, str], one: str, other: str) -> None:
    there, back = _linked(notes, one, other), _linked(notes, other, one)
    assert {(b, a) for a, b in back} & there


def test_home_leads_to_the_last_night_and_by_the_newest_report_on_its_question_to_every_report(notes: dict[str, str]) -> None:
    named = targets(notes["Home"])
    assert max(path for path in notes if path.startswith("nights/")) in named
    reached = named.union(*(targets(text) for path, text in notes.items() if path in named and path.startswith("reports/")))
    assert {path for path in notes if path.startswith("reports/")} <= reached


def test_a_table_has_no_bare_bar(notes: dict[str, str]) -> None:
    for text in notes.values():
        lines = (line.removeprefix("> ") for line in fenced(body_of(text))[1].split("\n"))
        rows = [line for line in lines if line.startswith("|")]
        for first, line in pairwise(rows):
            if set(line) <= set("|-: "):
                columns = line.count("|")
            elif set(first) <= set("|-: "):
                assert len(re.findall(r"(?<!\\)\|", line)) == columns


def test_a_vault_without_any_session_says_what_to_do(tmp_path: Path) -> None:
    place = built(tmp_path, MemoryStore())
    assert [name for name in place.files() if name.endswith(".md")] == ["Home.md"]
    assert "research run" in (place.vault / "Home.md").read_text()


def test_no_note_has_an_empty_section(notes: dict[str, str]) -> None:
    for path, text in notes.items():
        assert not re.search(r"(?m)^(#{2,6}) .*\n+(?=\1 |\Z)", body_of(text)), path
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
