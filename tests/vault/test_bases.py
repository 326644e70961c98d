"""The tables over the notes, the style sheet and the starter: sound, and asking only for what the notes have."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import yaml

from pipeline.vault.note import KINDS, OWN_CLASS, OWNED
from pipeline.vault.output import frontmatter
from pipeline.vault.stages import SNIPPET, STYLE_SHEET
from tests.vault.builders import TEMPLATES, Workplace

STARTER = TEMPLATES.parents[1] / "vault" / ".obsidian"
STYLE = (TEMPLATES / STYLE_SHEET).read_text()
BUILT_IN = {"abstract", "info", "todo", "tip", "success", "question", "warning", "failure", "danger", "bug", "example", "quote"}
TYPE_OF = {"text": str, "number": (int, float), "multitext": list, "tags": list, "aliases": list, "datetime": str}


def _setting(name: str) -> Any:
    return json.loads((STARTER / name).read_text())


def _texts(value: object) -> list[str]:
    """All words of a table, keys too."""
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in _texts(one)]
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else [str(value)]


def test_each_table_shows_the_notes_of_its_kind_and_asks_for_properties_that_they_have(place: Workplace) -> None:
    had: dict[str, set[str]] = defaultdict(set)
    types = _setting("types.json")["types"]
    for name, data in place.files().items():
        if name.endswith(".md"):
            properties = frontmatter.load(frontmatter.split(data.decode())[0])
            had[properties["kind"]] |= properties.keys()
            assert all(isinstance(value, TYPE_OF[types[key]]) for key, value in properties.items()), name  # type: ignore[arg-type]
    bases = {path.stem.removesuffix("s"): yaml.safe_load(path.read_text()) for path in (TEMPLATES / "bases").glob("*.base")}
    assert bases.keys() == {*KINDS} - {"home"}
    for kind, base in bases.items():
        texts = _texts(base)
        assert f'file.hasTag("research/{kind}")' in texts
        assert {text.removeprefix("note.") for text in texts if text.startswith("note.")} <= had[kind]
        assert {text.removeprefix("formula.") for text in texts if text.startswith("formula.")} <= base["formulas"].keys()
        assert {text.partition(" ")[0] for text in texts if re.match(r"[a-z_]+ [=>]", text)} <= had[kind]
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
