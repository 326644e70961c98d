"""The digest of the program's sources."""

from __future__ import annotations

import pytest

from pipeline.system import manifest, program_id, templates
from pipeline.text.ranking import rank_fusion
from pipeline.vault.output import prose


@pytest.mark.parametrize("module", [prose, templates, manifest, rank_fusion])
def test_all_that_decides_what_a_note_says_counts_in_subfolders_too(module: object) -> None:
    names = {str(path) for path in program_id.sources("vault")}
    assert module.__file__ in names  # type: ignore[attr-defined]


def test_each_room_has_its_own_digest() -> None:
    assert program_id.program_id("vault") != program_id.program_id("site")
