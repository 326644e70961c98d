"""The script for the shell: its syntax, and that a shell completes with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def research(tmp_path: Path) -> Path:
    """The command as a shell finds it."""
    path = tmp_path / "bin" / "research"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pipeline "$@"\n')
    path.chmod(0o755)
    return path


def printed(research: Path, shell: str) -> str:
    return subprocess.run([research, "completion", shell], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(shell: str, research: Path) -> None:
    script = printed(research, shell)
    assert "_RESEARCH_COMPLETE" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=True).stderr == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["research", "app"], "approve"),
        (["research", "run", "--lock"], "--lock-wait"),
    ],
)
def test_bash_completes_commands_and_options(words: list[str], offered: str, research: Path) -> None:
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"{printed(research, 'bash')}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n"
        f'_research_completion "{research}"; echo "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (offered, "")
