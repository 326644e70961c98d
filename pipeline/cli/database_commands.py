"""The commands of several machines on one database: ``store init``, ``store copy`` and ``work``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from pipeline.cli.command_parts import length
from pipeline.cli.run_commands import moment
from pipeline.config.keys import shown_store
from pipeline.errors import ExitCode
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import unattended_run
from pipeline.text.wording import counted
from pipeline.wiring.store_adapters import require_psycopg, require_queue

LONGEST_LEASE = timedelta(minutes=5)  # a night that is over waits for so long for a session without a sign of life


@click.group()
def store() -> None:
    """Keep the event log in a PostgreSQL database, for several machines."""


@store.command("init")
@click.argument("address", required=False, default="", metavar="[ADDRESS]")
@click.option("--print-roles", is_flag=True, help="Only print SQL that makes a role for research and one for maintenance.")
@click.pass_obj
def init_store(console: Console, address: str, print_roles: bool) -> None:
    """Create or upgrade the tables in the database of the setting `store`, or at ADDRESS (postgresql://ROLE@HOST/DATABASE)."""
    require_psycopg()
    from pipeline.wiring import postgres_adapters

    if print_roles:
        sql = postgres_adapters.roles()
        console.data(sql.splitlines(), {"sql": sql})
        return
    name, done = postgres_adapters.init_store(console.folder, address)
    console.data([f"{name}: {', '.join(done) if done else 'nothing to do'}"], {"store": name, "done": done})


@store.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--check", is_flag=True, help="Only print what would be copied; exit code 1 if there is any.")
@click.pass_obj
def copy_store(console: Console, source: str, target: str, check: bool) -> None:
    """Copy the whole log FROM one store TO another: each the folder of a workspace or the address of a database.

    Every record is verified first. What is there already is not copied again.
    """
    require_psycopg()
    from pipeline.wiring import postgres_adapters

    report = postgres_adapters.copy_store(console.folder, source, target, check=check)
    for finding in report.refused:
        console.say(f"refused: {finding}", always=True, fg="red")
    names = [shown_store(name) if "://" in name else name for name in (source, target)]
    console.data(_lines(report, *names, check=check), asdict(report) | {"refused": [str(finding) for finding in report.refused]})
    end(ExitCode.DAMAGED if report.refused else 1 if check and (report.streams or report.objects) else 0)


def _lines(report: Any, source: str, target: str, *, check: bool) -> list[str]:
    copied = "to copy" if check else "copied"
    lines = []
    if report.streams or report.objects:
        what = [counted(len(x), name) for x, name in ((report.segments, "segment"), (report.streams, "stream"))]
        lines.append(f"{' of '.join(what)} and {counted(len(report.objects), 'object')} {copied} from {source} to {target}")
    else:
        lines.append(f"nothing to copy from {source} to {target}")
    left = (
        (report.same, "stream", "already there"),
        (report.ahead, "stream", f"left as it is: {target} has more of it"),
        (report.gone, "session", "left out: it is pruned or forgotten"),
        (report.torn, "end", "left out that a crash cut; nothing of it was ever acknowledged"),
    )
    return lines + [f"{counted(number, what)} {why}" for number, what, why in left if number]


@click.command()
@click.option("--until", metavar="TIME", help='End at this time: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.')
@click.option(
    "--sessions", type=click.IntRange(min=1), metavar="N", help="Work on N sessions at once.  [default: as many as a run]"
)
@click.option(
    "--lease",
    type=length,
    default="30s",
    show_default=True,
    metavar="TIME",
    help="After so long without a sign of life, 5m at most, others take over its sessions.",
)
@click.option("--builds", is_flag=True, help="Also build vault and site here, when a night is over.")
@click.option(
    "--schedule",
    metavar="CRON",
    default="",
    help='Begin the night at these times, in UTC: "15 2 * * *". One of all workers with the same times does it.',
)
@click.option("--dashboard", is_flag=True, help="Only show the queue of jobs, on its engine's own page.")
@click.pass_obj
def work(
    console: Console, until: str | None, sessions: int | None, lease: timedelta, builds: bool, schedule: str, dashboard: bool
) -> None:
    """Research sessions of `research run --distribute`, on this or any other machine, until stopped. Needs PostgreSQL."""
    if lease > LONGEST_LEASE:
        raise click.BadParameter("it is 5m at most", param_hint="--lease")
    require_queue(console.folder)
    from pipeline.cli.night import finish_batch
    from pipeline.cli.shared_night import work_on_jobs
    from pipeline.wiring.postgres_adapters import show_dashboard

    if dashboard:
        end(show_dashboard(console.folder))
    finish = finish_batch if builds else None
    with unattended_run(console, "research work") as run:
        end(work_on_jobs(run, moment(until), sessions=sessions, lease=lease, finish=finish, schedule=schedule))
