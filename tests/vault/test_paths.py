"""Paths are safe on every file system, unique, and never change."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault import note
from pipeline.vault.note import Names
from tests.fakes import MemoryStore
from tests.vault.builders import Story, built

NASTY = (
    "", "CON", "nul.txt", "a/b\\c", "../../etc/passwd", "..", ".", " .hidden", "-rf", "a:b*?", "x" * 300, "水" * 300,
    "🌊" * 90, "É" * 255, "2024 in review", "name.", "a\x00b", "#^[]|%%", "Ünïcödé", "\u202eabc", "c:", "~", "%2e%2e%2f",
    "Home", "readme", "ꪾÞ",
)  # fmt: skip
AT = "2026-11-21T02:15:00.000Z"
anything = st.one_of(st.sampled_from(NASTY), st.text())


def _is_safe(path: str) -> bool:
    folder, _, stem = path.rpartition("/")
    letters = f"{folder}{stem}".translate({ord("-"): "", ord("/"): ""})
    plain = all(unicodedata.category(sign)[0] in "LMN" for sign in letters) and stem[0].isalpha() and not stem.endswith("-")
    one = stem == stem.lower() == unicodedata.normalize("NFC", stem)
    return (
        plain
        and one
        and len(stem) <= note.MAX_STEM
        and len(f"{stem}.md".encode()) <= 220
        and re.fullmatch(r"[a-z]+/\d{4}(-\d\d|/[^/-][^/]*)?", folder) is not None
        and len(folder.encode()) <= 240
    )


@settings(max_examples=300, deadline=None)
@given(anything, anything, anything, anything)
def test_every_stem_is_safe_and_short_and_a_block_id_has_only_what_obsidian_allows(
    query: str, session: str, perspective: str, url: str
) -> None:
    taken = Names()
    found = (
        note.report_path(query, session, AT),
        note.session_path(query, session, AT),
        note.worker_path(query, session, AT, perspective),
        note.source_path(url, AT),
    )
    for path in found:
        assert _is_safe(taken.claim(path, query))
        assert _is_safe(taken.claim(path, query + "again")), "also with a digest behind it"
    assert re.fullmatch(r"q-[A-Za-z0-9-]+", note.block_id(query))


def test_a_question_in_any_script_gives_its_note_a_name_in_that_script_and_a_perspective_a_worker() -> None:
    assert note.report_path("電池の規制は?", "2026-11-21-x-3f2a", AT) == "reports/2026/電池の規制は-3f2a"
    assert note.session_path("Что изменилось?", "2026-11-21-x-3f2a", AT) == "sessions/2026/session-что-изменилось-3f2a"
    assert note.report_path("Größe der Façade", "s-3f2a", AT) == "reports/2026/größe-der-façade-3f2a"
    source = note.source_path("https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC", AT)
    assert source.startswith("sources/2026-11/source-ja-wikipedia-org-wiki-日本-")
    assert note.worker_path("Wie tief?", "s-3f2a", AT, "Größe") == "workers/2026/wie-tief-3f2a/größe-3f2a"


def _paths(store: MemoryStore, root: Path) -> set[str]:
    place = built(root, store)
    return {path.removesuffix(".md") for path in place.files() if path.endswith(".md")}


def test_of_two_sessions_that_want_one_name_the_earlier_has_it_in_whatever_order_they_come(tmp_path: Path) -> None:
    late_first, early_first = MemoryStore(), MemoryStore()
    for store, dates in ((late_first, ("12-01", "11-21")), (early_first, ("11-21", "12-01"))):
        for date in dates:
            Story(store, id=f"2026-{date}-power-cut-3f2a", date=f"2026-{date}").whole()
            paths = _paths(store, tmp_path / dates[0])
    assert paths == _paths(late_first, tmp_path / "12-01")
    del late_first.streams["2026-11-21-power-cut-3f2a"]
    late_first.given_up.add("2026-11-21-power-cut-3f2a")
    assert _paths(late_first, tmp_path / "12-01") == _paths(late_first, tmp_path / "afresh")
