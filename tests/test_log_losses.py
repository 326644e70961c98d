"""What is lost from the log, or cannot be read: named by every command alike, taken for what it is, and never made worse."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.store import objects
from pipeline.store.record_chain import ZEROS, seal
from tests.commanding import said, workspace_in
from tests.forking import Command


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace after its first night."""
    folder = workspace_in(tmp_path_factory.mktemp("evening") / "ws", "  - query: How deep is the harbour?\n    id: harbour\n")
    assert said(folder, "-q", "run").code == 0
    return folder


@pytest.fixture
def workspace(evening: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evening, tmp_path / "ws"))


def session_of(workspace: Path) -> Path:
    (found,) = (workspace / "events" / "sessions").iterdir()
    return found


def segment_of(workspace: Path) -> Path:
    (found,) = session_of(workspace).rglob("*.jsonl")
    return found


def notes(workspace: Path) -> list[str]:
    return sorted(path.name for path in (workspace / "vault").rglob("*harbour*.md"))


def sessions(workspace: Path) -> int:
    return len(list((workspace / "events" / "sessions").iterdir()))


def rewrite(segment: Path, change: Callable[[bytes], bytes]) -> None:
    """Change records and seal them anew, as another program would have written them."""
    prev, lines = ZEROS, []
    for line in segment.read_bytes().splitlines():
        sealed, prev = seal(change(line[: line.rindex(b',"prev":"')] + b"}"), prev)
        lines.append(sealed)
    segment.write_bytes(b"".join(lines))


def lose_folder(workspace: Path) -> None:
    shutil.rmtree(session_of(workspace))


def lose_bytes(workspace: Path) -> None:
    segment_of(workspace).write_bytes(b"")


@pytest.mark.parametrize("lose", [lose_folder, lose_bytes])
def test_a_lost_session_is_damage_to_verify_and_run_and_keeps_its_notes(workspace: Path, lose: Callable[[Path], None]) -> None:
    before, name = notes(workspace), session_of(workspace).name
    lose(workspace)
    checked = said(workspace, "verify")
    assert checked.code == 20
    assert name in checked.out
    for _ in range(2):
        ended = said(workspace, "-q", "run")
        assert ended.code == 20
        assert name in ended.out
        assert "verify" in ended.out
        assert said(workspace, "build", "--no-site").code == 20
        assert notes(workspace) == before
    assert said(workspace, "build", "--all", "--no-site").code == 20
    assert notes(workspace) == before


def test_a_loss_that_is_written_off_holds_up_nothing_any_more(workspace: Path) -> None:
    name = session_of(workspace).name
    lose_folder(workspace)
    mended = said(workspace, "verify", "--repair")
    assert mended.code == 0
    assert f"written off: {name}" in mended.out
    assert said(workspace, "verify").code == 0
    assert said(workspace, "build", "--no-site").code == 0
    assert notes(workspace) == []
    assert said(workspace, "-q", "run").code == 0
    assert sessions(workspace) == 1


def test_a_session_that_comes_back_is_as_it_was(workspace: Path, tmp_path: Path) -> None:
    before, folder = notes(workspace), session_of(workspace)
    folder.rename(tmp_path / "aside")
    said(workspace, "verify", "--repair")
    said(workspace, "build", "--no-site")
    (tmp_path / "aside").rename(folder)
    assert said(workspace, "verify").code == 0
    assert said(workspace, "build", "--no-site").code == 0
    assert notes(workspace) == before


def test_a_vault_without_its_log_is_neither_emptied_nor_paid_for_again(workspace: Path) -> None:
    shutil.rmtree(workspace / "events")
    before = {path: path.read_bytes() for path in (workspace / "vault").rglob("*.md")}
    for command in (["build"], ["run"], ["run", "--dry-run"], ["verify"], ["doctor"]):
        ended = said(workspace, *command)
        assert ended.code == 20, command
        assert "the log is missing" in ended.out + ended.err
    assert {path: path.read_bytes() for path in (workspace / "vault").rglob("*.md")} == before
    assert not (workspace / "events" / "sessions").exists()
    assert said(workspace, "verify", "--repair").code == 0
    assert said(workspace, "-q", "run").code == 0
    assert sessions(workspace) == 1


