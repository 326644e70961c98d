"""What a night could not make shows in its exit code, in ``last-run.json``, in the log file, in its note, and on stderr."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.ops.console_output import LOG_FILE
from pipeline.research.performing import perform
from tests.commanding import Said, last_run, said, workspace_in

ROOT = Path(__file__).parent.parent
DEPTH = "  - {query: How deep is the harbour?, id: depth, mode: fast}\n"
SHIPS = "  - {query: Where do ships wait at night?, id: ships, mode: fast}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace after its first night, with another question due."""
    made = workspace_in(tmp_path / "workspace", DEPTH)
    shutil.copytree(ROOT / "templates", made / "templates")
    assert said(made, "-q", "run") == Said(0, "", "")
    with (made / "queries.yaml").open("a") as queue:
        queue.write(SHIPS)
    return made


def break_template(folder: Path) -> str:
    (folder / "templates" / "site" / "night.html.j2").write_text("{{ page.no_such_name }}")
    return "no_such_name"


def block_the_site(folder: Path) -> str:
    shutil.rmtree(folder / "site")
    (folder / "site").write_text("in the way")
    return f"{folder}/site"


TROUBLES = [break_template, block_the_site]  # a note that cannot be written fails no night


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("due", [True, False], ids=["with work", "without work"])
def test_what_a_quiet_night_or_build_could_not_make_shows_everywhere_until_it_is_put_right(
    folder: Path, trouble: Callable[[Path], str], due: bool
) -> None:
    if not due:
        said(folder, "-q", "run")
    kept = shutil.copytree(folder, folder.with_name("kept"), symlinks=True)
    named = trouble(folder)
    told = said(folder, "-q", "run")
    assert told.code != 0
    assert named in told.err
    assert last_run(folder)["exit_code"] == told.code
    assert named in last_run(folder)["vault"] + last_run(folder)["site"]
    assert named in (folder / LOG_FILE).read_text()
    assert f"exit code {told.code}" in (folder / LOG_FILE).read_text().splitlines()[-1]
    (note,) = (folder / "vault" / "nights").glob("*.md")
    assert ("## Not built" in note.read_text()) == due
    assert ("Some notes or pages could not be built" in (folder / "vault" / "Home.md").read_text()) == due
    told = said(folder, "-q", "build")
    assert (told.code != 0, named in told.err) == (True, True)
    for part in ("templates", "site", "vault/reports"):
        shutil.rmtree(folder / part) if (folder / part).is_dir() else (folder / part).unlink()
        shutil.copytree(kept / part, folder / part)
    assert said(folder, "-q", "run") == Said(0, "", "")
    assert (last_run(folder)["exit_code"], last_run(folder)["vault"], last_run(folder)["site"]) == (0, "up to date", "up to date")


def test_the_site_is_made_with_the_settings_that_were_read_at_the_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut_short(*given: Any) -> Any:
        (folder / "queries.yaml").write_text("queries: [")
        return await perform(*given)

    monkeypatch.setattr("pipeline.engine.loop.perform", cut_short)
    assert said(folder, "-q", "run") == Said(0, "", "")
    assert len(list((folder / "site" / "reports").rglob("*.html"))) == 2


def test_a_last_run_that_cannot_be_remembered_shows_in_the_exit_code(folder: Path) -> None:
    place = folder / "events" / "local" / "last-run.json"
    place.unlink()
    (place / "in the way").mkdir(parents=True)
    told = said(folder, "-q", "run")
    assert told.code == 1
    assert "last-run.json was not written" in told.err


def test_a_night_that_does_not_begin_is_the_last_run_too(folder: Path) -> None:
    (folder / "queries.yaml").write_text("queries: [")
    told = said(folder, "-q", "run")
    assert (told.code, last_run(folder)["exit_code"]) == (2, 2)
    assert last_run(folder)["error"] in told.err


def test_notes_that_could_not_be_written_are_left_alone_and_named_and_fail_no_night(folder: Path) -> None:
    made = [path for part in ("sources", "sessions", "reports") for path in (folder / "vault" / part).rglob("*.md")]
    for path in [*made, folder / "vault" / "Home.md", *(folder / "vault" / "nights").glob("*.md")]:
        path.unlink()
        path.mkdir()
    told = said(folder, "-q", "run")
    assert told.code == 0
    alone = {line.split(": ")[1] for line in told.err.splitlines() if line.startswith("left alone: ")}
    assert {path.relative_to(folder).as_posix() for path in made} | {"vault/Home.md"} <= alone
    assert len(list((folder / "vault" / "reports").rglob("where-do-ships*.md"))) == 1


def test_an_act_on_a_session_says_what_was_not_made_of_it(folder: Path) -> None:
    (folder / "queries.yaml").write_text(f"queries:\n{SHIPS.replace('mode: fast', 'approve: plan')}")
    said(folder, "-q", "run")
    break_template(folder)
    (folder / "templates" / "site" / "session.html.j2").write_text("{{ page.no_such_name }}")
    told = said(folder, "-q", "cancel", "ships")
    assert (told.code, "is cancelled" in told.out, "no_such_name" in told.err) == (2, True, True)
