"""``templates update`` says what it did and what it left, and what to do next."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.text.normalise import digest_of
from tests.commanding import said


def test_an_edited_template_is_listed_and_a_missing_one_copied(tmp_path: Path) -> None:
    assert said(tmp_path, "init").code == 0
    (tmp_path / "templates" / "vault" / "report.md.j2").write_text("mine\n")
    (tmp_path / "templates" / "site" / "list.html.j2").unlink()
    lines = said(tmp_path, "templates", "update").out.splitlines()
    assert lines[:3] == [
        "new: templates/site/list.html.j2",
        "edited, left as it is: templates/vault/report.md.j2",
        "1 template changed; next: research build",
    ]
    assert "--replace" in lines[3]
    assert json.loads(said(tmp_path, "--json", "templates", "update").out)["edited"] == ["vault/report.md.j2"]
    assert said(tmp_path, "templates", "update", "--replace").out.splitlines()[0] == (
        "replaced: templates/vault/report.md.j2 (yours is templates/replaced/vault/report.md.j2)"
    )


def test_a_build_replaces_templates_of_an_earlier_version_that_no_longer_fit_and_that_nobody_edited(tmp_path: Path) -> None:
    assert said(tmp_path, "init").code == 0
    home, record = tmp_path / "templates" / "vault" / "home.md.j2", tmp_path / "templates" / ".shipped.json"
    now = home.read_bytes()
    home.write_text("# {{ what_is_no_longer_there }}\n")
    failed = said(tmp_path, "build")
    assert (failed.code, "home.md.j2, line 1" in failed.err) == (2, True)
    shipped = json.loads(record.read_text())
    record.write_text(json.dumps({**shipped, "vault/home.md.j2": digest_of(home.read_bytes())}))
    assert said(tmp_path, "build").code == 0
    assert home.read_bytes() == now
    assert (tmp_path / "vault" / "Home.md").is_file()
