"""The name of a fold: it changes with every source that decides what a summary holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.domain import summary

PACKAGE = Path(__file__).parents[2] / "pipeline"


def fold_id_of(package: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The fold's name as the program in that folder gives it."""
    monkeypatch.setattr(summary, "__file__", str(package / "domain" / "summary.py"))
    name: str = summary.fold_id.__wrapped__()
    return name


def test_each_changed_source_of_the_fold_gives_it_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("domain", "text"):
        shutil.copytree(PACKAGE / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    names = [fold_id_of(tmp_path, monkeypatch)]
    for source in (
        "domain/fold.py",
        "domain/session_state.py",
        "domain/budget.py",  # what calls cost is part of the state
        "domain/events/session_events.py",
        "domain/agenda.py",  # a kept summary counts steps
        "text/ranking.py",
    ):
        with (tmp_path / source).open("a") as file:
            file.write("# changed\n")
        names.append(fold_id_of(tmp_path, monkeypatch))
    assert len(set(names)) == 7
