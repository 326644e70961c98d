"""The command ``research``: its options, its subcommands, and ``main``. A command's module is imported once it is used."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

import click

from pipeline import __version__
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console, begin, flush_output, report_errors

# Events and states hold no circles; Python's frequent search for them takes a third of the time of reading a log.
COLLECTION = (50_000, 50, 100)
EXIT_CODES = """\b
Exit codes: 0 done, or nothing to do; 1 a query failed; 2 wrong usage, settings or queries.yaml;
3 stopped by a limit or an outage, work remains; 4 a provider refused the request; 5 the sources
did not answer a question; 10 no workspace here; 11 locked by another run; 12 disk full or
permission denied; 20 the log is damaged; 130, 143 interrupted."""
# The commands by group, each with its module and its line in the overview, which imports none; without a line it is hidden.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Every day": {
        "run": ("run_commands", "Research all due queries, or those named."),
        "add": ("setup_commands", "Append QUESTION to queries.yaml."),
        "list": ("reading_commands", "List the queries with their sessions and reports."),
        "ask": ("ask_command", "Answer QUESTION from stored pages and your documents."),
        "retry": ("run_commands", "Retry failed and not-found queries."),
        "resume": ("run_commands", "Continue SESSION where it stopped."),
    },
    "Reading": {
        "serve": ("build_commands", "Serve the site on this machine."),
        "show": ("reading_commands", "Show SESSION: its status, steps, progress and cost."),
        "log": ("log_and_verify_commands", "Print the events of SESSION."),
        "why": ("reading_commands", "Show what a sentence of a report rests on."),
        "digest": ("reading_commands", "Print what a night found."),
        "export": ("import_export_commands", "Write the report of SESSION, or its sources, to one file."),
    },
    "Upkeep": {
        "init": ("setup_commands", "Create a workspace with samples and templates."),
        "doctor": ("setup_commands", "Check settings, keys, documents and log."),
        "build": ("build_commands", "Build the vault from the events and templates, and the site."),
        "watch": ("build_commands", "Build vault and site at each change."),
        "verify": ("log_and_verify_commands", "Check the whole log, and every quote in it."),
        "approve": ("cancel_and_approve", "Approve the plan of SESSION."),
        "cancel": ("cancel_and_approve", "End SESSION without a report."),
        "hide": ("build_commands", "Hide a note of the vault, or show it again."),
        "forget": ("forget_commands", "Remove SESSION or an import for good, or what is old."),
        "templates": ("setup_commands", "Bring the templates up to date with the program."),
        "consolidate": ("forget_commands", ""),
    },
    "Several machines and other programs": {
        "merge": ("multi_machine_commands", "Join sessions that two machines continued."),
        "handoff": ("multi_machine_commands", "Hand SESSION over to another machine."),
        "import": ("import_export_commands", "Import the sessions of another program."),
        "store": ("multi_machine_commands", "Keep the event log in a PostgreSQL database."),
        "work": ("multi_machine_commands", "Research sessions of a distributed run."),
        "mcp": ("mcp_command", "Serve reports and quotes to other programs."),
    },
}
COMMANDS = {name: found for group in GROUPS.values() for name, found in group.items()}
# Commands of earlier versions, and how they are called now.
OLDER = {
    "unhide": ("hide", "--undo"),
    "references": ("export", "--format", "csl-json"),
    "prune": ("forget", "--by-settings"),
}
_HOW_MUCH = ("-q", "--quiet", "-v", "--verbose", "--json")


class _Commands(click.Group):
    """The group whose commands are imported when they are asked for. How much is printed may also be said behind the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        said = [one for one in args[:end] if one in _HOW_MUCH]
        return super().parse_args(ctx, [*said, *(one for one in args[:end] if one not in _HOW_MUCH), *args[end:]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:  # what click returns
        now = OLDER.get(args[0], args[:1])
        if any(one.startswith("--older-than") or one.endswith(".bib") for one in args[1:]):
            now = now[:1]  # the age, or the suffix of the file, says the rest
        return super().resolve_command(ctx, [*now, *args[1:]])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click asks so
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pipeline.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_" if cmd_name in ("import", "list") else cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_module, line) in commands.items() if line])


class _Flag(click.Option):
    """A switch that any non-empty value of its environment variable turns on, as ``NO_COLOR`` wants it."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return "1" if super().resolve_envvar_value(ctx) else None


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("-C", "folder", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="The workspace.  [default: .]")
@click.option("-q", "--quiet", is_flag=True, help="Print only a command's result, and what failed or was left undone.")
@click.option("-v", "--verbose", is_flag=True, help="Print more: each step as it ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value on stdout and nothing else; errors too are JSON.")
@click.option(
    "--no-color", cls=_Flag, is_flag=True, envvar="NO_COLOR", help="Print without colours; setting NO_COLOR does the same."
)
@click.version_option(__version__, prog_name="research")
@click.pass_context
def cli(ctx: click.Context, folder: Path, quiet: bool, verbose: bool, as_json: bool, no_color: bool) -> None:
    """Research the questions in queries.yaml; keep every answer in an event log; write the notes of an Obsidian vault.

    A SESSION is named by its id, or by the id of its question, which means the latest session; an ID is the id of a question.
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    refuse_unprintable(folder)
    ctx.obj = Console(folder, quiet, verbose, as_json, color=terminal and not no_color, terminal=terminal)
    begin(quiet=quiet, verbose=verbose)


def refuse_unprintable(folder: Path) -> None:
    """Check that a workspace's path is UTF-8: otherwise neither the index nor a web page could name a file in it.

    Raises:
        UsageError: the path is not UTF-8.
    """
    path = os.fsencode(folder.absolute())
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        shown = path.decode("utf-8", "backslashreplace")
        raise UsageError(f"the path {shown} is not UTF-8", hint="rename the folder, or use another one") from None


def main() -> None:
    """Run the command line: the entry point of the console command ``research``."""
    if sys.getfilesystemencoding().lower() != "utf-8":  # an ASCII locale, in which no file could have the name of a note
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - this very command
    gc.set_threshold(*COLLECTION)
    try:
        with report_errors():
            cli(prog_name="research", standalone_mode=False)
    finally:
        flush_output()
