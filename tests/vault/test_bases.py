"""The tables over the notes: sound by the syntax, and asking only for what the notes have."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from pipeline.vault.output import frontmatter
from pipeline.vault.output.frontmatter import TYPES
from pipeline.vault.output.note import KINDS
from tests.vault.builders import TEMPLATES, Workplace, a_store, named_story
from tests.vault.formats import Base, base_of

BASES = sorted((TEMPLATES / "bases").glob("*.base"))
FUNCTIONS = {"file", "this", "now", "if", "note", "formula"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    store = a_store()
    named_story(store, id="2026-11-29-postgres-0a0a", query_id="postgres", date="2026-11-29").whole()
    place = Workplace(tmp_path_factory.mktemp("bases"), store)
    place.build()
    return {name: data.decode() for name, data in place.files().items()}


def _kind(base: Path) -> str:
    return base.stem.removesuffix("s")


def _all(files: dict[str, str]) -> dict[str, Base]:
    return {name: base_of(text) for name, text in files.items() if name.endswith(".base")}


def test_there_is_a_table_for_each_kind_of_note(files: dict[str, str]) -> None:
    assert {_kind(path) for path in BASES} == {*KINDS} - {"home"}
    assert {name.removeprefix("bases/") for name in files if name.endswith(".base")} == {path.name for path in BASES}


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_a_table_shows_the_notes_of_its_kind(path: Path) -> None:
    base = base_of(path.read_text())
    assert f'file.hasTag("research/{_kind(path)}")' in base.expressions()


def test_tables_ask_only_for_properties_that_notes_have(files: dict[str, str]) -> None:
    for name, base in _all(files).items():
        asked = {one.removeprefix("note.") for one in base.named() if one.startswith("note.")}
        for words in base.expressions():
            bare = re.sub(r'"[^"]*"', "", words)
            asked |= set(re.findall(r"(?<![.\w])[a-z_]+(?![\w(])", bare)) - FUNCTIONS
        assert asked <= TYPES.keys(), name


def test_a_property_that_a_table_shows_stands_in_some_note_of_that_kind(files: dict[str, str]) -> None:
    had: dict[str, set[str]] = defaultdict(set)
    for name, text in files.items():
        if name.endswith(".md"):
            properties = frontmatter.load(frontmatter.split(text)[0])
            had[properties["kind"]] |= properties.keys()
    for path in BASES:
        shown = {one.removeprefix("note.") for one in base_of(path.read_text()).named() if one.startswith("note.")}
        assert shown <= had[_kind(path)], path.name


def test_tables_and_notes_agree_on_the_type_of_each_property(files: dict[str, str]) -> None:
    kinds: dict[str, type | tuple[type, ...]] = {
        "text": str,
        "number": (int, float),
        "multitext": list,
        "tags": list,
        "aliases": list,
        "datetime": str,
    }
    for name, text in files.items():
        if name.endswith(".md"):
            for key, value in frontmatter.load(frontmatter.split(text)[0]).items():
                assert isinstance(value, kinds[TYPES[key]]), (name, key)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("type: table", "type: chart"),
        ("direction: DESC", "direction: DOWN"),
        ("formula.report", "formula.rapport"),
        ("note.created", "created"),
        ("name: Recent", "name: Cost"),
        ("Sum", "Total"),
        ("limit: 50", "limit: 0"),
        ("  and:", "  and:\n    - true\n  or:"),
    ],
)
def test_the_model_of_the_syntax_notices_faults(old: str, new: str) -> None:
    text = (TEMPLATES / "bases" / "reports.base").read_text()
    assert old in text
    with pytest.raises((ValidationError, yaml.YAMLError)):
        base_of(text.replace(old, new, 1))


def test_a_table_that_its_reader_changed_stays_as_it_is(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    table = place.vault / "bases" / "reports.base"
    table.write_text(table.read_text().replace("limit: 50", "limit: 7"))
    report = place.build()
    assert "limit: 7" in table.read_text()
    assert (report.written, report.set_aside, report.problems) == ((), (), ())
