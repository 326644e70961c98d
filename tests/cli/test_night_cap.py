"""The cap of a night binds whatever works with a model in it: also what is resumed, asked and consolidated by a person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commanding import Said, said, workspace_in
from tests.integration.stage import KEYS, queue_text
from tests.standin.fixtures import standin as standin
from tests.standin.server import Standin


@pytest.fixture(params=["files", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a model, two questions and no cap yet."""
    questions = {"depth": "How deep is the harbour at low tide?", "ships": "Where do ships wait at night?"}
    entries = "".join(f"  - {{query: '{text}', id: {name}, mode: fast}}\n" for name, text in questions.items())
    folder, settings = workspace_in(tmp_path, ""), "  embeddings: off\n  memory: model\n"
    (folder / "queries.yaml").write_text(queue_text(standin, search="local", queries=entries, settings=settings))
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in KEYS.items()))
    if request.param == "postgres":
        monkeypatch.setenv("RESEARCH_STORE", request.getfixturevalue("postgres_url"))
        assert said(folder, "store", "init").code == 0
    return folder


def change(folder: Path, old: str, new: str) -> None:
    queue = folder / "queries.yaml"
    assert old in queue.read_text()
    queue.write_text(queue.read_text().replace(old, new, 1))


def calls(standin: Standin, work: Callable[[], Said]) -> tuple[int, Said]:
    before = standin.log.charged().calls
    done = work()
    return standin.log.charged().calls - before, done


def test_what_was_asked_and_consolidated_counts_and_what_is_left_binds_talks_and_what_is_resumed(
    folder: Path, standin: Standin
) -> None:
    spent, night = calls(standin, lambda: said(folder, "-q", "run"))
    assert (night.code, spent > 2) == (0, True)
    first, answer = calls(standin, lambda: said(folder, "ask", "depth", "How many metres deep is the harbour?"))
    assert (answer.code, first > 0) == (0, True)
    change(folder, "limits: {}", f"limits: {{calls: {spent + first}}}")

    sent, answer = calls(standin, lambda: said(folder, "ask", "depth", "Do ships wait outside the harbour?"))
    assert sent == 0
    assert "without the model: the night's budget of" in answer.out

    change(folder, f"calls: {spent + first}", f"calls: {spent + first + 1}")
    assert calls(standin, lambda: said(folder, "ask", "depth", "Do ships wait outside?"))[0] == 1

    change(folder, f"calls: {spent + first + 1}", f"calls: {spent + first + 2}")
    sent, _again = calls(standin, lambda: said(folder, "run", "depth", "--again"))
    assert sent == 1
    sent, resumed = calls(standin, lambda: said(folder, "resume", "depth"))
    assert (sent, resumed.code) == (0, 3)
    assert "the night's limit of" in resumed.out


def test_what_is_left_of_the_cap_binds_a_consolidation(folder: Path, standin: Standin) -> None:
    change(folder, "memory: model", "memory: off")
    spent, night = calls(standin, lambda: said(folder, "-q", "run"))
    assert night.code == 0
    change(folder, "memory: off", "memory: model")
    change(folder, "limits: {}", f"limits: {{calls: {spent + 1}}}")
    sent, done = calls(standin, lambda: said(folder, "consolidate"))
    assert (sent, done.code) == (1, 0)
    assert "2 sessions consolidated" in done.out
    assert "the night's budget of" in done.err
