"""The command ``mcp``: serve the workspace to other programs on standard input and output."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from pipeline.ops.console_output import Console


@click.command()
@click.pass_obj
def mcp(console: Console) -> None:
    """Serve reports, sources and quotes to other programs by the Model Context Protocol, on standard input and output."""
    from pipeline.cli.command_parts import require_workspace
    from pipeline.ops.mcp.stdio_server import serve
    from pipeline.ops.mcp.tools import Tools
    from pipeline.wiring import workspace_adapters
    from pipeline.wiring.talk_adapters import unrecorded_talks

    require_workspace(console.folder)
    store = workspace_adapters.store_of(console.folder)
    with tempfile.TemporaryDirectory(prefix="research-mcp-") as own:
        talks = unrecorded_talks(store, Path(own) / "pages.sqlite")
        serve(Tools(console.folder, store, talks), sys.stdin.buffer, sys.stdout.buffer)
