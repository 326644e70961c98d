"""A faulty template costs nothing but a message that says where; tables, style sheet and starter ask only for what notes have."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.errors import TemplateInvalid
from pipeline.vault.note import KINDS, OWN_CLASS, OWNED
from pipeline.vault.output import frontmatter
from pipeline.vault.output.templates import Renderer
from pipeline.vault.stages import SNIPPET, STYLE_SHEET
from tests.vault.builders import TEMPLATES, Workplace, a_store, change

ROOT = TEMPLATES.parents[1]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("report.md.j2", "# {{ query }}", "# {{ heading }", r"report\.md\.j2, line 2: "),
        ("report.md.j2", "{% endif %}", "", r"report\.md\.j2, line \d+: "),
        ("night.md.j2", "{{ title }}", "{{ titel }}", r"night\.md\.j2, line 2: 'titel' is undefined; did you mean `title`\?"),
        ("source.md.j2", "{{ entry.number }}", "{{ entry.numero }}", r"line \d+: 'numero' is not .*did you mean `number`\?"),
        ("report.md.j2", "# {{ query }}", "# {{ 1 + session }}", r"line 2: unsupported .*"),
        ("_worker.md.j2", "| sentence", "| shout", r"_worker\.md\.j2, line \d+: No filter named 'shout'"),
        ("_macros.md.j2", "user_block(\"notes\")", "user_block(\"My notes\")", r"_macros\.md\.j2, line \d+: .*My notes"),
        ("session.md.j2", '## {{ t("Plan', "{{ m.own_notes() }}", r"session\.md\.j2.*second block “notes”"),
        ("home.md.j2", '"_macros.md.j2"', '"_macro.md.j2"', r"_macro\.md\.j2: is missing"),
        ("home.md.j2", "{{ title }}", "{{ none }}", r"home\.md\.j2, line 2: .*None"),
    ],
)  # fmt: skip
def test_a_faulty_template_is_named_with_its_line_and_nothing_is_written(
    place: Workplace, file: str, old: str, new: str, said: str
) -> None:
    before, good = place.files(), (place.templates / file).read_text()
    (place.templates / "topic.md.j2").write_text("Edited.")
    change(place.templates / file, old, new)
    for _ in range(2):
        with pytest.raises(TemplateInvalid, match=said) as caught:
            place.build()
        assert place.files() == before
    assert "no note was changed" in caught.value.hint
    assert re.search(r"while writing [\w/-]+\.md", caught.value.message)
    (place.templates / file).write_text(good)
    assert {path.partition("/")[0] for path in place.build().written} == {"topics"}


def test_the_readme_lists_exactly_what_each_template_is_given_and_the_filters(tmp_path: Path) -> None:
    readme = (ROOT / "templates" / "README.md").read_text()
    sections = re.findall(r"(?ms)^##+ (.*?)\n(.*?)(?=^##|\Z)", readme)
    listed = {heading: re.findall(r"(?m)^\| `(\w+)` \|", text) for heading, text in sections}
    _, notes = Workplace(tmp_path, a_store()).build_and_note()
    assert {note.kind: listed[f"`{note.kind}.md.j2`"] for note in notes} == {note.kind: [*note.view] for note in notes}
    assert listed["Filters"] == [*Renderer(TEMPLATES).filters]


STARTER = ROOT / "vault" / ".obsidian"
STYLE = (TEMPLATES / STYLE_SHEET).read_text()
BUILT_IN = {"abstract", "info", "todo", "tip", "success", "question", "warning", "failure", "danger", "bug", "example", "quote"}
TYPE_OF = {"text": str, "number": (int, float), "multitext": list, "tags": list, "aliases": list, "datetime": str}


def _setting(name: str) -> Any:
    return json.loads((STARTER / name).read_text())


def test_each_table_shows_the_notes_of_its_kind_and_asks_for_properties_that_they_have(place: Workplace) -> None:
    had: dict[str, set[str]] = defaultdict(set, report={"rating"})  # which a person gives a report
    types = _setting("types.json")["types"]
    for name, data in place.files().items():
        if name.endswith(".md"):
            properties = frontmatter.load(frontmatter.split(data.decode())[0])
            had[properties["kind"]] |= properties.keys()
            assert all(isinstance(value, TYPE_OF[types[key]]) for key, value in properties.items()), name  # type: ignore[arg-type]
    tables = {path.stem.removesuffix("s"): path.read_text() for path in (TEMPLATES / "bases").glob("*.base")}
    assert tables.keys() == {*KINDS} - {"home"}
    for kind, text in tables.items():
        base = yaml.safe_load(text)
        assert f'file.hasTag("research/{kind}")' in text
        assert {*re.findall(r"\bnote\.(\w+)", text), *re.findall(r"(?m)^ *- ([a-z_]+) [=>]", text)} <= had[kind]
        assert {*re.findall(r"\bformula\.(\w+)", text)} <= base["formulas"].keys()
        assert all(view["type"] == "table" and view["order"] for view in base["views"])


def test_every_kind_of_note_and_every_callout_has_a_look_that_asks_for_nothing_from_outside() -> None:
    groups = {group["query"] for group in _setting("graph.json")["colorGroups"]}
    for kind in KINDS:
        assert re.search(rf"\.{OWN_CLASS}-{kind} \{{", STYLE)
        assert kind == "home" or f"tag:#research/{kind}" in groups
    written = {name for file in TEMPLATES.glob("*.j2") for name in re.findall(r"\[!([a-z]+)\]", file.read_text())}
    assert written - BUILT_IN == set(re.findall(r'\.callout\[data-callout="([a-z]+)"\] \{', STYLE))
    assert not re.search(r"url\(|@import|https?:", STYLE)


def test_a_fresh_vault_uses_the_style_sheet_and_all_that_its_notes_need() -> None:
    assert f".obsidian/snippets/{_setting('appearance.json')['enabledCssSnippets'][0]}.css" == SNIPPET
    needed = {"graph", "backlink", "bases", "properties", "bookmarks", "outline", "page-preview", "file-recovery"}
    assert needed <= {name for name, on in _setting("core-plugins.json").items() if on}
    assert _setting("app.json")["userIgnoreFilters"] == ["attic/"]
    assert _setting("types.json")["types"].keys() == OWNED
