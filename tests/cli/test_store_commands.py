"""A workspace whose log is in PostgreSQL, as its user meets it, and the way there and back."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pipeline.batch.memory_consolidation import consolidation_of
from pipeline.engine.recorder import new_stream
from pipeline.store.file_store import FileStore
from pipeline.store.objects import FileObjects
from pipeline.store.postgres import DatabaseObjects, PostgresStore
from pipeline.wiring.store_adapters import lock_of
from tests.cli.test_merge_command import laptop, server, stopped_at, whole
from tests.commanding import everything, said, workspace_in
from tests.fakes import context_for
from tests.postgres_server import PASSWORD, PostgresServer
from tests.store.samples import files_in

__all__ = ["laptop", "server", "whole"]

QUERIES = """  - {query: How deep is the harbour?, id: depth, mode: fast}
  - {query: Where do ships wait at night?, id: ships, mode: fast}
"""


@pytest.fixture(scope="module")
def rich_log(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose log has streams of all kinds, and a session that two machines went on with, and then a third."""
    place = tmp_path_factory.mktemp("rich")
    folders = [stopped_at(whole, place / name, 6) for name in ("laptop", "server")]
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.setenv("RESEARCH_MACHINE", folder.name)
            assert said(folder, "-q", "run").code == 0
    mine, other = folders
    (mine / "queries.yaml").write_text(f"queries:\n{QUERIES}")
    assert said(mine, "merge", str(other)).code == 0
    store = FileStore(mine / "events")
    memory = new_stream(store, context_for(), "memory")  # as a night with a model leaves it
    for name in store.ids("session"):
        memory.record(consolidation_of(store, name)[1])
    store.release(memory.id)
    for command in (["-q", "run"], ["ask", "How deep is the harbour?"], ["hide", "depth"], ["forget", "ships", "--yes"]):
        assert said(mine, *command).code == 0, command
    kinds = {path.parent.name for path in (mine / "events").rglob("*.jsonl")}
    assert {"events", "batches", "talks", "memory", "vault", "prunes"} <= kinds
    assert any("merge-" in path.name for path in (mine / "events").rglob("*.jsonl"))
    return mine


@pytest.fixture
def rich(rich_log: Path, tmp_path: Path) -> Path:
    return shutil.copytree(rich_log, tmp_path / "rich")


@pytest.fixture
def in_database(tmp_path: Path, postgres_store_url: str) -> Path:
    """An empty workspace whose setting names a database."""
    folder = workspace_in(tmp_path / "w", QUERIES)
    text = (folder / "queries.yaml").read_text()
    (folder / "queries.yaml").write_text(f"settings:\n  store: {postgres_store_url}\n{text}")
    return folder


def log_of(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in files_in(folder / "events").items() if not name.startswith("local/")}


def test_a_log_goes_to_a_database_and_back_byte_for_byte(rich: Path, postgres_store_url: str, tmp_path: Path) -> None:
    before = everything(rich / "events")
    first = said(rich, "store", "copy", str(rich), postgres_store_url)
    assert (first.code, first.err) == (0, "")
    again = said(rich, "store", "copy", str(rich), postgres_store_url)
    assert again.out.startswith(f"nothing to copy from {rich} to postgresql://research_owner@")
    assert everything(rich / "events") == before
    assert said(rich, "store", "copy", postgres_store_url, str(tmp_path / "back")).code == 0
    assert log_of(tmp_path / "back") == log_of(rich)


