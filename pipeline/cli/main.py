"""The command ``research``: its options, its subcommands, and ``main``. Each command imports heavy modules itself."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import click

from pipeline import __version__
from pipeline.cli.command_parts import refuse_unprintable
from pipeline.cli.commands.answers.ask_command import ask
from pipeline.cli.commands.answers.why_commands import graph, why
from pipeline.cli.commands.build_commands import build, serve, watch
from pipeline.cli.commands.completion import completion
from pipeline.cli.commands.forget_command import forget, prune
from pipeline.cli.commands.hide_commands import hide, unhide
from pipeline.cli.commands.import_command import import_
from pipeline.cli.commands.log_command import log, verify
from pipeline.cli.commands.machines.handoff_command import handoff
from pipeline.cli.commands.machines.merge_command import merge
from pipeline.cli.commands.machines.store_commands import store
from pipeline.cli.commands.machines.work_command import work
from pipeline.cli.commands.memory_commands import consolidate
from pipeline.cli.commands.resume_cancel_approve import approve, cancel, resume
from pipeline.cli.commands.run_commands import retry, run
from pipeline.cli.commands.sharing.digest_command import digest
from pipeline.cli.commands.sharing.export_commands import export, references
from pipeline.cli.commands.sharing.mcp_command import mcp
from pipeline.cli.commands.template_commands import templates
from pipeline.cli.commands.workspace_commands import add, doctor, init, list_, show
from pipeline.cli.param_types import Flag
from pipeline.ops.console_output import Console, begin, flush_output, report_errors

# Events and states hold no circles; Python's frequent search for them takes a third of the time of reading a log.
COLLECTION = (50_000, 20, 100)
EXIT_CODES = """\b
Exit codes: 0 done, or nothing to do; 1 a query failed; 2 wrong usage, settings or queries.yaml;
3 stopped by a limit or an outage, work remains; 4 a provider refused the request; 5 the sources
did not answer a question; 10 no workspace here; 11 locked by another run; 12 disk full or
permission denied; 20 the log is damaged; 130, 143 interrupted."""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("-C", "folder", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="The workspace.  [default: .]")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something fails.")
@click.option("-v", "--verbose", is_flag=True, help="Print more: each step as it ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value on stdout and nothing else; errors too are JSON.")
@click.option(
    "--no-color", cls=Flag, is_flag=True, envvar="NO_COLOR", help="Print without colours; setting NO_COLOR does the same."
)
@click.version_option(__version__, prog_name="research")
@click.pass_context
def cli(ctx: click.Context, folder: Path, quiet: bool, verbose: bool, as_json: bool, no_color: bool) -> None:
    """Research the questions in queries.yaml; keep every answer in an event log; write the notes of an Obsidian vault."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    refuse_unprintable(folder)
    ctx.obj = Console(folder, quiet, verbose, as_json, color=terminal and not no_color, terminal=terminal)
    begin(quiet=quiet, verbose=verbose)


COMMANDS = (
    add,
    approve,
    ask,
    build,
    cancel,
    completion,
    consolidate,
    digest,
    doctor,
    export,
    forget,
    graph,
    handoff,
    hide,
    import_,
    init,
    list_,
    log,
    mcp,
    merge,
    prune,
    references,
    resume,
    retry,
    run,
    serve,
    show,
    store,
    templates,
    unhide,
    verify,
    watch,
    work,
    why,
)
for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line: the entry point of the console command ``research``."""
    gc.set_threshold(*COLLECTION)
    try:
        with report_errors():
            cli(prog_name="research", standalone_mode=False)
    finally:
        flush_output()
