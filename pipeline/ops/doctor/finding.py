"""One thing that was looked at: how it stands, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["fine", "note", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``fine`` needs nothing, a ``note`` is worth knowing, a ``fault`` must be mended: ``todo`` says how.

    ``exit_code`` is what the fault makes the command end with.
    """

    about: str
    level: Level
    text: str
    todo: str = ""
    exit_code: int = 0


def fine(about: str, text: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(about, "fine", text)


def note(about: str, text: str, todo: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(about, "note", text, todo)


def fault(about: str, text: str, todo: str, exit_code: int = 2) -> Finding:
    """Return a finding that must be mended."""
    return Finding(about, "fault", text, todo, exit_code)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code of a whole examination: a damaged log first, then settings, the system, refusals, the rest."""
    codes = {finding.exit_code for finding in findings}
    return next((code for code in (20, 2, 12, 4, 1) if code in codes), 0)
