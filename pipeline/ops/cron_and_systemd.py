"""Ready lines and files by which cron or systemd runs the night: absolute paths, quoted as each of them reads them. Pure."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from pathlib import Path

from pipeline.config.api_keys import Keys
from pipeline.errors import UsageError
from pipeline.text.normalise import slug

AT = time(2, 15)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BARE = re.compile(r"[A-Za-z0-9_./:=@+,-]+")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A line for ``crontab -e``; two systemd files under ``name``, with ``.service`` and ``.timer``."""

    crontab: str
    name: str
    service: str
    timer: str


def schedule_of(program: Sequence[str], folder: Path, at: time = AT) -> Schedule:
    """Return how to run ``program`` every night in the workspace ``folder``; both are absolute.

    Raises:
        UsageError: a path holds control characters, which neither cron nor systemd can be told.
    """
    command = (*program, "-C", str(folder), "-q", "run")
    if any(_CONTROL.search(word) for word in command):
        raise UsageError(
            f"{str(folder)!r} cannot stand in a crontab", hint="move the workspace to a path without control characters"
        )
    name = f"night-research-{slug(folder.name or 'root', 40)}"
    return Schedule(
        crontab=f"{at.minute} {at.hour} * * *  {crontab_command(command)}",
        name=name,
        service=_service(command, folder),
        timer=_timer(name, at),
    )


def program_of(argument: str, python: str) -> list[str]:
    """Return how this program is run again: the script that ``argument`` (the first of all) names, or by Python's own path."""
    for path in (Path(argument), Path(python).with_name("research")):
        if path.name == "research" and path.is_file():
            return [_absolute(path)]
    return [_absolute(Path(python)), "-m", "pipeline"]


def _absolute(path: Path) -> str:
    """The last part stays as it is: a link to Python is what makes it that of a virtual environment."""
    return os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - it takes a link that leads to itself


def keys_out_of_reach(keys: Keys) -> list[str]:
    """Return the names of the keys that stand only in this shell's environment, where neither cron nor systemd looks."""
    return [name for name in keys.names() if name in keys.env or f"{name}_FILE" in keys.env]


def crontab_command(command: Sequence[str]) -> str:
    """Return a command as cron reads it: for ``/bin/sh``, and with every ``%`` escaped, which would end the line."""
    return shlex.join(command).replace("%", r"\%")


def systemd_command(command: Sequence[str]) -> str:
    """Return a command as systemd reads it: ``%`` and ``$`` doubled, and quoted where it must be."""
    return " ".join(_systemd_word(word) for word in command)


def _systemd_word(word: str) -> str:
    doubled = word.replace("%", "%%").replace("$", "$$")
    if _BARE.fullmatch(word):
        return doubled
    return '"' + doubled.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _service(command: Sequence[str], folder: Path) -> str:
    return (
        "[Unit]\n"
        f"Description=Night research in {str(folder).replace('%', '%%')}\n"
        "\n"
        "[Service]\n"
        "Type=oneshot\n"
        f"ExecStart={systemd_command(command)}\n"
        "# 3: stopped by a cap, and work remains for the next night. 5: the sources do not answer some question.\n"
        "SuccessExitStatus=3 5\n"
        "# After SIGTERM a run records what was under way (10 s) and writes the notes. Its helpers are for it to end.\n"
        "KillMode=mixed\n"
        "TimeoutStopSec=120\n"
        "Nice=10\n"
    )


def _timer(name: str, at: time) -> str:
    return (
        "[Unit]\n"
        f"Description=Every night: {name}\n"
        "\n"
        "[Timer]\n"
        f"OnCalendar=*-*-* {at:%H:%M:%S}\n"
        "# After a night that the machine slept through, run when it is up again.\n"
        "Persistent=true\n"
        "\n"
        "[Install]\n"
        "WantedBy=timers.target\n"
    )


def schedule_lines(schedule: Schedule, deadline: str, unseen: Sequence[str] = ()) -> list[str]:
    """Return what to paste where. ``deadline`` is the night's, as ``queries.yaml`` has it, "" for none.

    ``unseen`` names the keys that cron would not see.
    """
    ends = (
        f"# The night ends at {deadline}: limits: deadline in queries.yaml."
        if deadline
        else '# No deadline is set: limits: {deadline: "06:30"} in queries.yaml ends each night before the day begins.'
    )
    folder = "~/.config/systemd/user"
    warnings = [f"# {', '.join(unseen)}: set in this shell alone. Put into .env what the night needs.", ""] if unseen else []
    return [
        *warnings,
        "# cron: add this line with `crontab -e`. It is silent unless something fails; then cron mails what it says.",
        ends,
        schedule.crontab,
        "",
        f"# systemd, instead of cron: save these two in {folder}/, then",
        f"#   systemctl --user daemon-reload && systemctl --user enable --now {schedule.name}.timer",
        "#   loginctl enable-linger       # so that it runs while you are logged out",
        "",
        f"# {folder}/{schedule.name}.service",
        *schedule.service.splitlines(),
        "",
        f"# {folder}/{schedule.name}.timer",
        *schedule.timer.splitlines(),
    ]
