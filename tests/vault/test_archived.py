"""A query that is taken out of the queue: its notes stay, and say that it is archived, until it comes back."""

from __future__ import annotations

from pathlib import Path

import frontmatter
import pytest

from tests.faults.night import FIRST, SECOND, Workspace, workspace

THIRD = "  - {query: What does a torn record look like?, id: torn, mode: fast}\n"
FOURTH = "  - {query: When is a record synced?, id: synced, mode: fast}\n"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return workspace(tmp_path / "workspace")


def night(space: Workspace, *queries: str) -> None:
    (space.folder / "queries.yaml").write_text("settings: {reasoner: extractive, search: [local]}\nqueries:\n" + "".join(queries))
    assert space.research("run").code == 0


def archived(space: Workspace) -> set[str]:
    """The questions whose report and session notes both say so."""
    notes = [frontmatter.load(str(path)) for path in (space.folder / "vault").rglob("*.md")]
    said = [
        {note["query"] for note in notes if note.get("kind") == kind and note.get("archived")} for kind in ("report", "session")
    ]
    assert said[0] == said[1]
    return {str(question) for question in said[0]}


def test_a_query_taken_out_of_the_file_is_archived_in_the_vault_and_comes_back_with_it(space: Workspace) -> None:
    night(space, FIRST, SECOND)
    assert archived(space) == set()
    night(space, SECOND, THIRD)
    assert archived(space) == {"What is lost when a log is not synced?"}
    night(space, FIRST, SECOND, THIRD, FOURTH)
    assert archived(space) == set()
