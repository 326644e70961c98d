"""Obsidian's list of property types belongs to its user; we only add to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.output.property_types import PATH, TYPES, completed
from tests.vault.builders import Workplace, a_store

theirs = st.dictionaries(st.one_of(st.text(max_size=8), st.sampled_from(sorted(TYPES))), st.sampled_from(["text", "date", "x"]))


@settings(deadline=None)
@given(theirs, st.dictionaries(st.text(max_size=5).filter(lambda key: key != "types"), st.integers()))
def test_what_stands_there_stays_and_what_lacks_is_added(types: dict[str, str], rest: dict[str, int]) -> None:
    before = {**rest, "types": types}
    text = completed(json.dumps(before))
    after = json.loads(text) if text else before
    assert after == {**rest, "types": {**TYPES, **types}}
    assert completed(json.dumps(after)) is None


def test_a_vault_without_the_file_gets_it_whole() -> None:
    assert json.loads(completed(None) or "") == {"types": TYPES}
    assert json.loads(completed(" \n") or "") == {"types": TYPES}


@pytest.mark.parametrize("text", ["{", "[]", '{"types": []}', '"x"', "[" * 100_000])
def test_a_file_that_obsidian_did_not_write_is_left_alone(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        completed(text)
    place = Workplace(tmp_path, a_store())
    (place.vault / PATH).parent.mkdir(parents=True)
    (place.vault / PATH).write_text(text)
    (problem,) = place.build().left_alone
    assert problem.startswith(PATH)
    assert (place.vault / PATH).read_text() == text


def test_a_build_writes_nothing_else_among_obsidians_settings(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    report = place.build()
    settings = {name for name in place.files() if name.startswith(".obsidian/")}
    assert settings == {PATH, ".obsidian/snippets/research.css"}
    assert settings <= set(report.written)
    assert not set(place.build().written)
