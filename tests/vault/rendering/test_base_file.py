"""A base with a fault is named with its line, and nothing is written: Obsidian would show an empty table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import TemplateInvalid
from pipeline.vault.rendering.base_file import fault_of
from tests.vault.builders import TEMPLATES, Workplace, a_store, change, changed_templates

VIEWS = "views:\n  - type: table\n    name: All\n"


@pytest.mark.parametrize("file", sorted((TEMPLATES / "bases").glob("*.base")), ids=lambda file: file.stem)
def test_our_own_bases_have_no_fault(file: Path) -> None:
    assert fault_of(file.read_text()) is None


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "no views"),
        ("- a\n", 1, "no views"),
        ("views: [\n", 2, "not valid YAML"),
        (f"{VIEWS}filtres: x\n", 4, "`filtres` is not known in a base; did you mean `filters`?"),
        ("filters:\n  and: x\nviews:\n  - {type: table, name: A}\n", 2, "a filter is one expression"),
        ("filters:\n  and: [a]\n  or: [b]\n" + VIEWS, 2, "a filter is one expression"),
        ("filters:\n  and:\n    - nott: [a]\n" + VIEWS, 3, "a filter is one expression"),
        ("formulas: x\n" + VIEWS, 1, "`formulas` takes names"),
        ("views:\n  - type: tabel\n    name: A\n", 2, "did you mean `table`?"),
        ("views:\n  - type: table\n", 2, "no name"),
        ("views: {}\n", 1, "no views"),
    ],
)
def test_a_fault_is_found_with_its_line(text: str, line: int, said: str) -> None:
    found = fault_of(text)
    assert found is not None
    assert said in found.message
    assert found.line == line


@given(st.text(alphabet="views: -[]{}\n\tab\"'&*!|>?%@`#,", max_size=60))
def test_any_text_has_a_fault_or_none_but_never_a_crash(text: str) -> None:
    fault_of(text)


def test_a_faulty_base_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))
    place.build()
    before = place.files()
    change(place.templates / "bases" / "sources.base", "views:", "view:")
    with pytest.raises(TemplateInvalid, match=r"sources\.base, line \d+: `view` is not known in a base; did you mean `views`\?"):
        place.build()
    assert place.files() == before
