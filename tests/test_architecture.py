"""Which module may know which, read from the modules themselves."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pipeline"
# The rooms from the inside out: a room imports only rooms of rows above its own.
ROWS: tuple[set[str], ...] = (
    {"errors"},
    {"system"},
    {"text"},
    {"domain"},
    {"ports", "config"},
    {"documents"},
    {"net"},
    {"reasoners"},
    {"store", "research", "vault"},
    {"engine", "search", "site"},
    {"batch", "imports"},
    {"wiring"},
    {"ops"},
    {"cli"},
)
ROW = {room: number for number, rooms in enumerate(ROWS) for room in rooms}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


Nodes = dict[str, list[ast.AST]]  # by the module's name


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    """The nodes of the modules' syntax trees, for this module alone: a million would slow down each collection of garbage."""
    return {name_of(path): list(ast.walk(ast.parse(path.read_bytes()))) for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports(nodes: Nodes) -> dict[str, set[str]]:
    """The modules of ours that each imports anywhere in its text; ``from a import b`` is ``a.b`` if that is a module."""
    found: dict[str, set[str]] = {}
    for name, parts in nodes.items():
        known: set[str] = set()
        for node in parts:
            if isinstance(node, ast.Import):
                known |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{name} imports by dots"
                longer = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                known |= {whole if whole in nodes else node.module for whole in longer.values()}
        found[name] = known & nodes.keys() - {"pipeline"}
    return found


def part(name: str) -> str:
    return name.split(".")[1]


def mentions(parts: list[ast.AST]) -> set[str]:
    """The names and dotted names that a module's code uses."""
    return {ast.unparse(node) for node in parts if isinstance(node, ast.Name | ast.Attribute | ast.alias)}


def test_a_module_imports_only_rooms_further_inside(imports: dict[str, set[str]]) -> None:
    outer = imports.keys() - {"pipeline", "pipeline.__main__"}
    pairs = {(name, known) for name in outer for known in imports[name] if part(known) != part(name)}
    assert {(name, known) for name, known in pairs if ROW[part(known)] >= ROW[part(name)]} == set()


@pytest.mark.parametrize(
    ("room", "users"),
    [("store", {"wiring"}), ("reasoners.model", {"wiring"}), ("net", {"reasoners", "search", "ops", "wiring"})],
)
def test_what_is_behind_a_port_is_known_to_few(room: str, users: set[str], imports: dict[str, set[str]]) -> None:
    inside = f"pipeline.{room}"
    outer = [name for name in imports if not name.startswith(inside) and name not in {"pipeline", "pipeline.__main__"}]
    assert {part(name) for name in outer for known in imports[name] if known.startswith(inside)} <= users


def test_one_module_talks_to_the_network_and_one_listens_on_loopback(nodes: Nodes) -> None:
    network = {"httpx", "httpcore", "requests", "urllib3", "aiohttp", "http.server", "http.client", "urllib.request"}
    found = [(name, node) for name, parts in nodes.items() for node in parts if isinstance(node, ast.Import | ast.ImportFrom)]
    users = {name for name, node in found if network & {getattr(node, "module", ""), *(alias.name for alias in node.names)}}
    assert users == {"pipeline.net.transport", "pipeline.site.serve"}


def test_no_module_imports_itself_by_a_detour(imports: dict[str, set[str]]) -> None:
    assert set(TopologicalSorter(imports).static_order()) == imports.keys()


def test_only_the_settings_read_the_environment(nodes: Nodes) -> None:
    reading = {"os.environ", "os.environb", "os.getenv", "environ", "getenv"}
    assert {name for name, parts in nodes.items() if mentions(parts) & reading} == {"pipeline.config.workspace_settings"}


def test_only_the_command_line_prints_or_exits(nodes: Nodes) -> None:
    speaking = {"print", "input", "exit", "quit", "SystemExit", "sys.exit", "os._exit", "sys.stdout", "sys.stderr", "click"}
    by_themselves = {"pipeline.documents.extract"}
    beside = {"pipeline.ops.console_output"}
    found = {name for name, parts in nodes.items() if mentions(parts) & speaking}
    assert {name for name in found if part(name) != "cli"} == by_themselves | beside


# Whose ``open`` opens a file; ``Path.open`` is called on any value that is no class.
OPENING = {"os", "io", "gzip", "bz2", "lzma", "zipfile", "tarfile", "codecs", "wave", "Path"}
AT_THE_DOOR = {"read_text", "read_bytes", "write_text", "write_bytes"}
WRITING = {"tempfile.NamedTemporaryFile", "tempfile.mkstemp", "tempfile.TemporaryFile", "sqlite3.connect", "filecmp.cmp"}
WRITING |= {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move"}


def opens_a_file(node: ast.AST) -> bool:
    """Whether a part of a module's code opens, reads or writes a file by its path, or takes a function that does."""
    if isinstance(node, ast.ImportFrom) and node.module in OPENING | {place.partition(".")[0] for place in WRITING}:
        return any(alias.name == "open" or f"{node.module}.{alias.name}" in WRITING for alias in node.names)
    if isinstance(node, ast.Name):
        return node.id == "open" and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open":
        owner = ast.unparse(node.func.value)
        return owner in OPENING or not owner.rpartition(".")[2][:1].isupper()
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        return f"{owner}.{node.attr}" in WRITING or (node.attr in AT_THE_DOOR and owner != "files")
    return False


def opened_in(nodes: list[ast.AST]) -> list[str]:
    """The places of a module that open a file, without those of the null device and of what is in memory already."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    harmless = {call for call in calls if any(word.arg == "fileobj" for word in call.keywords)}
    harmless |= {call for call in calls if call.args and ast.unparse(call.args[0]) == "os.devnull"}
    return [ast.unparse(node) for node in nodes if opens_a_file(node) and node not in harmless]


def test_files_are_opened_and_sqlite_is_connected_in_one_module(nodes: Nodes) -> None:
    """Elsewhere a named pipe in a folder would hold up a night, and a cut off write would leave half a file."""
    found = {name: opened_in(parts) for name, parts in nodes.items()}
    assert {name: places for name, places in found.items() if places and name != "pipeline.system.files"} == {}


def test_no_text_is_measured_by_its_blanks(nodes: Nodes) -> None:
    """``len(text.split())`` is no count of words: Chinese, Japanese and Thai have no blanks; ``word_count`` is one."""
    counts = {
        name
        for name, parts in nodes.items()
        for node in parts
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1
        if isinstance(part := node.args[0], ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "split"
        if not part.args and not part.keywords
    }
    assert counts <= {"pipeline.text.words"}
