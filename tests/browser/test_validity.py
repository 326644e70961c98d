"""The pages are HTML as the standard has it, says a validator that others wrote."""

from __future__ import annotations

import json
from pathlib import Path

from tests.browser.machine import run_tool
from tests.browser.visiting import Site

RULES = {"root": True, "extends": ["html-validate:standard", "html-validate:a11y"], "rules": {"no-inline-style": "error"}}


def test_every_page_is_valid(site: Site, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    names = [str(site.folder / path) for path in site.pages]
    said = run_tool("html-validate", "--config", "rules.json", "--formatter", "json", *names, cwd=tmp_path)
    faults = [
        f"{Path(file['filePath']).relative_to(site.folder)}:{fault['line']}: {fault['ruleId']}: {fault['message']}"
        for file in json.loads(said.stdout)
        for fault in file["messages"]
    ]
    assert faults == [], said.stderr
    assert said.returncode == 0, said.stderr
