"""What this machine has of what these checks need: Chromium, Playwright's Python package, axe, and Node with two tools."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGES = ("playwright", "axe_playwright_python")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Quiet: nothing of the browser's own goes to the network, nothing needs a display or privileges.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str:
    """Return the path of a Chromium that is installed; skip the test where it or its driver is missing."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: pip install -e '.[browser]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    return found


def run_tool(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a Node tool of ``package.json``; skip the test where it is missing."""
    tool = HERE / "node_modules" / ".bin" / name
    if not shutil.which("node") or not tool.exists():
        pytest.skip(f"no {name} on this machine: npm install --no-package-lock --prefix tests/browser")
    home = cwd / "home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "FOAM_TELEMETRY": "0", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [str(tool), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