def test_a_repair_names_what_it_dropped_and_keeps_the_copy_where_nothing_is_thrown_away(workspace: Path) -> None:
    segment = segment_of(workspace)
    damaged = segment.read_bytes().replace(b'"type":"research.completed"', b'"type":"research.cOmpleted"')
    segment.write_bytes(damaged)
    shown = said(workspace, "show", "harbour")
    assert (shown.code, segment.name in shown.err) == (20, True)
    mended = said(workspace, "verify", "--repair")
    assert mended.code == 0
    assert "dropped 1 record: version" in mended.out
    (copy,) = (workspace / "events" / "damaged").rglob("*.jsonl")
    assert copy.relative_to(workspace).as_posix() in mended.out
    assert copy.read_bytes() == damaged
    assert not (workspace / "events" / "damaged" / ".gitignore").exists()
    assert said(workspace, "-q", "run").code == 0
    assert sessions(workspace) == 1


def test_the_repairs_are_said_as_json_too(workspace: Path) -> None:
    lose_bytes(workspace)
    value = json.loads(said(workspace, "--json", "verify", "--repair").out)
    assert [bool(one["copy"]) for one in value["repairs"]] == [True, False]
    assert value["left"] == []


def test_a_newer_programs_log_asks_for_an_upgrade_and_is_not_called_damaged(workspace: Path) -> None:
    rewrite(segment_of(workspace), lambda data: data.replace(b'"schema_version":"2.', b'"schema_version":"3.'))
    before = notes(workspace)
    for command in (["verify"], ["run"], ["show", session_of(workspace).name], ["doctor"]):
        ended = said(workspace, *command)
        assert ended.code == 2, command
        assert "upgrade" in ended.out + ended.err
        assert "damaged" not in (ended.out + ended.err).replace("damaged: the log of", "")
    assert notes(workspace) == before


def test_a_record_of_a_bad_time_is_named_with_its_session_and_version(workspace: Path) -> None:
    rewrite(segment_of(workspace), lambda data: data.replace(b'"at":"2', b'"at":"x'))
    for command in (["verify"], ["run"], ["list"], ["doctor"]):
        ended = said(workspace, *command)
        assert ended.code == 20, command
        assert "unexpected" not in ended.err
        assert session_of(workspace).name in ended.out + ended.err


def test_the_torn_tail_of_a_finished_session_is_said_once(workspace: Path) -> None:
    with segment_of(workspace).open("ab") as file:
        file.write(b'{"id":"abc')
    runs = []
    for _ in range(3):  # processes: logging is set up once in each
        runs.append(Command(workspace, "run"))
        assert runs[-1].ended() == 0
    heard = [run.err for run in runs]
    assert [text.count("torn:") for text in heard] == [1, 0, 0]
    assert "torn:" in said(workspace, "verify").out
    assert said(workspace, "verify", "--repair").code == 0
    assert "torn:" not in said(workspace, "verify").out


def test_a_version_that_a_session_does_not_have_is_refused_with_the_range(workspace: Path) -> None:
    last = len(segment_of(workspace).read_bytes().splitlines())
    assert said(workspace, "show", "harbour", "--at", str(last)).code == 0
    ended = said(workspace, "show", "harbour", "--at", "999")
    assert ended.code == 2
    assert f"1 to {last}" in ended.err


def test_a_stored_page_that_unpacks_without_end_is_named_and_not_unpacked(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "LARGEST", 10_000)
    path = next((workspace / "events" / "objects").rglob("*.gz"))
    bomb = b"\0" * 1_000_000
    path.write_bytes(gzip.compress(bomb))
    assert sha256(bomb).hexdigest() != path.stem
    ended = said(workspace, "verify")
    assert ended.code == 20
    assert f"{path.name} cannot be read: it unpacks to more than" in ended.out
