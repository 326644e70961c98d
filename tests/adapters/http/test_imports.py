from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3] / "pipeline"
NETWORK = {"httpx", "httpcore", "requests", "urllib3", "aiohttp", "http"}


def imported(path: Path) -> set[str]:
    """Return the first part of every module that a file imports, ``urllib.request`` whole."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name if name == "urllib.request" else name.partition(".")[0] for name in names}


def test_two_files_talk_to_the_network_and_one_listens_on_loopback() -> None:
    users = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if imported(path) & (NETWORK | {"urllib.request"})}
    assert users == {"adapters/http/connection.py", "adapters/http/transport.py", "site/serve.py"}


def test_the_rooms_below_the_adapters_import_no_adapter() -> None:
    adapters = (
        "pipeline.search",
        "pipeline.adapters.web",
        "pipeline.adapters.store",
        "pipeline.adapters.reasoners",
        "pipeline.vault",
    )
    for room in ("http", "documents"):
        for path in (ROOT / room).rglob("*.py"):
            assert not any(f"from {adapter}" in path.read_text("utf-8") for adapter in adapters), path


def test_reading_the_web_imports_no_other_adapter() -> None:
    others = ("pipeline.search", "pipeline.adapters.store", "pipeline.adapters.reasoners", "pipeline.vault")
    for path in (ROOT / "web").rglob("*.py"):
        assert not any(f"from {other}" in path.read_text("utf-8") for other in others), path
