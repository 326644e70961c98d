"""A reader of vaults that others wrote (Foam) finds the same links in a vault as we do, and none that is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.browser.machine import run_tool

# Foam knows notes and images; tables of Obsidian are nothing to it, though they are there.
UNKNOWN_TO_FOAM = (".base",)


def read(vault: Path, *words: str) -> Any:
    said = run_tool("foam", *words, "--workspace", str(vault), cwd=vault.parent)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def broken(vault: Path) -> set[str]:
    known = {path.name for path in vault.rglob("*") if path.suffix in UNKNOWN_TO_FOAM}
    return {link["placeholder_id"] for link in read(vault, "list", "placeholders", "--format", "json")} - known


def test_the_only_broken_link_is_the_one_that_a_person_wrote(vault: Path) -> None:
    assert broken(vault) == {"nowhere at all"}


def test_hostile_text_makes_no_link(hostile_vault: Path) -> None:
    assert broken(hostile_vault) == set()
