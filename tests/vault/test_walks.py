"""A person renames, moves, deletes and writes, on two machines that meet by ``git merge``: nothing of theirs is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.vault.walking import Walk


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", [3, 4])
def test_whatever_a_person_does_no_word_is_lost_no_note_doubled_and_every_link_leads_somewhere(tmp_path: Path, seed: int) -> None:
    Walk(tmp_path, seed).go(50, meet_every=25)
