"""Command-line options that override ``queries.yaml`` for one run: queries, deadline and cost. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches

from pipeline.batch.scheduling import Selection
from pipeline.config.settings import Workspace
from pipeline.config.values import Limits, Queue
from pipeline.errors import UsageError
from pipeline.text.times import moment_after


@dataclass(frozen=True, slots=True)
class RunOverrides:
    """Caps that replace the file's; None keeps the file's. ``until`` is the time at which the run ends."""

    until: datetime | None = None
    cost_usd: float | None = None
    max_failures: int | None = None

    def on(self, workspace: Workspace) -> Workspace:
        """Return the workspace with these caps."""
        limits = workspace.queue.settings.limits
        limits = replace(
            limits,
            cost_usd=limits.cost_usd if self.cost_usd is None else self.cost_usd,
            max_failures=limits.max_failures if self.max_failures is None else self.max_failures,
        )
        return replace(workspace, queue=_with_limits(workspace.queue, limits))


def _with_limits(queue: Queue, limits: Limits) -> Queue:
    return replace(queue, settings=replace(queue.settings, limits=limits))


def deadline_of(text: str, now: datetime) -> datetime:
    """Return the moment that ``--deadline`` names.

    Raises:
        UsageError: the text is not a time, or the time has passed.
    """
    moment = moment_after(text.strip(), now)
    hint = 'write a time of day, 06:30 or "06:30 Europe/Berlin", or a date with a time, 2026-11-22T06:30'
    if moment is None:
        raise UsageError(f"--deadline: {text!r} is not a time", hint=hint)
    if moment <= now:
        raise UsageError(f"--deadline: {text} has passed", hint=hint)
    return moment


def refuse_unknown(queue: Queue, selection: Selection) -> None:
    """Check that the queue has the ids and tags that are asked for.

    Raises:
        UsageError: an id or tag is unknown; the hint suggests a similar one.
    """
    tags = {part for query in queue.queries for tag in query.tags for part in _with_parents(tag.casefold())}
    for names, known, what in (
        (selection.ids, [query.id for query in queue.queries], "query with the id"),
        ([tag.casefold() for tag in selection.tags], sorted(tags), "query with the tag"),
    ):
        for name in names:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else "research list shows all queries"
                raise UsageError(f"queries.yaml has no {what} {name!r}", hint=hint)


def _with_parents(tag: str) -> list[str]:
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
