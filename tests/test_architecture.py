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


TREES = {name_of(path): ast.parse(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))}
OUTER = sorted(name for name in TREES if name not in {"pipeline", "pipeline.__main__"})


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
def test_a_module_imports_only_rooms_further_inside(name: str) -> None:
    foreign = {known for known in map(part, imports(name)) if known != part(name)}
    assert all(ROW[known] < ROW[part(name)] for known in foreign), foreign


@pytest.mark.parametrize(
    ("room", "users"),
    [("store", {"wiring"}), ("reasoners.model", {"wiring"}), ("net", {"reasoners", "search", "ops", "wiring"})],
)
def test_what_is_behind_a_port_is_known_to_few(room: str, users: set[str]) -> None:
    inside = f"pipeline.{room}"
    found = {part(name) for name in OUTER if not name.startswith(inside) for known in imports(name) if known.startswith(inside)}
    assert found <= users


def test_one_module_talks_to_the_network_and_one_listens_on_loopback() -> None:
    network = {"httpx", "httpcore", "requests", "urllib3", "aiohttp", "http.server", "http.client", "urllib.request"}
    known = {
        name: {word.name for node in ast.walk(tree) if isinstance(node, ast.Import) for word in node.names}
        for name, tree in TREES.items()
    }
    for name, tree in TREES.items():
        known[name] |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    users = {name for name, modules in known.items() if modules & network}
    assert users == {"pipeline.net.transport", "pipeline.site.serve"}


def test_no_module_imports_itself_by_a_detour() -> None:
    order = TopologicalSorter({name: imports(name) for name in TREES}).static_order()
    assert set(order) == TREES.keys()


def test_only_the_settings_read_the_environment() -> None:
    reading = {"os.environ", "os.environb", "os.getenv", "environ", "getenv"}
    assert {name for name in TREES if mentions(name) & reading} == {"pipeline.config.settings"}


def test_only_the_command_line_prints_or_exits() -> None:
    speaking = {"print", "input", "exit", "quit", "SystemExit", "sys.exit", "os._exit", "sys.stdout", "sys.stderr", "click"}
    by_themselves = {"pipeline.documents.extract"}
    beside = {"pipeline.ops.console_output"}
    found = {name for name in TREES if mentions(name) & speaking}
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


def opened_in(source: str) -> list[str]:
    """The places of a module that open a file, without those of the null device and of what is in memory already."""
    nodes = list(ast.walk(ast.parse(source)))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    harmless = {call for call in calls if any(word.arg == "fileobj" for word in call.keywords)}
    harmless |= {call for call in calls if call.args and ast.unparse(call.args[0]) == "os.devnull"}
    return [ast.unparse(node) for node in nodes if opens_a_file(node) and node not in harmless]


def test_files_are_opened_and_sqlite_is_connected_in_one_module() -> None:
    """Elsewhere a named pipe in a folder would hold up a night, and a cut off write would leave half a file."""
    found = {name_of(path): opened_in(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {name: places for name, places in found.items() if places and name != "pipeline.system.files"} == {}


def test_no_text_is_measured_by_its_blanks() -> None:
    """``len(text.split())`` is no count of words: Chinese, Japanese and Thai have no blanks; ``word_count`` is one."""
    counts = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1
        if isinstance(part := node.args[0], ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "split"
        if not part.args and not part.keywords
    }
    assert counts <= {"pipeline.text.words"}
