"""Writes docs/commands.md from the help of the commands.

Run as ``python -m scripts.write_commands`` after a change of a command, an option or its help.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pipeline.cli.main import GROUPS, OLDER, cli
from pipeline.cli.run_commands import retry, run

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
BEGINNING = """\
# Commands

This page is made from the help of the commands: `research COMMAND --help` prints the same. A `SESSION` is named by its id, or by
the id of its question, which means the latest session (for `why` and `export` the latest one that has ended); an `ID` is the id
of a question. `research list` prints both. Results go to stdout, messages to stderr ([exit codes](every-night.md#exit-codes)).

Options before the command:

"""


def written() -> str:
    """Return the page: the groups of commands, then the older names."""
    lines = [BEGINNING + "\n".join(_options(cli))]
    for title, commands in GROUPS.items():
        lines.append(f"\n## {title}")
        for name in commands:
            if command := cli.get_command(click.Context(cli), name):
                lines += _command(f"research {name}", command)
    older = (f"**`research {name}`** (`{' '.join(now)}`)" for name, now in OLDER.items())
    lines += ["\n## Older names", "", f"Still understood: {', '.join(older)}."]
    return "\n".join(lines) + "\n"


def _command(path: str, command: click.Command) -> Iterator[str]:
    """Yield a command's usage, help and options; of a group, those of its subcommands."""
    with click.Context(command, info_name=path) as context:
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                yield from _command(f"{path} {name}", command.commands[name])
            return
        pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
        first, *rest = (command.help or "").replace("\b\n", "").split("\n\n")
        yield f"\n**`{' '.join([path, *pieces])}`** {_line(first)}"
        for paragraph in rest:
            yield f"\n{_line(paragraph)}"
        if options := list(_options(command)):
            yield ""
            yield from options


def _options(command: click.Command) -> Iterator[str]:
    """Yield a line for each option of a command. Those that ``retry`` shares with ``run`` are only named."""
    like_run = [option.name for option in run.params] if command is retry else []
    shared = []
    with click.Context(command) as context:
        for option in command.params:
            if not isinstance(option, click.Option) or option.hidden or not (found := option.get_help_record(context)):
                continue
            if option.name in like_run:
                shared.append(f"`{option.opts[-1]}`")
            else:
                yield f"- {', '.join(f'`{name}`' for name in found[0].split(', '))}: {_line(found[1])}"
    if shared:
        yield f"Of the options of `research run`, it has {', '.join(shared)}."


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(written())
