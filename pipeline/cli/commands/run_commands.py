"""The commands that work through the queue: ``run`` and ``retry``. Only commands print or exit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.cli.param_types import Amount, Length, QueryId
from pipeline.ops.console_output import Console, begin, end

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Also all queries with this tag; may be given several times."
    ),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Take up N queries at most."),
    click.option("--deadline", metavar="TIME", help='End by then: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.'),
    click.option("--max-cost", type=Amount(), metavar="USD", help="Spend no more than that tonight."),
    click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Begin nothing new after N failures."),
    click.option("--dry-run", is_flag=True, help="Say what would be done and what it may cost; write nothing, ask nobody."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something fails."),
    click.option("-v", "--verbose", is_flag=True, help="Say more: each step as it ends."),
    click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON value on stdout, and nothing else."),
    click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait for another run to end, so long at most: 30s, 10m."),
    click.option(
        "--ping-url-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Tell a monitor, whose address stands in FILE, of start and end.",
    ),
)


def _with_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@click.option("--retry-failed", is_flag=True, help="Try again what failed in an earlier night.")
@_with_options
@click.pass_obj
def run(console: Console, /, ids: tuple[str, ...], retry_failed: bool, **said: Any) -> None:
    """Research all queries that are due, or those with the IDs or tags given; then bring the vault up to date."""
    _night(console, "research run", ids, retry_failed=retry_failed, only_again=False, **said)


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@_with_options
@click.pass_obj
def retry(console: Console, /, ids: tuple[str, ...], **said: Any) -> None:
    """Try again what failed or was not found: all of it, or queries by ID, cancelled ones too. No answer is asked for twice."""
    everything = not ids and not said["tags"]
    _night(console, "research retry", ids, retry_failed=everything or bool(said["tags"]), only_again=True, **said)


def _night(
    console: Console,
    program: str,
    ids: tuple[str, ...],
    *,
    tags: tuple[str, ...],
    retry_failed: bool,
    only_again: bool,
    limit: int | None,
    deadline: str | None,
    max_cost: float | None,
    max_failures: int | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    lock_wait: timedelta | None,
    ping_url_file: Path | None,
) -> None:
    from pipeline.batch.run_overrides import RunOverrides
    from pipeline.batch.scheduling import Selection
    from pipeline.cli import run_workflow
    from pipeline.ops.unattended import on_shift

    console = replace(
        console, quiet=console.quiet or quiet, verbose=console.verbose or verbose, as_json=console.as_json or as_json
    )
    begin(quiet=console.quiet, verbose=console.verbose)
    bounds = RunOverrides(_moment(deadline), max_cost, max_failures)
    request = run_workflow.Request(
        Selection(ids, tags, retry_failed, limit, retry_failed and only_again), bounds, only_again, lock_wait
    )
    if dry_run:
        run_workflow.rehearse(console, request)
        return
    with on_shift(console, program, ping_url_file) as shift:
        end(run_workflow.work(shift, request))


def _moment(deadline: str | None) -> datetime | None:
    from datetime import UTC

    from pipeline.batch.run_overrides import deadline_of

    return None if deadline is None else deadline_of(deadline, datetime.now(UTC))
