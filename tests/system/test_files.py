"""The one door to files: nothing that others put in a folder keeps its reader waiting, and no file is written by half."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
import stat
from pathlib import Path

import pytest

from pipeline.system.files import connect_sqlite, open_log, read_bytes, read_text, write, write_new


def test_a_regular_file_is_read_whole_or_as_far_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Grüße")
    assert (read_text(path), read_bytes(path, 2)) == ("Grüße", b"Gr")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link to a pipe"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    path = Path("odd.md")
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    else:
        os.mkfifo("pipe" if kind == "link to a pipe" else path)
        if kind == "link to a pipe":
            path.symlink_to("pipe")
    with pytest.raises(OSError, match="no regular file"):
        read_bytes(path)


def test_a_link_is_followed_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "link.md").symlink_to("a.md")
    assert read_bytes(tmp_path / "link.md") == b"text"
    with pytest.raises(OSError, match="link") as refused:
        read_bytes(tmp_path / "link.md", follow=False)
    assert refused.value.errno == errno.ELOOP


def test_a_file_that_is_no_database_is_refused_when_it_is_connected(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text" * 300)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        connect_sqlite(tmp_path / "a")


def test_no_function_is_called_by_the_tables_of_a_database(tmp_path: Path) -> None:
    with connect_sqlite(tmp_path / "a") as base:
        assert base.execute("PRAGMA trusted_schema").fetchone() == (0,)
    base.close()


@pytest.mark.parametrize("mode", [None, 0o600, 0o666])
def test_a_file_is_replaced_whole_and_gets_the_mode_that_is_asked_for(mode: int | None, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        (tmp_path / "a").write_text("old")
        write(tmp_path / "a", b"new", mode=mode)
    finally:
        os.umask(mask)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "new")]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == (0o644 if mode is None else mode)


def test_a_link_is_replaced_and_what_it_leads_to_is_left(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "a").symlink_to("mine")
    write(tmp_path / "a", b"new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("operation", ["open", "write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_alone_and_names_it(
    operation: str, durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if operation == "fsync" and not durable:
        return

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, operation, full)
    with pytest.raises(OSError, match="No space") as failed:
        write(tmp_path / "a", b"new", durable=durable)
    monkeypatch.undo()
    assert failed.value.filename == str(tmp_path / "a")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_a_new_file_is_made_whole_or_not_at_all_and_never_over_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_new(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_text() == "one"
    monkeypatch.setattr(os, "write", lambda _descriptor, _data: os.close(-1))
    with pytest.raises(OSError, match="Bad file"):
        write_new(tmp_path / "b", b"two")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_a_process_that_died_left_under_a_temporary_name_goes(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".a.tmp").symlink_to("mine")
    write_new(tmp_path / ".a.tmp", b"new", leftover=True)
    assert ((tmp_path / "mine").read_text(), (tmp_path / ".a.tmp").read_text()) == ("mine", "new")


def test_a_log_file_that_is_a_pipe_without_reader_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    with pytest.raises(OSError, match="No such device"):
        open_log(tmp_path / "log")
