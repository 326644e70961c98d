"""The commands, as their user meets them: a real workspace, real files, what is printed, and the exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from pipeline.cli import main
from pipeline.config import workspace_starter
from pipeline.errors import LogUnwritable
from scripts.write_commands import written
from tests.commanding import actions, said, workspace_in
from tests.vault import scanner as links

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace after its first night; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("sample") / "ws"
    workspace_starter.lay_out(folder)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "-C", str(folder), "run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small workspace with one question and two documents."""
    return workspace_in(tmp_path / "ws", "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n")


def test_every_citation_of_the_sample_night_resolves_to_a_stored_page_that_holds_its_quote(sample: Path) -> None:
    told = said(sample, "--json", "verify")
    assert told.code == 0
    checked = json.loads(told.out)
    assert checked["citations"] > 40
    assert checked["unsupported"] == 0
    assert checked["findings"] == []


def test_the_sample_vault_is_sound_throughout(sample: Path) -> None:
    paths = (path for path in (sample / "vault").rglob("*") if path.is_file() and path.parent.name != "my")
    files = {path.relative_to(sample / "vault").as_posix(): path.read_text() for path in paths}
    assert links.leading_nowhere(files) == []
    assert sum(name.endswith(".base") for name in files) > 4


def spoil_queue(folder: Path) -> str:
    (folder / "queries.yaml").write_text("queries:\n  - query: Fine\n    mood: deep\n")
    return "queries.yaml:3:5"


def remove_corpus(folder: Path) -> str:
    shutil.rmtree(folder / "corpus")
    return str(folder / "corpus")


def empty_corpus(folder: Path) -> str:
    for path in (folder / "corpus").iterdir():
        path.unlink()
    return "holds no document"


def binary_corpus(folder: Path) -> str:
    for path in (folder / "corpus").iterdir():
        path.write_bytes(b"\x00\x01\x02" * 100)
    return "holds no document"


@pytest.mark.parametrize("spoil", [spoil_queue, remove_corpus, empty_corpus, binary_corpus])
def test_bad_input_gets_one_clear_message_before_any_session_begins(workspace: Path, spoil: Callable[[Path], str]) -> None:
    expected = spoil(workspace)
    told = said(workspace, "run")
    assert told.code == 2
    assert expected in told.err
    assert "→" in told.err
    assert not (workspace / "events" / "sessions").exists()


def test_a_broken_a_huge_and_a_binary_file_are_named_and_skipped(workspace: Path) -> None:
    (workspace / "corpus" / "broken.pdf").write_bytes(b"%PDF-1.7 this is no PDF")
    (workspace / "corpus" / "noise.md").write_bytes(bytes(range(256)) * 20)
    with (workspace / "corpus" / "huge.txt").open("wb") as huge:
        huge.truncate(50_000_000)
    told = said(workspace, "run")
    assert told.code == 0
    for name in ("broken.pdf", "noise.md", "huge.txt"):
        assert f"skipped corpus/{name}" in told.err


def test_no_workspace_is_exit_code_10_and_the_way_out(tmp_path: Path) -> None:
    for command in ("run", "list", "build", "verify", "show x", "log x", "resume x", "add x", "templates update"):
        told = said(tmp_path, *command.split())
        assert told.code == 10, command
        assert "research init" in told.err


def test_json_prints_nothing_but_json_failures_included(tmp_path: Path, workspace: Path) -> None:
    assert json.loads(said(tmp_path / "nowhere", "--json", "list").out)["exit_code"] == 10
    assert json.loads(said(workspace, "--json", "nonsense").out)["exit_code"] == 2
    assert json.loads(said(workspace, "--json", "show", "nobody").out)["error"]["kind"] == "SessionUnknown"
    told = said(workspace, "--json", "-q", "run")
    assert json.loads(told.out)["exit_code"] == 0


