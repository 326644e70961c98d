"""The command ``mcp``. Each program that asks starts a server of its own and waits for it: what can be prepared is, meanwhile."""

from __future__ import annotations

import asyncio
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click

from pipeline.config.workspace_settings import load_workspace
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console
from pipeline.ops.mcp_tools import Library


@click.command()
@click.pass_obj
def mcp(console: Console) -> None:
    """Serve reports, sources and quotes to other programs by the Model Context Protocol, on standard input and output."""
    if find_spec("mcp_types") is None:  # it comes with the versions of the package mcp that can be used
        hint = "install it with the program: pip install 'night-research[mcp]'"
        raise UsageError("research mcp needs the package mcp, which is not installed", hint=hint)
    with tempfile.TemporaryDirectory(prefix="research-mcp-") as own:
        asyncio.run(_serve(console.folder, Path(own) / "pages.sqlite"))


async def _serve(folder: Path, index: Path) -> None:
    library = Library(load_workspace(folder), index)
    preparing = asyncio.create_task(library.prepare())
    server = await asyncio.to_thread(import_module, "pipeline.ops.mcp_server")
    await server.serve(library)
    preparing.cancel()
