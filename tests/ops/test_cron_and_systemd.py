"""Cron and systemd are told the very command that was meant, whatever the workspace is called."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.config.keys import Keys
from pipeline.ops.cron_and_systemd import keys_out_of_reach, program_of, schedule_lines, schedule_of

NAMES = (
    "/home/me/research",
    "/srv/my questions",
    "/x/50% 'off' \"now\"",
    "/x/$HOME/`id`",
    "/x/back\\slash;rm -rf",
    "/x/Fragen à la nuit",
)


def as_cron_runs_it(line: str) -> list[str]:
    """What a program is given when cron hands the line to the shell: the first unescaped ``%`` would end it."""
    assert not re.search(r"(?<!\\)%", line), "cron ends the command here"
    unescaped = line.replace("\\%", "%")
    done = subprocess.run(["/bin/sh", "-c", f"printf '%s\\0' {unescaped}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("folder", NAMES)
def test_cron_runs_the_command_that_was_meant(folder: str) -> None:
    line = schedule_of(["/opt/a b/bin/research"], Path(folder), time(4, 5)).crontab
    minute, hour, *stars, command = line.split(maxsplit=5)
    assert (minute, hour, stars) == ("5", "4", ["*", "*", "*"])
    assert as_cron_runs_it(command) == ["/opt/a b/bin/research", "-C", folder, "-q", "run"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("folder", NAMES)
def test_systemd_takes_the_files(folder: str, tmp_path: Path) -> None:
    schedule = schedule_of(["/bin/echo"], Path(folder))
    paths = [tmp_path / f"{schedule.name}.service", tmp_path / f"{schedule.name}.timer"]
    paths[0].write_text(schedule.service)
    paths[1].write_text(schedule.timer)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, paths)], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if schedule.name in line]
    assert (done.returncode, ours) == (0, [])


def test_the_program_is_named_by_an_absolute_path(tmp_path: Path) -> None:
    script, python = tmp_path / "research", tmp_path / "python"
    assert program_of("/x/pytest", str(python)) == [str(python), "-m", "pipeline"]
    script.touch()
    assert program_of("/x/pytest", str(python)) == [str(script)]
    assert program_of(str(script), "/usr/bin/python") == [str(script)]
    assert program_of(f"{tmp_path}/../{tmp_path.name}/research", "/usr/bin/python") == [str(script)]
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "research"
    link.symlink_to(script)
    assert program_of(str(link), "/usr/bin/python") == [str(link)]


def test_keys_that_cron_would_not_see_are_named(tmp_path: Path) -> None:
    keys = Keys(tmp_path, {"BRAVE_API_KEY": "x" * 20, "HOME": "/"}, {"OPENAI_API_KEY": "y" * 20})
    assert keys_out_of_reach(keys) == ["BRAVE_API_KEY"]
    assert any("BRAVE_API_KEY" in line for line in schedule_lines(schedule_of(["/bin/x"], tmp_path), "", ["BRAVE_API_KEY"]))


def test_the_command_prints_it_for_the_workspace_it_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "my 50% workspace"
    folder.mkdir()
    (folder / "queries.yaml").write_text('settings:\n  limits: {deadline: "06:30"}\nqueries: []\n')
    said = CliRunner().invoke(cli, ["-C", str(folder), "doctor", "--schedule"]).output
    assert "ends at 06:30" in said
    (line,) = [line for line in said.splitlines() if line.startswith("15 2 * * *")]
    assert as_cron_runs_it(line.split(maxsplit=5)[5])[-4:] == ["-C", str(folder), "-q", "run"]
