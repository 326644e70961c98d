"""The command ``merge``: take over what another workspace has, and join what several machines continued."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import bring_up_to_date, join_branches, report_build_problems
from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from pipeline.domain.events.session_events import BranchMerged

_REFUSED = 20


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False, metavar="[DIR]")
@click.option(
    "--check", is_flag=True, help="Print what would be copied and joined and write nothing; exit code 1 if there is any."
)
@click.pass_obj
def merge(console: Console, directory: Path | None, check: bool) -> None:
    """Join sessions that two machines continued. With DIR, another workspace, copy first what this one lacks.

    Every file of DIR is verified before it is copied; one that cannot be is named and left out. Then vault and site are built.
    """
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.domain.events.records import KINDS
    from pipeline.ops.unattended import unattended_run
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    with unattended_run(console, "research merge") as run, run.lock(None):
        copied = workspace_adapters.copy_log(console.folder, directory, check=check) if directory else None
        branched = sorted(env.store.branched(env.store.marks(KINDS)))
        merged = {} if check else join_branches(console, env.store, branched)
        code = 1 if check and (branched or (copied and copied.segments)) else 0
        if not check:
            code = report_build_problems(console, bring_up_to_date(console, env.workspace))
        run.summary_line = f"{counted(len(merged), 'stream')} joined"
    refused = [str(finding) for finding in copied.refused] if copied else []
    for line in refused:
        console.say(f"refused: {line}", always=True, fg="red")
    console.data(_lines(copied, branched, check=check), _value(copied, branched, merged))
    end(_REFUSED if refused else code)


def _lines(copied: Any, branched: list[str], *, check: bool) -> list[str]:
    would = "to " if check else ""
    lines = []
    if copied and copied.segments:
        streams, objects = counted(len(copied.streams), "stream"), counted(len(copied.objects), "object")
        lines.append(f"{counted(len(copied.segments), 'segment')} of {streams} and {objects} {'to copy' if check else 'copied'}")
    lines += [f"{would}join{'' if check else 'ed'}: {name}" for name in branched]
    return lines or ["nothing to merge"]


def _value(copied: Any, branched: list[str], merged: dict[str, list[BranchMerged]]) -> dict[str, Any]:
    return {
        "segments": copied.segments if copied else [],
        "objects": copied.objects if copied else [],
        "refused": [str(finding) for finding in copied.refused] if copied else [],
        "branched": branched,
        "merges": {name: [event.model_dump(mode="json") for event in events] for name, events in merged.items()},
    }
