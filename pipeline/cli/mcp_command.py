"""The command ``mcp``. It imports little, because each program that asks starts a server of its own and waits for it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from pipeline.config.settings import load_workspace
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console


@click.command()
@click.pass_obj
def mcp(console: Console) -> None:
    """Serve reports, sources and quotes to other programs by the Model Context Protocol, on standard input and output."""
    workspace = load_workspace(console.folder)
    try:
        import anyio

        from pipeline.ops.mcp_server import Library, serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        hint = "install it with the program: pip install 'night-research[mcp]'"
        raise UsageError("research mcp needs the package mcp, which is not installed", hint=hint) from None
    with tempfile.TemporaryDirectory(prefix="research-mcp-") as own:
        anyio.run(serve, Library(workspace, Path(own) / "pages.sqlite"), sys.stdin.buffer, sys.stdout.buffer)
