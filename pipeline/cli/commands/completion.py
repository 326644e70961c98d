"""The command ``completion``: prints the shell script that completes commands, options, query ids and session ids."""

from __future__ import annotations

import click

from pipeline.ops.console_output import Console

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def completion(console: Console, shell: str) -> None:
    """Print the completion script for SHELL. Put eval "$(research completion bash)" into its start-up file."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the three shells above are built into click
    script = found(click.get_current_context().find_root().command, {}, "research", "_RESEARCH_COMPLETE")
    source = script.source_template % script.source_vars()
    console.data([source.strip()], {"shell": shell, "script": source})
