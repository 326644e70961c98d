"""The commands by which machines share sessions: ``merge`` joins what several continued, ``handoff`` lets another go on."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.batch import session_lifecycle
from pipeline.cli.command_parts import bring_up_to_date, session_named
from pipeline.cli.night import join_branches
from pipeline.cli.run_environment import environment_of
from pipeline.domain.events.records import KINDS
from pipeline.domain.events.session_events import HandoffInitiated
from pipeline.errors import ExitCode, UsageError
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import unattended_run
from pipeline.text.cleaning import one_line
from pipeline.text.wording import counted
from pipeline.wiring.log_writers import context_of, copy_log


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
        copied = copy_log(console.folder, directory, check=check) if directory else None
        branched = sorted(env.store.branched(env.store.marks(KINDS)))
        merged = {} if check else join_branches(console, env.store, branched)
        code = 1 if check and (branched or (copied and copied.segments)) else 0
        if not check:
            code = bring_up_to_date(console, env.workspace)
        run.summary_line = f"{counted(len(merged), 'stream')} joined"
    refused = [str(finding) for finding in copied.refused] if copied else []
    for line in refused:
        console.say(f"refused: {line}", always=True, fg="red")
    lines = [f"{'to join' if check else 'joined'}: {name}" for name in branched]
    if copied and copied.segments:
        what = f"{counted(len(copied.segments), 'segment')} of {counted(len(copied.streams), 'stream')}"
        lines.insert(0, f"{what} and {counted(len(copied.objects), 'object')} {'to copy' if check else 'copied'}")
    value = {
        "segments": copied.segments if copied else [],
        "objects": copied.objects if copied else [],
        "refused": refused,
        "branched": branched,
        "merges": {name: [event.model_dump(mode="json") for event in events] for name, events in merged.items()},
    }
    console.data(lines or ["nothing to merge"], value)
    end(ExitCode.DAMAGED if refused else code)


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
    session_lifecycle.record_wish(env.store, found, context, HandoffInitiated(to=name, why=one_line(why, 500)))
    value = {"session": found, "to": name}
    console.data([f"{found} is handed over to {name}; share the workspace with it, and its next run goes on"], value)
    end(bring_up_to_date(console, env.workspace))
