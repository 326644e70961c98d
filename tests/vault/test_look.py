"""What makes a fresh vault look finished: its settings, and a style sheet that knows every kind of note and callout."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pipeline.vault.output.note import KINDS, OWN_CLASS
from pipeline.vault.stages import SNIPPET, STYLE_SHEET
from tests.vault.builders import TEMPLATES

STARTER = TEMPLATES.parents[1] / "vault" / ".obsidian"
STYLE = (TEMPLATES / STYLE_SHEET).read_text()
BUILT_IN = {"abstract", "info", "todo", "tip", "success", "question", "warning", "failure", "danger", "bug", "example", "quote"}


def _setting(name: str) -> Any:
    return json.loads((STARTER / name).read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_note_has_a_look(kind: str) -> None:
    assert re.search(rf"\.{OWN_CLASS}-{kind} \{{", STYLE)
    assert kind == "home" or f"tag:#research/{kind}" in {group["query"] for group in _setting("graph.json")["colorGroups"]}


def test_every_callout_that_a_template_writes_is_known_to_obsidian_or_has_a_look() -> None:
    written = {name for file in TEMPLATES.glob("*.j2") for name in re.findall(r"\[!([a-z]+)\]", file.read_text())}
    styled = set(re.findall(r'\.callout\[data-callout="([a-z]+)"\] \{', STYLE))
    assert written - BUILT_IN == styled == {"conflict", "gap", "source", "verified"}


def test_every_colour_that_is_used_is_set_for_light_and_for_dark() -> None:
    light, dark = (set(re.findall(r"--rn-([a-z]+): \d", block)) for block in re.findall(r"(?s)^.*?\n\}", STYLE, re.M)[:2])
    used = set(re.findall(r"var\(--rn-([a-z]+)", STYLE)) - {"own", "kind"}
    assert used <= light == dark


def test_the_style_sheet_asks_for_nothing_from_outside() -> None:
    assert not re.search(r"url\(|@import|https?:", STYLE)


def test_a_fresh_vault_uses_the_style_sheet_and_all_that_its_notes_need() -> None:
    assert f".obsidian/snippets/{_setting('appearance.json')['enabledCssSnippets'][0]}.css" == SNIPPET
    needed = {"graph", "backlink", "bases", "properties", "bookmarks", "outline", "page-preview", "file-recovery"}
    assert needed <= {name for name, on in _setting("core-plugins.json").items() if on}
    assert _setting("bookmarks.json")["items"][0]["path"] == "Home.md"
    assert _setting("app.json")["userIgnoreFilters"] == ["attic/"]


def test_a_fresh_vault_holds_no_state_of_a_session() -> None:
    assert {path.name for path in STARTER.iterdir() if path.is_file()} == {
        "app.json", "appearance.json", "bookmarks.json", "core-plugins.json", "graph.json", "types.json",
    }  # fmt: skip
