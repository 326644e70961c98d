"""Types of command-line values: durations, sums of money, moments, and query and session names with shell completion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.text.times import since

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # not subscriptable before click 8.4

_LENGTH = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Length(_Type):
    """A duration: a whole number and its unit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return ``30s``, ``90m``, ``12h`` or ``7d`` as a duration."""
        if isinstance(value, timedelta):
            return value
        match = _LENGTH.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a duration; write a number with its unit: 30s, 90m, 12h", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Amount(_Type):
    """A sum of money: a number, 0 or more."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. ``nan`` and ``inf`` are refused: neither can be a cap."""
        amount = -1.0
        with suppress(ValueError):
            amount = float(value)
        if 0 <= amount < float("inf"):
            return amount
        return self.fail(f"{value!r} is not a sum of money; write a number, 0 or more: 0.50, 2", param, ctx)


class Since(Length):
    """A moment in the past: a duration before now, a date, or a date with a time."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # type: ignore[override]
        """Return ``7d`` ago, ``2026-11-21`` or ``2026-11-21T06:30`` as a moment; without a zone it is local time."""
        moment = since(str(value), datetime.now(UTC))
        if moment is None:
            self.fail(f"{value!r} is not a moment; write 7d (ago), 2026-11-21 or 2026-11-21T06:30", param, ctx)
        return moment


class Flag(click.Option):
    """A switch that any non-empty value of its environment variable turns on, as ``NO_COLOR`` wants it."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return "1" for any non-empty value, else None."""
        return "1" if super().resolve_envvar_value(ctx) else None


class _Name(_Type):
    """A name that the shell completes from the workspace. Errors while completing are ignored: then there are no suggestions."""

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
    from pipeline.config.queue_file import read

    return [query.id for query in read(folder / "queries.yaml").queries]


def _sessions(folder: Path) -> list[str]:
    from pipeline.config.settings import store_address

    if store_address(folder):
        from pipeline.wiring.store_adapters import store_of

        return sorted(store_of(folder).session_ids(), reverse=True)
    return sorted((path.name for path in (folder / "events" / "sessions").iterdir()), reverse=True)
