"""Which module may know which, read from the modules themselves."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pipeline"
LEAVES = {"errors", "text", "values", "page", "secret", "dotenv", "keys", "ledger", "stopping"}
LEAVES |= {"clocktime", "folders", "fusion", "processes"}
ROOMS = {"http", "documents"}  # what several adapters need: the way out, and the reading of formats
RANKING = {"ranking"}  # how passages are cut, ranked and judged, for search and reasoner alike
ADAPTERS = {"store", "reasoners", "search", "web", "projection", "site"}
# From the inside out: a part knows only parts above it.
LAYERS: tuple[set[str], ...] = (
    LEAVES,
    ROOMS | RANKING,
    {"events", "questions", "plan", "steps", "starter", "queue", "watching", "ping", "schedule"},
    {"services", "night_events"},
    {"codec", "ports", "state", "settings", "reckoning"},
    {"fold", "following", "guards"},
    {"session", "evidence_gate"},
    {"agenda", "evidence", "changes"},
    {"overview"},
    {"edits"},
    {"research", "presenting", "deciding"},
    {"run"},
    {"acts", "night_log", "bounds"},
    {"batch"},
    {"wiring"},
    {"doors", "doctor"},
    {"console"},
    {"arguments", "completion", "logfile", "progress"},
    {"shift", "telling", "rehearsal", "evaluate"},
    {"nightly"},
    {"log_command", "night_commands", "session_commands", "building_commands", "evaluate_command"},
    {"cli"},
    {"__main__"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
WIRING = {"wiring", "doors"}  # settings into adapters
DOORS = LEAVES | {"ports", "questions", "events", "night_events", "codec"}
ALLOWED = {
    "store": DOORS,
    "reasoners": DOORS | ROOMS | RANKING,
    "search": DOORS | ROOMS | RANKING,
    "web": DOORS | ROOMS,
    "site": DOORS,
    "projection": DOORS | {"session", "state", "fold"},
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


TREES = {name_of(path): ast.parse(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))}
OUTER = sorted(name for name in TREES if name != "pipeline")


def imports(name: str) -> set[str]:
    """The modules of ours that a module imports anywhere in its text; ``from a import b`` is ``a.b`` if that is a module."""
    found: set[str] = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{name} imports by dots"
            longer = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {whole if whole in TREES else node.module for whole in longer.values()}
    return found & TREES.keys() - {"pipeline"}


def part(name: str) -> str:
    return name.split(".")[1]


def mentions(name: str) -> set[str]:
    """The names and dotted names that a module's code uses."""
    nodes = [node for node in ast.walk(TREES[name]) if isinstance(node, ast.Name | ast.Attribute | ast.alias)]
    return {ast.unparse(node) for node in nodes}


@pytest.mark.parametrize("name", OUTER)
def test_a_module_knows_only_what_lies_further_inside(name: str) -> None:
    foreign = {known for known in map(part, imports(name)) if known != part(name)}
    if part(name) in ADAPTERS:
        assert foreign <= ALLOWED[part(name)]
    elif part(name) not in WIRING:
        assert not foreign & ADAPTERS
        within_leaves = LEAVES if part(name) in LEAVES else set()
        assert all(LEVEL[known] < LEVEL[part(name)] for known in foreign - within_leaves)


def test_the_ranking_knows_pages_texts_and_values_and_nothing_else_of_ours() -> None:
    known = {part(other) for name in OUTER if part(name) == "ranking" for other in imports(name)}
    assert known - {"ranking"} <= {"page", "text", "values"}


def test_every_module_has_its_place() -> None:
    assert {part(name) for name in OUTER} <= LEVEL.keys() | ADAPTERS


def test_no_module_imports_itself_by_a_detour() -> None:
    order = TopologicalSorter({name: imports(name) for name in TREES}).static_order()
    assert set(order) == TREES.keys()


def test_only_the_settings_read_the_environment() -> None:
    reading = {"os.environ", "os.environb", "os.getenv", "environ", "getenv"}
    assert {name for name in TREES if mentions(name) & reading} == {"pipeline.config.settings"}


def test_only_the_command_line_prints_or_exits() -> None:
    speaking = {"print", "input", "exit", "quit", "SystemExit", "sys.exit", "os._exit", "sys.stdout", "sys.stderr", "click"}
    commands = {
        "arguments",
        "cli",
        "completion",
        "console",
        "log_command",
        "night_commands",
        "session_commands",
        "building_commands",
        "evaluate_command",
    }
    by_themselves = {"pipeline.adapters.web.extraction.extraction_process", "pipeline.system.worker_pool"}
    programs = {*(f"pipeline.{name}" for name in commands), *by_themselves}
    assert {name for name in TREES if mentions(name) & speaking} == programs
