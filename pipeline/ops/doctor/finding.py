"""The result of one check of ``research doctor``, and the exit code of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``ok`` needs no action, a ``note`` is worth knowing, a ``problem`` must be fixed: ``todo`` says how.

    ``exit_code`` is the command's exit code for a problem.
    """

    about: str
    level: Level
    text: str
    todo: str = ""
    exit_code: int = 0


def ok(about: str, text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(about, "ok", text)


def note(about: str, text: str, todo: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(about, "note", text, todo)


def problem(about: str, text: str, todo: str, exit_code: int = 2) -> Finding:
    """Return a finding that must be fixed."""
    return Finding(about, "problem", text, todo, exit_code)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code of all findings: 20 (damaged log) first, then 2 (settings), 12 (system), 4 (refusal), 1."""
    codes = {finding.exit_code for finding in findings}
    return next((code for code in (20, 2, 12, 4, 1) if code in codes), 0)
