"""Appending a question: what stood there stays, and what is read back is what was given."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.config.queue_file import add_query, parse
from pipeline.errors import SystemRefused, UsageError

# The file before, and after `Why: so?` was added.
STYLES = [
    ("queries:\n  - a\n", 'queries:\n  - a\n  - "Why: so?"\n'),
    ("queries:\n- a", 'queries:\n- a\n- "Why: so?"\n'),
    ("queries:\r\n    - a\r\n", 'queries:\r\n    - a\r\n    - "Why: so?"\r\n'),
    ("queries:\n  - a  # one\n\n# the end", 'queries:\n  - a  # one\n\n# the end\n  - "Why: so?"\n'),
    ("queries:\n", 'queries:\n  - "Why: so?"\n'),
    ("queries:  # none yet\nsettings: {}\n", 'queries:  # none yet\n  - "Why: so?"\nsettings: {}\n'),
    ("queries:\n  - a  # one\n\n# caps\nsettings: {}\n", 'queries:\n  - a  # one\n  - "Why: so?"\n\n# caps\nsettings: {}\n'),
    (
        "queries:\n- {query: a,\n   mode: fast}\nsettings: {}\n",
        'queries:\n- {query: a,\n   mode: fast}\n- "Why: so?"\nsettings: {}\n',
    ),
    ("queries:\n- query: a\n  tags: [b]\nsettings: {}", 'queries:\n- query: a\n  tags: [b]\n- "Why: so?"\nsettings: {}'),
    ("queries:\n- |\n  a\n\nsettings: {}\n", 'queries:\n- |\n  a\n- "Why: so?"\n\nsettings: {}\n'),
    ("queries:\n- >-\n  a\n  # b", 'queries:\n- >-\n  a\n  # b\n- "Why: so?"\n'),
    ("---\nqueries:\n- a\n...\n", '---\nqueries:\n- a\n- "Why: so?"\n...\n'),
    ("queries: []\n", 'queries: ["Why: so?"]\n'),
    ("queries: [a, b]  # two\nsettings: {}\n", 'queries: [a, b, "Why: so?"]  # two\nsettings: {}\n'),
    ("queries: [\n  a,  # one, two\n]\n", 'queries: [\n  a, "Why: so?",  # one, two\n]\n'),
    ("queries: [\n  a  # one,\n]\n", 'queries: [\n  a, "Why: so?"  # one,\n]\n'),
    ("queries:\n- |\n  a\n  # b\n# c\nsettings: {}\n", 'queries:\n- |\n  a\n  # b\n- "Why: so?"\n# c\nsettings: {}\n'),
    ("{queries: [a]}\n", '{queries: [a, "Why: so?"]}\n'),
    ("\ufeffqueries:\n- a\n", '\ufeffqueries:\n- a\n- "Why: so?"\n'),
]


def _file(folder: Path, text: str) -> Path:
    path = folder / "queries.yaml"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(("before", "after"), STYLES)
def test_a_question_is_added_and_everything_else_stays(tmp_path: Path, before: str, after: str) -> None:
    path = _file(tmp_path, before)
    old = parse(path.read_bytes())[0]
    added = add_query(path, "Why: so?")
    assert path.read_bytes().decode() == after
    assert parse(path.read_bytes())[0].queries == (*old.queries, added)
    assert added.text == "Why: so?"


@pytest.mark.parametrize("before", ["queries:\n  - a\n", "queries: [a]\n", "queries:\n"])
def test_fields_are_written_beside_the_question(tmp_path: Path, before: str) -> None:
    path = _file(tmp_path, before)
    added = add_query(path, "Why?", id="why", mode="fast", every="7d", tags=["no", "x"], priority=3, budget_usd=0.5)
    assert (added.id, added.mode, added.tags, added.priority, added.budget_usd) == ("why", "fast", ("no", "x"), 3, 0.5)
    assert parse(path.read_bytes())[0].queries[-1] == added


def test_a_field_with_a_fault_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = _file(tmp_path, "queries: [a]\n")
    for fields in ({"mode": "slow"}, {"unknown": "x"}, {"id": "a"}, {"mode\n- no": "x"}):
        with pytest.raises(UsageError):
            add_query(path, "Why?", **fields)
    assert path.read_text() == "queries: [a]\n"


@pytest.mark.parametrize("other", ["A b?", "{query: Why?, id: a-b}"])
def test_a_question_that_begins_like_another_leaves_the_other_its_id(tmp_path: Path, other: str) -> None:
    path = _file(tmp_path, f"queries:\n- {other}\n")
    added = add_query(path, "A, b!")
    assert [query.id for query in parse(path.read_bytes())[0].queries] == ["a-b", added.id]
    assert added.id.startswith("a-b-")


def test_a_question_that_stands_there_is_refused_with_its_line(tmp_path: Path) -> None:
    path = _file(tmp_path, "queries:\n- Why not?\n")
    with pytest.raises(UsageError, match="line 2") as caught:
        add_query(path, " why  NOT? ")
    assert "why-not" in caught.value.hint
    assert path.read_text() == "queries:\n- Why not?\n"


def test_mode_and_symbolic_link_are_kept_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = _file(tmp_path / "real", "queries: []\n")
    real.chmod(0o640)
    link = tmp_path / "queries.yaml"
    link.symlink_to(real)
    add_query(link, "Why?")
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["queries.yaml"]


def test_a_disk_that_refuses_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = _file(tmp_path, "queries: []\n")
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(SystemRefused, match="No space left"):
        add_query(path, "Why?")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("queries.yaml", "queries: []\n")]


def _add(path: Path, start: int) -> None:
    for number in range(start, start + 10):
        add_query(path, f"Question {number}?")


def test_two_processes_that_add_at_once_lose_no_question(tmp_path: Path) -> None:
    path = _file(tmp_path, "queries: []\n")
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=_add, args=(path, start)) for start in (0, 100)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(parse(path.read_bytes())[0].queries) == 20


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec=None), max_size=60), style=st.sampled_from([before for before, _ in STYLES]))
def test_any_text_reads_back_or_is_refused(tmp_path: Path, text: str, style: str) -> None:
    path = _file(tmp_path, style)
    before = path.read_bytes()
    try:
        added = add_query(path, text)
    except UsageError:
        assert path.read_bytes() == before
    else:
        assert parse(path.read_bytes())[0].queries[-1] == added
        assert added.text == " ".join(text.split())
        assert parse(path.read_bytes())[0].queries[:-1] == parse(before)[0].queries
