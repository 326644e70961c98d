"""The commands that work through the queue: ``run`` and ``retry``."""

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
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Research at most N queries."),
    click.option("--deadline", metavar="TIME", help='End the run at this time: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.'),
    click.option("--max-cost", type=Amount(), metavar="USD", help="This run may spend so much, whatever the night has spent."),
    click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Start no further query after N failures."),
    click.option(
        "--distribute", is_flag=True, help="Let workers research the queries (research work, on any machine); needs PostgreSQL."
    ),
    click.option(
        "--worker-wait",
        type=Length(),
        default="10m",
        show_default=True,
        metavar="TIME",
        help="With --distribute: end the run if no worker can take what is left for this long.",
    ),
    click.option(
        "--dry-run", is_flag=True, help="Print what the run would do and what it may cost; write nothing, contact no service."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something fails."),
    click.option("-v", "--verbose", is_flag=True, help="Print more: each step as it ends."),
    click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON value on stdout, and nothing else."),
    click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m."),
    click.option(
        "--ping-url-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Ping the monitor whose address is in FILE when the run starts and ends.",
    ),
)


def _with_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@click.option("--retry-failed", is_flag=True, help="Also retry queries that failed in an earlier run.")
@click.option("--again", is_flag=True, help="Also research queries that are done, with the given IDs or tags, due or not.")
@_with_options
@click.pass_obj
def run(console: Console, /, ids: tuple[str, ...], retry_failed: bool, again: bool, **options: Any) -> None:
    """Research all due queries, or those with the given IDs or tags; then update the vault and the web site."""
    if again and not ids and not options["tags"]:
        raise click.UsageError("--again researches and pays for what is done already: name the queries, or give a --tag")
    _run_queue(console, "research run", ids, retry_failed=retry_failed, again=again, only_retries=False, **options)


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@_with_options
@click.pass_obj
def retry(console: Console, /, ids: tuple[str, ...], **options: Any) -> None:
    """Retry all failed and not-found queries, or those with the given IDs, also cancelled ones. No call is paid for twice."""
    everything = not ids and not options["tags"]
    _run_queue(console, "research retry", ids, retry_failed=everything or bool(options["tags"]), only_retries=True, **options)


def _run_queue(
    console: Console,
    program: str,
    ids: tuple[str, ...],
    *,
    tags: tuple[str, ...],
    retry_failed: bool,
    only_retries: bool,
    limit: int | None,
    deadline: str | None,
    max_cost: float | None,
    max_failures: int | None,
    distribute: bool,
    worker_wait: timedelta,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    lock_wait: timedelta | None,
    ping_url_file: Path | None,
    again: bool = False,
) -> None:
    from pipeline.batch.run_overrides import RunOverrides
    from pipeline.batch.scheduling import Selection
    from pipeline.cli import run_environment, run_workflow
    from pipeline.ops.unattended import unattended_run

    console = replace(
        console, quiet=console.quiet or quiet, verbose=console.verbose or verbose, as_json=console.as_json or as_json
    )
    begin(quiet=console.quiet, verbose=console.verbose)
    bounds = RunOverrides(moment(deadline), max_cost, max_failures)
    request = run_environment.Request(
        Selection(ids, tags, retry_failed, limit, retry_failed and only_retries, again),
        bounds,
        only_retries,
        lock_wait,
        worker_wait if distribute else None,
    )
    if dry_run:
        run_workflow.print_dry_run(console, request)
        return
    with unattended_run(console, program, ping_url_file) as run:
        end(run_workflow.work(run, request))


def moment(deadline: str | None) -> datetime | None:
    """Return the next moment that an option such as ``06:30`` means; None without one.

    Raises:
        UsageError: it is no time.
    """
    from datetime import UTC

    from pipeline.batch.run_overrides import deadline_of

    return None if deadline is None else deadline_of(deadline, datetime.now(UTC))
