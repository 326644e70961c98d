"""A person's words survive, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.output import user_text
from pipeline.vault.output.user_text import BlocksMalformed
from tests.vault.builders import Workplace, a_store

OPEN, CLOSE = "%% begin notes %%\n", "%% end notes %%\n"
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40).filter(
    lambda line: "%%" not in line and "```" not in line and "~~~" not in line
)
words = st.lists(lines, max_size=6).map(lambda entries: "".join(f"{entry}\n" for entry in entries))


@given(words, words, words)
def test_what_stands_in_a_block_comes_back_from_it(before: str, mine: str, after: str) -> None:
    body = f"{before}{OPEN}{mine}{CLOSE}{after}"
    found = user_text.texts(body)
    assert found == ({"notes": mine} if mine.strip() else {})
    assert user_text.filled(user_text.blanked(body), {"notes": mine}) == body
    assert user_text.blanked(body) == f"{before}{OPEN}{CLOSE}{after}"


def test_markers_in_a_code_fence_are_text() -> None:
    body = f"```\n{OPEN}```\n{OPEN}~~~\n{CLOSE}~~~\nmine\n{CLOSE}"
    assert user_text.texts(body) == {"notes": f"~~~\n{CLOSE}~~~\nmine\n"}


@pytest.mark.parametrize(
    "body",
    [
        OPEN,
        CLOSE,
        OPEN + OPEN + CLOSE,
        OPEN + CLOSE + CLOSE,
        OPEN + CLOSE + OPEN + CLOSE,
        OPEN + "%% end other %%\n",
        OPEN + "```\n" + CLOSE,
    ],
)
def test_markers_that_do_not_pair_up_are_named_with_their_line(body: str) -> None:
    with pytest.raises(BlocksMalformed, match=r"line \d+"):
        user_text.find_blocks(body)


def test_a_block_the_template_lost_comes_last_under_its_own_heading() -> None:
    body = user_text.filled("# Title\n", {"old": "mine\n"})
    assert body == f"# Title\n\n{user_text.KEPT_HEADING}\n\n%% begin old %%\nmine\n%% end old %%\n"
    assert user_text.filled("# Title\n", user_text.texts(body)) == body


def _write_into(note: Path, text: str) -> None:
    note.write_bytes(note.read_bytes().replace(OPEN.encode() + CLOSE.encode(), OPEN.encode() + text.encode() + CLOSE.encode()))


def test_bytes_that_are_no_text_and_foreign_line_ends_are_kept_too(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    note = place.note("sources/")
    mine = b"caf\xe9 \xff\r\nsecond line\r\n"
    note.write_bytes(note.read_bytes().replace(OPEN.encode(), OPEN.encode() + mine))
    before = note.read_bytes()
    assert place.build().written == ()
    assert note.read_bytes() == before


def test_own_properties_tags_and_aliases_are_kept(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    note = place.note("reports/")
    text = (
        note.read_text()
        .replace("tags:\n", "rating:   5 # good\ntags:\n  - mine/too\n")
        .replace("aliases:\n", "aliases:\n  - Power cuts\n")
    )
    note.write_text(text)
    report = place.build()
    assert report.set_aside == ()
    assert report.written == (note.relative_to(place.vault).as_posix(),)
    kept = note.read_text()
    assert all(part in kept for part in ("rating:   5 # good\n", '  - "mine/too"\n', '  - "Power cuts"\n'))
    assert place.build().written == ()


@pytest.mark.parametrize("broken", ["%% begin notes %%\n", "\n%% end notes %%\n"])
def test_a_note_with_a_broken_marker_is_left_alone_and_named(tmp_path: Path, broken: str) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    note = place.note("workers/")
    note.write_text(note.read_text() + broken)
    before = note.read_bytes()
    report = place.build()
    assert note.read_bytes() == before
    assert len(report.left_alone) == 1
    assert re.search(rf"{note.name}: line \d+", report.left_alone[0])


def test_broken_properties_leave_a_note_alone(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    note = place.note("workers/")
    note.write_text(note.read_text().replace("---\n", "---\nbroken: [\n", 1))
    before = note.read_bytes()
    assert len(place.build().left_alone) == 1
    assert note.read_bytes() == before
