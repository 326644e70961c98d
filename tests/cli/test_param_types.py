"""What may stand on the command line, and what a shell offers to complete it with."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click
import pytest

from pipeline.cli.command_parts import Length, QueryId, SessionName


@pytest.mark.parametrize(
    ("text", "length"),
    [("30s", timedelta(seconds=30)), ("90m", timedelta(minutes=90)), ("12h", timedelta(hours=12)), (" 7d ", timedelta(days=7))],
)
def test_a_length_of_time_is_a_number_with_its_unit(text: str, length: timedelta) -> None:
    assert Length().convert(text, None, None) == length
    assert Length().convert(length, None, None) == length


@click.group()
@click.option("-C", "folder", type=click.Path(path_type=Path), default=Path())
def group(folder: Path) -> None:
    pass


@group.command()
@click.argument("name")
def one(name: str) -> None:
    pass


def offered(kind: QueryId | SessionName, folder: Path, begun: str) -> list[str]:
    root = click.Context(group, info_name="research")
    root.params["folder"] = folder
    return [item.value for item in kind.shell_complete(click.Context(one, parent=root), one.params[0], begun)]


def test_ids_of_queries_and_sessions_are_offered_the_newest_session_first(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("queries:\n  - {query: One?, id: one}\n  - How deep is it?\n")
    for name in ("2026-11-20-one-aaaa", "2026-11-21-one-bbbb"):
        (tmp_path / "events" / "sessions" / name).mkdir(parents=True)
    assert offered(QueryId(), tmp_path, "") == ["one", "how-deep-is-it"]
    assert offered(SessionName(), tmp_path, "") == ["one", "how-deep-is-it", "2026-11-21-one-bbbb", "2026-11-20-one-aaaa"]
    assert offered(SessionName(), tmp_path, "2026-11-2") == ["2026-11-21-one-bbbb", "2026-11-20-one-aaaa"]
    assert offered(QueryId(), tmp_path, "zz") == []


@pytest.mark.parametrize("queue", [None, "queries: [", "queries:\n  - {mood: deep}\n"])
def test_where_something_is_wrong_nothing_is_offered_and_nothing_said(
    queue: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if queue is not None:
        (tmp_path / "queries.yaml").write_text(queue)
    assert offered(QueryId(), tmp_path, "") == []
    assert offered(SessionName(), tmp_path, "") == []
    assert capfd.readouterr() == ("", "")


def test_sessions_are_offered_where_there_are_no_queries(tmp_path: Path) -> None:
    (tmp_path / "events" / "sessions" / "2026-11-20-one-aaaa").mkdir(parents=True)
    assert offered(SessionName(), tmp_path, "") == ["2026-11-20-one-aaaa"]
