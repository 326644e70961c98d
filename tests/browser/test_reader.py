"""A reader of vaults that others wrote (Foam) finds the same links in a vault as we do, and none that is broken."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.browser.machine import run_tool
from tests.vault.scanner import body_of, scan

# Foam knows notes and images; tables of Obsidian are nothing to it, though they are there.
UNKNOWN_TO_FOAM = (".base",)
# It takes the sign of a callout with a link behind it for a link of its own kind.
CALLOUT_TITLE = r"(?m)^> \[!.*$"


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


def test_the_same_links_are_found(vault: Path) -> None:
    links = {(link["source"], link["target"]) for link in read(vault, "graph")["links"]}
    read_by_others = {(source, target) for source, target in links if source != target and source != "my/own.md"}
    assert links_of(vault, without=CALLOUT_TITLE) <= read_by_others <= links_of(vault)


def links_of(vault: Path, without: str = "(?!)") -> set[tuple[str, str]]:
    """Each note of ours with each other file that it leads to; lines that match ``without`` are left out."""
    texts = {name: re.sub(without, "", body_of((vault / name).read_text())) for name in notes(vault)}
    return {(name, target) for name, text in texts.items() for target in targets(vault, text) if name != target}


def notes(vault: Path) -> list[str]:
    files = (path.relative_to(vault) for path in sorted(vault.rglob("*.md")))
    return [path.as_posix() for path in files if path.parts[0] not in {".obsidian", "my"}]


def targets(vault: Path, text: str) -> set[str]:
    found = scan(text)
    shown = [embed.partition("|")[0] for embed in found.embeds]
    paths = {target.partition("#")[0] for target in (*(target for target, _ in found.links), *shown)}
    named = {path if (vault / path).is_file() else f"{path}.md" for path in paths if path}
    return {path for path in named if not path.endswith(UNKNOWN_TO_FOAM)}
