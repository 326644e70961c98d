"""Obsidian's list of property types belongs to its user; we only add to it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.system.folders import Tree
from pipeline.vault.output.frontmatter import TYPES, TYPES_PATH, complete_types
from tests.vault.builders import Workplace, a_store

theirs = st.dictionaries(st.one_of(st.text(max_size=8), st.sampled_from(sorted(TYPES))), st.sampled_from(["text", "date", "x"]))


def _completed(vault: Path, text: str | None) -> str:
    if text is not None:
        (vault / TYPES_PATH).parent.mkdir(exist_ok=True)
        (vault / TYPES_PATH).write_text(text)
    complete_types(Tree(vault))
    return (vault / TYPES_PATH).read_text()


@settings(deadline=None, max_examples=30)
@given(theirs, st.dictionaries(st.text(max_size=5).filter(lambda key: key != "types"), st.integers()))
def test_what_stands_there_stays_and_what_lacks_is_added(types: dict[str, str], rest: dict[str, int]) -> None:
    with TemporaryDirectory() as folder:
        after = _completed(Path(folder), json.dumps({**rest, "types": types}))
        assert json.loads(after) == {**rest, "types": {**TYPES, **types}}
        assert complete_types(Tree(Path(folder))) == (False, "")


@pytest.mark.parametrize("text", ["{", "[]", '{"types": []}', '"x"', "[" * 100_000])
def test_a_file_that_obsidian_did_not_write_is_left_alone(text: str, tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    (place.vault / TYPES_PATH).parent.mkdir(parents=True)
    (place.vault / TYPES_PATH).write_text(text)
    (problem,) = place.build().left_alone
    assert problem.startswith(TYPES_PATH)
    assert (place.vault / TYPES_PATH).read_text() == text


def test_a_build_writes_nothing_else_among_obsidians_settings(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    report = place.build()
    settings = {name for name in place.files() if name.startswith(".obsidian/")}
    assert settings == {TYPES_PATH, ".obsidian/snippets/research.css"}
    assert settings <= set(report.written)
    assert not set(place.build().written)
