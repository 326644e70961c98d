"""What a fresh workspace begins with, and what an upgrade does to its templates: it keeps what a person wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.config import workspace_starter
from pipeline.config.workspace_settings import load_workspace
from pipeline.config.workspace_starter import TemplateUpdate, update_templates
from pipeline.errors import UsageError
from pipeline.wiring import corpus_status
from tests.store.samples import files_in


def test_a_fresh_workspace_is_valid_and_whole(tmp_path: Path) -> None:
    created, kept = workspace_starter.lay_out(tmp_path / "new" / "place")
    assert kept == []
    assert set(created) == files_in(tmp_path / "new" / "place").keys()
    workspace = load_workspace(tmp_path / "new" / "place")
    assert workspace.queue.queries
    assert any(workspace.corpora[0].iterdir())
    assert list((tmp_path / "new" / "place" / "templates" / "vault").glob("*.j2"))
    inside = {name.split("/")[1] for name in created if name.startswith("vault/")}
    assert {".obsidian", "my", "AGENTS.md"} == inside
    assert not any(name.startswith("events/") for name in created)


def test_what_stands_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("queries: [mine]\n")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "README.md").write_text("mine too")
    created, kept = workspace_starter.lay_out(tmp_path)
    assert set(kept) == {"queries.yaml", "corpus/README.md"}
    assert (tmp_path / "queries.yaml").read_text() == "queries: [mine]\n"
    assert (tmp_path / "corpus" / "README.md").read_text() == "mine too"
    assert not set(kept) & set(created)


def test_a_file_is_no_folder_for_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file, not a folder"):
        workspace_starter.lay_out(tmp_path / "file")


def documents(folder: Path) -> str:
    return corpus_status.documents_in(load_workspace(folder))


def test_the_sample_documents_are_told_from_ones_own_by_name_and_bytes(tmp_path: Path) -> None:
    workspace_starter.lay_out(tmp_path)
    assert documents(tmp_path) == "samples"
    sample = min(path for path in (tmp_path / "corpus").rglob("*.md"))
    sample.rename(sample.with_name("renamed.md"))
    assert documents(tmp_path) == "own"
    sample.with_name("renamed.md").unlink()
    assert documents(tmp_path) == "samples"
    edited = min(path for path in (tmp_path / "corpus").rglob("*.md"))
    edited.write_bytes(edited.read_bytes()[:-1] + b"!")
    assert documents(tmp_path) == "own"


def test_a_folder_without_documents_or_no_folder_holds_none_and_another_beside_it_is_looked_at(tmp_path: Path) -> None:
    workspace_starter.lay_out(tmp_path)
    shutil.rmtree(tmp_path / "corpus")
    assert documents(tmp_path) == "none"
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "picture.png").write_bytes(b"1234")
    assert documents(tmp_path) == "none"
    (tmp_path / "queries.yaml").write_text("settings: {corpus: [gone, corpus]}\nqueries: [Why?]\n")
    (tmp_path / "corpus" / "a.md").write_text("# A\n")
    assert documents(tmp_path) == "own"


NAME, OTHER = "site/list.html.j2", "site/search.html.j2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with the program's templates of this version."""
    workspace_starter.lay_out(tmp_path / "ws")
    workspace_starter.record_shipped(tmp_path / "ws")
    return tmp_path / "ws"


@pytest.fixture
def later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version of the program than the one that made the folder; one template says more."""
    assert folder.is_dir()
    now = workspace_starter._current()
    monkeypatch.setattr(workspace_starter, "_current", lambda: {**now, NAME: now[NAME] + b"later\n"})


def text_of(folder: Path, name: str) -> str:
    return (folder / "templates" / name).read_text()


@pytest.mark.usefixtures("later")
def test_a_template_that_nobody_edited_becomes_the_later_one(folder: Path) -> None:
    assert update_templates(folder) == TemplateUpdate(updated=[NAME])
    assert text_of(folder, NAME).endswith("later\n")
    assert update_templates(folder) == TemplateUpdate()


def test_a_template_that_is_no_longer_used_goes_unless_somebody_edited_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = workspace_starter._current()
    monkeypatch.setattr(workspace_starter, "_current", lambda: {name: now[name] for name in now.keys() - {NAME, OTHER}})
    (folder / "templates" / OTHER).write_text("mine\n")
    assert update_templates(folder) == TemplateUpdate(removed=[NAME])
    assert not (folder / "templates" / NAME).exists()
    assert text_of(folder, OTHER) == "mine\n"


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("is_recorded", [True, False])
def test_an_edited_or_unknown_template_is_replaced_only_if_asked_and_kept(folder: Path, is_recorded: bool) -> None:
    file = folder / "templates" / NAME
    if is_recorded:
        file.write_text("mine\n")
    else:
        (folder / "templates" / workspace_starter.SHIPPED).unlink()
    before = file.read_text()
    assert update_templates(folder) == TemplateUpdate(edited=[NAME])
    assert file.read_text() == before
    assert update_templates(folder, replace=True) == TemplateUpdate(replaced={NAME: f"replaced/{NAME}"})
    assert text_of(folder, f"replaced/{NAME}") == before
    assert text_of(folder, NAME).endswith("later\n")
    assert update_templates(folder) == TemplateUpdate()


def test_templates_that_are_gone_altogether_are_copied_again(folder: Path) -> None:
    shutil.rmtree(folder / "templates")
    assert {NAME, OTHER} <= {*update_templates(folder).added}
    assert update_templates(folder) == TemplateUpdate()


def test_a_part_whose_folder_was_removed_stays_away_and_a_link_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    for file in (folder / "templates" / "prompts").iterdir():
        file.unlink()
    (folder / "templates" / "prompts").rmdir()
    link = folder / "templates" / OTHER
    link.unlink()
    (tmp_path / "shared.j2").write_text("shared\n")
    link.symlink_to(tmp_path / "shared.j2")
    assert update_templates(folder, replace=True) == TemplateUpdate(edited=[OTHER])
    assert link.read_text() == "shared\n"
