"""Reading files that others may have put there: none keeps its reader waiting."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from pipeline.system.files import connect_sqlite, read_bytes, read_text


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


@pytest.mark.parametrize("name", ["50% ?#&'\" ä.sqlite", "file:x?mode=memory"])
def test_a_database_may_have_any_name(name: str, tmp_path: Path) -> None:
    connect_sqlite(tmp_path / name).execute("CREATE TABLE t (x)").connection.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    connect_sqlite(tmp_path / name, "ro").execute("SELECT x FROM t").connection.close()
