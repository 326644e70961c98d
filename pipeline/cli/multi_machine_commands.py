"""The commands of several machines: ``merge`` and ``handoff`` for logs in files, ``store`` and ``work`` for one database."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from pipeline.batch import session_lifecycle
from pipeline.cli.arguments_and_builds import bring_up_to_date, length, session_named
from pipeline.cli.run_batch import join_branches
from pipeline.cli.run_commands import moment
from pipeline.cli.run_inputs import environment_of
from pipeline.config.keys import shown_store
from pipeline.domain.events.session_events import HandoffInitiated
from pipeline.domain.events.stream_records import KINDS
from pipeline.errors import CommandRefused, ExitCode, UsageError
from pipeline.ops import forgetting
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import unattended_run
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted
from pipeline.wiring import store_adapters
from pipeline.wiring.run_context_and_note_ratings import context_of
from pipeline.wiring.store_adapters import require_psycopg, require_queue

LONGEST_LEASE = timedelta(minutes=5)  # a night that is over waits for so long for a session without a sign of life


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False, metavar="[DIR]")
@click.option("--check", is_flag=True, help="Only print what would be copied and joined; exit code 1 if there is any.")
@click.pass_obj
def merge(console: Console, directory: Path | None, check: bool) -> None:
    """Join sessions that two machines continued. With DIR, another workspace, copy first what this one lacks.

    Every file of DIR is verified first; one that is not sound is named and left out. Then vault and site are built.
    """
    env = environment_of(console)
    with unattended_run(console, "research merge") as run, run.lock(None):
        copied = store_adapters.copy_log(console.folder, directory, check=check)
        branched = sorted(env.store.branched(env.store.marks(KINDS)))
        merged = {} if check else join_branches(console, env.store, branched)
        code = 1 if check and (branched or copied.segments) else 0
        if not check:
            try:  # of what git could not merge, this machine's version is left
                forgetting.finish(env.store, context_of(env.workspace))
            finally:  # what was joined has its notes also if a damaged stream is in the way
                code = bring_up_to_date(console, env.workspace)
        run.summary_line = f"{counted(len(merged), 'stream')} joined"
    refused = _say_refused(console, copied)
    lines = [_copied(copied, check=check)] if copied.segments else []
    lines += [f"{'to join' if check else 'joined'}: {name}" for name in branched]
    value = {
        "segments": copied.segments,
        "objects": copied.objects,
        "refused": refused,
        "branched": branched,
        "merges": {name: [event.model_dump(mode="json") for event in events] for name, events in merged.items()},
    }
    console.data(lines or ["nothing to merge"], value)
    end(ExitCode.DAMAGED if refused else code)


def _copied(report: Any, *, check: bool) -> str:
    """Return in words what was copied, or is to be."""
    segments, streams = counted(len(report.segments), "segment"), counted(len(report.streams), "stream")
    return f"{segments} of {streams} and {counted(len(report.objects), 'object')} {'to copy' if check else 'copied'}"


def _say_refused(console: Console, report: Any) -> list[str]:
    """Print what was not copied, as it is not sound, and why; return these lines."""
    refused = [str(finding) for finding in report.refused]
    for line in refused:
        console.say(f"refused: {line}", always=True, fg="red")
    return refused


@click.command()
@click.argument("session")
@click.option("--to", "machine", required=True, metavar="NAME", help="The machine that goes on with it.")
@click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")
@click.pass_obj
def handoff(console: Console, session: str, machine: str, why: str) -> None:
    """Hand SESSION over: only runs of the machine NAME go on with it. This machine's name takes it back."""
    name = one_line(machine, 100)
    if not name:
        raise UsageError("--to names no machine", hint="write its RESEARCH_MACHINE, or its host name")
    env = environment_of(console)
    context = context_of(env.workspace)
    found = session_named(console.folder, env.store, session)
    try:
        session_lifecycle.record_wish(env.store, found, context, HandoffInitiated(to=name, why=one_line(why, 500)))
    except CommandRefused as error:
        console.data([f"{error.message}: nothing is handed over"], {"session": found, "to": ""})
        return
    value = {"session": found, "to": name}
    console.data([f"{found} is handed over to {name}; share the workspace with it, and its next run goes on"], value)
    end(bring_up_to_date(console, env.workspace))


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
    report = store_adapters.copy_store(console.folder, source, target, check=check)
    begin, to = (shown_store(name) if "://" in name else name for name in (source, target))
    refused, has_copied = _say_refused(console, report), bool(report.streams or report.objects)
    lines = [f"{_copied(report, check=check) if has_copied else 'nothing to copy'} from {begin} to {to}"]
    left = (
        (report.same, "stream", "already there"),
        (report.ahead, "stream", f"left as it is: {to} has more of it"),
        (report.gone, "session", "left out: it is pruned or forgotten"),
        (report.torn, "end", "left out that a crash cut; nothing of it was ever acknowledged"),
    )
    lines += [f"{counted(number, what)} {why}" for number, what, why in left if number]
    console.data(lines, asdict(report) | {"refused": refused})
    end(ExitCode.DAMAGED if refused else 1 if check and has_copied else 0)


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
    from pipeline.cli.distributed_night import work_on_jobs
    from pipeline.wiring.postgres_adapters import show_dashboard

    if dashboard:
        end(show_dashboard(console.folder))
    with unattended_run(console, "research work") as run:
        end(work_on_jobs(run, moment(until), sessions=sessions, lease=lease, builds=builds, schedule=schedule))
