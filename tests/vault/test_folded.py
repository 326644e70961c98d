"""Fewer notes: workers folded into their session's note, and no note for a source to which no result leads."""

from __future__ import annotations

from pathlib import Path

from pipeline.vault import build_vault
from tests.vault.builders import Workplace, a_store, afresh
from tests.vault.links import targets
from tests.vault.scanner import body_of, scan


def fold(place: Workplace) -> None:
    build_vault(place.store, templates=place.templates, vault=place.vault, state_dir=place.state, workers="folded")


def test_folded_workers_have_no_notes_and_every_link_to_them_leads_to_a_block_of_their_session(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    fold(place)
    assert not (place.vault / "workers").exists()
    notes = {path.relative_to(place.vault).as_posix()[:-3]: path.read_text() for path in place.vault.rglob("*.md")}
    blocks = {f"{path}#^{block}" for path, text in notes.items() for block in scan(body_of(text)).blocks}
    led = {target for text in notes.values() for target in targets(text) if "#^w-" in target}
    assert led
    assert led <= blocks
    assert all(target.startswith("sessions/") for target in led)


def test_folded_and_back_the_vault_is_as_if_it_had_always_been_so(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "one", a_store())
    place.build()
    before = place.files()
    fold(place)
    folded = place.files()
    other = Workplace(tmp_path / "two", place.store)
    fold(other)
    assert folded == other.files()
    place.build()
    assert place.files() == before == afresh(place, tmp_path / "three")
