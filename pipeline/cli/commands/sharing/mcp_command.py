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
    from pipeline.config.settings import keys_of, load_workspace
    from pipeline.errors import UsageError
    from pipeline.wiring import workspace_adapters
    from pipeline.wiring.talk_adapters import unrecorded_talks

    require_workspace(console.folder)
    try:
        import anyio

        from pipeline.ops.mcp_server import Library, serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        hint = "install it with the program: pip install 'night-research[mcp]'"
        raise UsageError("research mcp needs the package mcp, which is not installed", hint=hint) from None
    store = workspace_adapters.store_of(console.folder)
    kept = workspace_adapters.summaries_of(console.folder, writable=False)
    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    with tempfile.TemporaryDirectory(prefix="research-mcp-") as own:
        pages, talk = unrecorded_talks(workspace, keys, store, Path(own) / "pages.sqlite")
        anyio.run(serve, Library(console.folder, store, kept, pages, talk), sys.stdin.buffer, sys.stdout.buffer)