def test_every_command_prints_the_same_over_the_copy(
    rich: Path, postgres_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = [
        ["list"], ["show", "depth"], ["log", "depth"], ["verify"], ["digest"], ["build", "--all"],
        ["build", "--check"], ["references", "depth"], ["prune", "--dry-run"], ["consolidate"], ["merge", "--check"],
    ]  # fmt: skip
    (rich / ".git").mkdir()  # in both places, notes then name no path of this machine
    said(rich, "build")
    expected = [said(rich, *command) for command in commands]
    assert said(rich, "store", "copy", str(rich), postgres_store_url).code == 0
    monkeypatch.setenv("RESEARCH_STORE", postgres_store_url)
    assert [said(rich, *command) for command in commands] == expected


def test_a_night_over_a_database_from_the_first_question_to_the_last(in_database: Path) -> None:
    refused = said(in_database, "store", "copy", str(in_database), str(in_database))
    assert refused.code == 2
    assert said(in_database, "-q", "run").code == 0
    assert not (in_database / "events" / "sessions").exists()
    verified = said(in_database, "verify")
    assert (verified.code, verified.out.endswith("checked against stored pages: no problem\n")) == (0, True), verified
    assert said(in_database, "run").out.startswith("nothing to do")
    assert len(list((in_database / "vault" / "reports").rglob("*.md"))) == 2
    assert "metres deep" in said(in_database, "ask", "How deep is the harbour?").out
    assert said(in_database, "build", "--check").code == 0
    doctor = json.loads(said(in_database, "--json", "doctor").out)["findings"]
    assert next(one["level"] for one in doctor if one["about"] == "store") == "ok"
    assert said(in_database, "forget", "ships", "--yes").code == 0
    assert said(in_database, "verify").code == 0
    assert "forgotten" in said(in_database, "list").out


class Stopped(BaseException):
    """The process is gone at this point."""


def stop_at(monkeypatch: pytest.MonkeyPatch, number: int, store: type, objects: type) -> None:
    """Let the copying end before the write with this number."""
    left = [number]

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if left[0] == 0:
                raise Stopped
            left[0] -= 1
            return method(*args)

        return call

    for target, name in ((objects, "put_packed"), (store, "write")):
        monkeypatch.setattr(target, name, counted(getattr(target, name)))


def test_a_copy_that_was_killed_anywhere_is_completed_by_the_next(
    rich: Path, postgres_server: PostgresServer, postgres_store_url: str, tmp_path: Path
) -> None:
    there, back = postgres_store_url, tmp_path / "back"
    copies = ((str(rich), there, PostgresStore, DatabaseObjects), (there, str(back), FileStore, FileObjects))
    for source, place, *targets in copies:
        stops = 0
        while True:
            with pytest.MonkeyPatch.context() as patch:
                stop_at(patch, stops % 3 * 2 + 1, *targets)
                try:
                    assert said(rich, "store", "copy", source, place).code == 0
                    break
                except Stopped:
                    stops += 1
        assert stops > 2
        assert said(rich, "store", "copy", source, place, "--check").code == 0
    assert log_of(back) == log_of(rich)


def test_what_went_on_in_both_is_refused_by_name_and_what_goes_on_in_one_is_kept(
    laptop: Path, server: Path, postgres_store_url: str
) -> None:
    assert said(laptop, "store", "copy", str(laptop), postgres_store_url).code == 0
    other = said(laptop, "store", "copy", str(server), postgres_store_url)
    assert other.code == 20
    assert "events: fork: it goes on in both logs, each in another way" in other.err
    shutil.copytree(server / "events", laptop / "events", dirs_exist_ok=True, ignore=shutil.ignore_patterns("local"))
    assert "the next run joins them" in said(laptop, "store", "copy", str(laptop), postgres_store_url).err
    assert said(laptop, "merge").code == 0
    assert said(laptop, "store", "copy", str(laptop), postgres_store_url).code == 0
    assert said(laptop, "store", "copy", postgres_store_url, str(laptop), "--check").code == 0


def test_what_was_forgotten_in_one_log_does_not_come_back_from_another(
    rich: Path, postgres_store_url: str, tmp_path: Path
) -> None:
    before = shutil.copytree(rich, tmp_path / "before")
    shutil.rmtree(before / "events" / "local")
    assert said(rich, "forget", "depth", "--yes").code == 0
    assert said(rich, "store", "copy", str(rich), postgres_store_url).code == 0
    count = objects_in(postgres_store_url)
    old = said(rich, "store", "copy", str(before), postgres_store_url)
    assert "left out: " in old.out
    assert objects_in(postgres_store_url) == count
    here = said(rich, "store", "copy", str(rich), str(before))
    assert here.code == 20
    assert "something was forgotten that the target still has" in here.err


def objects_in(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM objects").fetchone()
    return int(row[0]) if row else 0


def test_a_damaged_log_is_copied_but_for_what_is_damaged(rich: Path, postgres_store_url: str) -> None:
    path = next(path for path in (rich / "events" / "sessions").rglob("000001-*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"harbour", b"harbOur", 1))
    done = said(rich, "store", "copy", str(rich), postgres_store_url)
    assert done.code == 20
    assert f"refused: {path.relative_to(rich / 'events')}:" in done.err
    assert "streams and" in done.out


def test_an_end_that_a_crash_cut_is_left_out_and_said(rich: Path, postgres_store_url: str) -> None:
    path = max((rich / "events" / "sessions").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes() + b'{"id":"')
    done = said(rich, "store", "copy", str(rich), postgres_store_url)
    assert (done.code, "1 end left out that a crash cut" in done.out) == (0, True)


def test_an_empty_database_beside_a_log_in_files_is_not_taken_for_the_log(rich: Path, postgres_store_url: str) -> None:
    (rich / "queries.yaml").write_text(f"settings:\n  store: {postgres_store_url}\nqueries:\n{QUERIES}")
    refused = said(rich, "run")
    assert refused.code == 20
    assert f"research store copy {rich} " in refused.err
    shutil.rmtree(rich / "events")
    (rich / "vault" / "sessions").mkdir(exist_ok=True)
    (rich / "vault" / "sessions" / "old.md").write_text("# A note of a session\n")
    lost = said(rich, "run")
    assert (lost.code, "the log is missing" in lost.err) == (20, True)


def test_what_works_on_files_only_says_so(in_database: Path, rich: Path) -> None:
    assert "only logs in files can be merged" in said(in_database, "merge", str(rich)).err
    said(in_database, "-q", "run")
    with psycopg.connect(store_of(in_database), autocommit=True) as connection:
        connection.execute("DELETE FROM objects")
    repaired = said(in_database, "verify", "--repair")
    assert (repaired.code, "--repair works on files" in repaired.err) == (2, True)


def store_of(folder: Path) -> str:
    return (folder / "queries.yaml").read_text().split("store: ")[1].splitlines()[0]


def test_two_runs_never_work_with_one_database_at_once(in_database: Path, tmp_path: Path) -> None:
    other = shutil.copytree(in_database, tmp_path / "other")
    with lock_of(other, "research run"):
        refused = said(in_database, "run")
    assert (refused.code, "research run: process" in refused.err) == (11, True)
    with lock_of(other, "research work", shared=True), lock_of(in_database, "research work", shared=True):
        pass
    assert said(in_database, "-q", "run").code == 0


def test_a_password_in_an_address_is_refused_and_never_printed(in_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("me:s3cret@db/night", "me:@db/night", "me@db/night?password=s3cret", "db/night?sslpassword=s3cret"):
        address = f"postgresql://{form}"
        (in_database / "queries.yaml").write_text(f"settings:\n  store: {address}\nqueries:\n{QUERIES}")
        monkeypatch.delenv("RESEARCH_STORE", raising=False)
        calls = [
            said(in_database, "list"),
            said(in_database, "store", "copy", ".", address),
            said(in_database, "store", "init", address),
        ]
        monkeypatch.setenv("RESEARCH_STORE", address)
        calls.append(said(in_database, "log"))
        for call in calls:
            assert call.code == 2
            assert "holds a password" in call.err
            assert "s3cret" not in call.out + call.err


def test_the_password_comes_from_the_environment_or_a_file(
    in_database: Path, postgres_server: PostgresServer, postgres_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = postgres_store_url.split("@/")[1].split("?")[0]
    monkeypatch.setenv("RESEARCH_STORE", postgres_server.url(name, tcp=True))
    refused = said(in_database, "list")
    assert (refused.code, "PGPASSWORD" in refused.err) == (12, True)
    (in_database / "pw").write_text(f"{PASSWORD}\n")
    (in_database / ".env").write_text("PGPASSWORD_FILE=pw\n")
    assert said(in_database, "list").code == 0
    (in_database / ".env").unlink()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert said(in_database, "list").code == 0


def test_init_creates_the_tables_and_prints_the_roles(postgres_url: str, in_database: Path, tmp_path: Path) -> None:
    assert "created with schema 6" in said(in_database, "store", "init", postgres_url).out
    assert said(in_database, "store", "init", postgres_url).out.endswith(": nothing to do\n")
    printed = said(in_database, "store", "init", "--print-roles").out
    assert "GRANT EXECUTE ON FUNCTION append_event, take_up, hand_on TO research_app" in printed
    in_files = said(workspace_in(tmp_path / "files", QUERIES), "store", "init")
    assert (in_files.code, "the log is in files" in in_files.err) == (2, True)


def test_without_the_client_library_one_message_says_how_to_install_it(
    rich: Path, in_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert said(rich, "store", "copy", str(rich), str(rich.with_name("copied"))).code == 0  # files need none
    for command in (["list"], ["run"], ["store", "init"]):
        refused = said(in_database, *command)
        assert (refused.code, "pip install 'night-research[postgres]'" in refused.err) == (2, True)


def test_a_lease_is_not_longer_than_a_night_waits_for_a_sign_of_life(in_database: Path) -> None:
    refused = said(in_database, "work", "--lease", "6m")
    assert (refused.code, "5m at most" in refused.err) == (2, True)


def test_a_time_that_has_passed_is_refused_without_the_name_of_another_option(in_database: Path) -> None:
    refused = said(in_database, "work", "--until", "2020-01-01T06:30")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "research: '2020-01-01T06:30' has passed")
