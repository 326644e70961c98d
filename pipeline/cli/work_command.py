"""The command ``work``: research the sessions of a distributed run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click

from pipeline.cli.command_parts import Length
from pipeline.cli.run_commands import finish_batch, moment
from pipeline.ops.console_output import Console, begin, end


@click.command()
@click.option("--until", metavar="TIME", help='End at this time: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.')
@click.option("--once", is_flag=True, help="End as soon as there is no session left that this worker can take.")
@click.option(
    "--sessions", type=click.IntRange(min=1), metavar="N", help="Work on N sessions at once; default: as many as a run."
)
@click.option(
    "--lease",
    type=Length(),
    default="30s",
    show_default=True,
    metavar="TIME",
    help="After so long without a sign of life, other workers take over this one's sessions.",
)
@click.option("--builds", is_flag=True, help="Also build vault and site here, when a night is over.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something fails.")
@click.option("-v", "--verbose", is_flag=True, help="Print more: each step as it ends.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON value on stdout, and nothing else.")
@click.option(
    "--ping-url-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Ping the monitor whose address is in FILE when the worker starts and ends.",
)
@click.pass_obj
def work(
    console: Console,
    until: str | None,
    once: bool,
    sessions: int | None,
    lease: timedelta,
    builds: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    ping_url_file: Path | None,
) -> None:
    """Research sessions of `research run --distribute`, on this or any other machine, until stopped. Needs PostgreSQL."""
    from pipeline.cli.machines import WorkRequest, work_on_jobs
    from pipeline.ops.unattended import unattended_run

    console = replace(
        console, quiet=console.quiet or quiet, verbose=console.verbose or verbose, as_json=console.as_json or as_json
    )
    begin(quiet=console.quiet, verbose=console.verbose)
    request = WorkRequest(moment(until), once, sessions, lease, finish_batch if builds else None)
    with unattended_run(console, "research work", ping_url_file) as run:
        end(work_on_jobs(run, request))
