"""The ``.env`` file: ``NAME=value`` lines, read without interpolation and without touching the environment.

``export`` in front is allowed. Single quotes keep the text unchanged; double quotes allow the escapes ``\\n``, ``\\t``,
``\\"`` and ``\\\\``; a value without quotes ends at white space followed by ``#``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"\s*(?:export\s+)?([^=\s]+)\s*=\s*(.*?)\s*\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?\Z""")
_ESCAPES = {"n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that cannot be read; ``line`` counts from 1. The text never shows the value."""

    line: int
    message: str


def parse(text: str) -> tuple[dict[str, str], tuple[LineFault, ...]]:
    """Return the values by name, and the faults; a faulty line sets nothing."""
    values: dict[str, str] = {}
    faults: list[LineFault] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            name, value = _entry(line)
            if name in values:
                raise ValueError(f"{name} is set twice")
            values[name] = value
        except ValueError as error:
            faults.append(LineFault(number, str(error)))
    return values, tuple(faults)


def _entry(line: str) -> tuple[str, str]:
    found = _LINE.match(line)
    if found is None:
        raise ValueError("no NAME=value")
    if not _NAME.fullmatch(found[1]):
        raise ValueError("the text before = is not a valid name")
    return found[1], _value(found[2], found[1])


def _value(raw: str, name: str) -> str:
    if raw[:1] not in ("'", '"'):
        return "" if raw.startswith("#") else re.split(r"\s+#", raw, maxsplit=1)[0]
    quoted = _QUOTED.match(raw)
    if quoted is None:
        raise ValueError(f"the quotation marks around the value of {name} do not match")
    if quoted[1] is not None:
        return quoted[1]
    return re.sub(r"\\(.)", lambda mark: _ESCAPES.get(mark[1], mark[1]), quoted[2])