def test_one_damaged_session_does_not_keep_the_night_from_the_other_questions(workspace: Path) -> None:
    said(workspace, "run")
    segment = next((workspace / "events" / "sessions").rglob("*.jsonl"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with (workspace / "queries.yaml").open("a") as queue:
        queue.write("  - query: Where do ships wait at night?\n    mode: fast\n")
    told = said(workspace, "run")
    assert told.code == 20
    assert told.err.count("cannot be read: the log of") == 1
    assert segment.name in told.err
    assert "where-do-ships-wait" in told.out
    assert actions(workspace) == {"harbour": "damaged", "where-do-ships-wait-at-night": "done"}


def test_every_command_and_option_has_help_and_is_documented(tmp_path: Path) -> None:
    assert (ROOT / "docs" / "commands.md").read_text() == written(), "run python -m scripts.write_commands"
    for name, command in main.cli.commands.items():
        assert command.help, name
        assert said(tmp_path, name, "--help").code == 0
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.opts}"


def test_help_imports_nothing_heavy() -> None:
    heavy = {"pydantic", "jinja2", "yaml", "httpx", "asyncio", "rich", "logging.handlers", "sqlite3", "selectolax", "frontmatter"}
    heavy |= {"numpy", "onnxruntime", "tokenizers"}
    code = f"import sys, pipeline.cli.main; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_answers_say_how_long_they_took_and_runs_which_machine_acted(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_MACHINE", "attic")
    assert said(workspace, "run").code == 0
    lines = [json.loads(line) for path in (workspace / "events" / "sessions").rglob("*.jsonl") for line in path.open()]
    answers = [line for line in lines if "exchange" in line]
    assert answers
    assert all(line["seconds"] >= 0 for line in answers)
    assert {line["agent"] for line in lines if line["type"] == "run.started"} == {"attic"}


def test_with_nothing_to_do_nothing_is_imported_that_researches_or_makes_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_in(tmp_path / "ws", "  - query: How deep is the harbour?\n    mode: fast\n")
    monkeypatch.setenv("RESEARCH_EMBEDDINGS", "auto")
    heavy = {"pydantic", "jinja2", "pyromark", "asyncio", "multiprocessing", "markupsafe", "httpx", "selectolax", "regex"}
    heavy |= {"watchdog", "numpy", "onnxruntime", "tokenizers"}
    heavy |= {"pipeline.engine.loop", "pipeline.domain.session", "pipeline.vault.stages", "pipeline.site.stages"}

    def told(command: str) -> str:
        code = (
            "import sys, atexit; from pipeline.cli import main\n"
            f"atexit.register(lambda: print('imported', sorted({heavy} & set(sys.modules))))\n"
            f"sys.argv = ['research', '-C', {str(tmp_path / 'ws')!r}, {command!r}]; main.main()"
        )
        return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "1 with passages" in told("run")
    assert told("run") == "nothing to do\nimported []\n"
    assert told("build").endswith("0 files written, 0 removed\nimported []\n")


def test_every_command_that_meets_a_damaged_log_ends_with_20(workspace: Path) -> None:
    with (workspace / "queries.yaml").open("a") as queue:
        queue.write("  - {query: Where do ships wait?, id: ships, mode: fast}\n")
    assert said(workspace, "-q", "run").code == 0
    segment = next(workspace.rglob("*-harbour-*/events/*.jsonl"))
    segment.write_bytes(segment.read_bytes().replace(b"harbour", b"hARbour", 1))
    reading = ["list", "show harbour", "log harbour", "verify", "doctor", "run --dry-run", "references", "build --check"]
    working = ["build", "run", "resume harbour", "ask ships Where?", "export ships", "hide ships", "merge"]
    for command in [*reading, *working, "forget --by-settings"]:
        assert said(workspace, *command.split()).code == 20, command
    assert said(workspace, "show", "ships").code == 0  # it reads nothing that is damaged


def test_a_long_argument_is_not_repeated_whole(workspace: Path) -> None:
    for command in ("show", "run", "hide", "forget", "nonsense"):
        told = said(workspace, command, "a" * 5_000)
        assert (told.code in (1, 2), len(told.err) < 700) == (True, True), command


def test_a_second_error_does_not_hide_the_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        try:
            raise LogUnwritable("the disk is full", hint="free space")
        finally:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("pipeline.wiring.store_adapters.file_store", fail)
    told = said(workspace, "list")
    assert (told.code, "the disk is full" in told.err, "Input/output error" in told.err) == (12, True, True)


@pytest.mark.parametrize("place", ["events", "events/vault", "."])
def test_a_vault_that_leads_into_the_log_is_refused(place: str, workspace: Path) -> None:
    (workspace / place).mkdir(parents=True, exist_ok=True)
    (workspace / "vault").symlink_to(workspace / place, target_is_directory=True)
    assert said(workspace, "-q", "run").code == 2
    told = said(workspace, "build")
    assert (told.code, "which holds the event log or is in it" in told.err) == (2, True)
    assert not list((workspace / "events").rglob("*.md"))
