"""The crontab line and systemd files for a run every night, with absolute paths and correct quoting. Pure."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from pathlib import Path

from pipeline.config.keys import Keys
from pipeline.text.cleaning import slug

AT = time(2, 15)
_BARE = re.compile(r"[A-Za-z0-9_./:=@+,-]+")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A line for ``crontab -e``, and the contents of the systemd files ``name.service`` and ``name.timer``."""

    crontab: str
    name: str
    service: str
    timer: str


def schedule_of(program: Sequence[str], folder: Path, at: time = AT) -> Schedule:
    """Return how to run ``program`` every night in the workspace ``folder``; both are absolute."""
    command = (*program, "-C", str(folder), "-q", "run")
    name = f"night-research-{slug(folder.name or 'root', 40)}"
    service = f"""\
[Unit]
Description=Night research in {str(folder).replace("%", "%%")}

[Service]
Type=oneshot
ExecStart={systemd_command(command)}
# 3: stopped by a limit, work remains for the next run. 5: the sources did not answer a question.
SuccessExitStatus=3 5
# After SIGTERM a run finishes its current calls (10 s), writes the notes and stops its worker processes.
KillMode=mixed
TimeoutStopSec=120
Nice=10
"""
    timer = f"""\
[Unit]
Description=Every night: {name}

[Timer]
OnCalendar=*-*-* {at:%H:%M:%S}
# If the machine was off at that time, run when it is on again.
Persistent=true

[Install]
WantedBy=timers.target
"""
    for_cron = shlex.join(command).replace("%", r"\%")  # cron runs it with /bin/sh, and a bare % would end the line
    return Schedule(f"{at.minute} {at.hour} * * *  {for_cron}", name, service, timer)


def program_of(argument: str, python: str) -> list[str]:
    """Return the command that runs this program: the script ``argument`` (``sys.argv[0]``), or ``python -m pipeline``."""
    for path in (Path(argument), Path(python).with_name("research")):
        if path.name == "research" and path.is_file():
            return [_absolute(path)]
    return [_absolute(Path(python)), "-m", "pipeline"]


def _absolute(path: Path) -> str:
    """Resolve links in the folder only: Python recognises a virtual environment by the link to itself."""
    return os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - it takes a link that leads to itself


def keys_out_of_reach(keys: Keys) -> list[str]:
    """Return the names of the keys that are set only in this shell's environment, which cron and systemd do not see."""
    return [name for name in keys.names() if name in keys.env or f"{name}_FILE" in keys.env]


def systemd_command(command: Sequence[str]) -> str:
    """Return a command as systemd reads it: ``%`` and ``$`` doubled, and quoted where it must be."""
    words = []
    for word in command:
        doubled = word.replace("%", "%%").replace("$", "$$")
        quoted = doubled.replace("\\", "\\\\").replace('"', '\\"')
        words.append(doubled if _BARE.fullmatch(word) else f'"{quoted}"')
    return " ".join(words)


def schedule_lines(schedule: Schedule, deadline: str, unseen: Sequence[str] = ()) -> list[str]:
    """Return the lines to print: what to paste where. ``deadline`` is the one in ``queries.yaml``, "" for none.

    ``unseen`` are the names of keys that cron would not see.
    """
    ends = '# No deadline is set: limits: {deadline: "06:30"} in queries.yaml ends each run by then.'
    if deadline:
        ends = f"# Each run ends at {deadline}: limits: deadline in queries.yaml."
    folder = "~/.config/systemd/user"
    warnings = [f"# {', '.join(unseen)}: set only in this shell. Put the keys of the run into .env.", ""] if unseen else []
    return [
        *warnings,
        "# cron: add this line with `crontab -e`. It prints only errors; cron mails them.",
        ends,
        schedule.crontab,
        "",
        f"# systemd, instead of cron: save these two files in {folder}/, then",
        f"#   systemctl --user daemon-reload && systemctl --user enable --now {schedule.name}.timer",
        "#   loginctl enable-linger       # so that it runs while you are logged out",
        "",
        f"# {folder}/{schedule.name}.service",
        *schedule.service.splitlines(),
        "",
        f"# {folder}/{schedule.name}.timer",
        *schedule.timer.splitlines(),
    ]
