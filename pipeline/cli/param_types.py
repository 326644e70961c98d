"""What may stand on the command line: lengths of time, and names of queries and sessions, which a shell can complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # not subscriptable before click 8.4

_LENGTH = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Length(_Type):
    """A length of time: a whole number and its unit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return ``30s``, ``90m``, ``12h`` or ``7d`` as a length of time."""
        if isinstance(value, timedelta):
            return value
        match = _LENGTH.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no length of time; write a number with its unit: 30s, 90m, 12h", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Amount(_Type):
    """A sum of money: a number from 0 on."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; ``nan`` compares with nothing, and ``inf`` is no cap."""
        amount = -1.0
        with suppress(ValueError):
            amount = float(value)
        if 0 <= amount < float("inf"):
            return amount
        return self.fail(f"{value!r} is no sum of money; write a number from 0 on: 0.50, 2", param, ctx)


class Flag(click.Option):
    """A switch whose variable counts when it holds anything at all, as ``NO_COLOR`` does."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return a yes for any value but an empty one."""
        return "1" if super().resolve_envvar_value(ctx) else None


class _Name(_Type):
    """A name that the shell completes from the workspace. Completing is silent: whatever is wrong, there is nothing to offer."""

    def __init__(self, *known: Callable[[Path], Iterable[str]]) -> None:
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click asks so
        """Return the names that begin like ``incomplete``."""
        from click.shell_completion import CompletionItem

        folder = Path(ctx.find_root().params.get("folder") or ".")
        names: list[str] = []
        for known in self._known:
            with suppress(Exception):
                names += known(folder)
        return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


class QueryId(_Name):
    """The id of a query."""

    name = "id"

    def __init__(self) -> None:
        super().__init__(_queries)


class SessionName(_Name):
    """A session's id, or the id of its query."""

    name = "session"

    def __init__(self) -> None:
        super().__init__(_queries, _sessions)


def _queries(folder: Path) -> list[str]:
    from pipeline.config.queries.document import read

    return [query.id for query in read(folder / "queries.yaml").queries]


def _sessions(folder: Path) -> list[str]:
    return sorted((path.name for path in (folder / "events" / "sessions").iterdir()), reverse=True)
