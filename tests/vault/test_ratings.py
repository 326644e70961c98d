"""A person calls a passage useful or wrong: in its note, or on its page; it is recorded once and can be taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.domain.events.upkeep_events import Rated
from pipeline.errors import UsageError
from pipeline.vault.identity import read_decisions
from pipeline.vault.output.user_text import marked
from pipeline.wiring.log_writers import rate
from pipeline.wiring.store_adapters import store_of
from tests.commanding import said, workspace_in
from tests.vault.builders import change


def _report(folder: Path) -> Path:
    return next((folder / "vault" / "reports").rglob("*.md"))


def _change(folder: Path, old: str, new: str) -> None:
    change(_report(folder), old, new, count=1)
    assert said(folder, "-q", "build").code == 0


def _rated(folder: Path) -> Rated:
    return read_decisions(store_of(folder)).ratings.about("depth")


def test_a_ticked_box_is_recorded_for_the_question_and_the_note_says_so(folder: Path) -> None:
    _change(folder, "- [ ] wrong", "- [x] wrong")
    assert len(_rated(folder).wrong) == len(_rated(folder).wrong_urls) == 1
    assert "- [x] wrong, noted" in _report(folder).read_text()
    assert not (folder / "vault" / "attic").exists()
    assert said(folder, "-q", "build").code == 0
    assert len(store_of(folder).marks(["vault"])) == 1


def test_a_tick_that_is_taken_away_takes_the_rating_back(folder: Path) -> None:
    _change(folder, "- [ ] useful", "- [x] useful")
    assert len(_rated(folder).useful) == 1
    _change(folder, "- [x] useful, noted", "- [ ] useful, noted")
    assert _rated(folder) == Rated()
    assert "noted" not in _report(folder).read_text()


def test_a_page_can_rate_what_its_report_quotes_and_nothing_else(folder: Path) -> None:
    note = _report(folder).relative_to(folder / "vault").as_posix()
    block = _report(folder).read_text().partition("#^")[2].partition("|")[0]
    rate(folder, note, block, "useful")
    assert len(_rated(folder).useful) == 1
    assert said(folder, "-q", "build").code == 0
    assert "- [x] useful, noted" in _report(folder).read_text()
    for other in ((note, "q-nothing"), ("Home.md", block)):
        with pytest.raises(UsageError):
            rate(folder, *other, "wrong")


@pytest.mark.parametrize("rating", ["useful", "wrong"])
def test_a_reports_property_rates_the_quotes_behind_its_answer_until_it_is_taken_away(folder: Path, rating: str) -> None:
    _change(folder, "\n---\n\n#", f"\nrating: {rating}\n---\n\n#")
    assert len(getattr(_rated(folder), rating)) == 1
    assert f"- [x] {rating}, noted" in _report(folder).read_text()
    assert said(folder, "-q", "build", "--all").code == 0
    assert len(store_of(folder).marks(["vault"])) == 1
    _change(folder, f"rating: {rating}\n", "rating: 3\n")
    assert _rated(folder) == Rated()


def test_only_ticks_that_are_not_recorded_count_and_each_belongs_to_the_quote_above_it() -> None:
    text = (
        "> — [[a#^q-1|x]]\n>\n> - [ ] useful\n> - [X] wrong\n\n> — [[a#^q-2|x]]\n>\n> - [x] useful, noted\n> - [ ] wrong, noted\n"
    )
    assert list(marked(text)) == [("q-1", "wrong"), ("q-2", "")]


THINGS = (
    "harbour bridge tower canal tunnel garden library museum theatre station market castle chapel school bakery mill forge "
    "orchard quarry lighthouse"
)


def _blocks(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"#\^(q-[^|]+)", text)))


def test_of_twenty_questions_the_next_night_shows_no_passage_called_wrong_and_keeps_each_called_useful(tmp_path: Path) -> None:
    things = THINGS.split()
    folder = workspace_in(tmp_path, "".join(f"  - {{query: How deep is the {one}?, id: {one}}}\n" for one in things))
    for one in things:
        for number, words in enumerate(
            ("metres deep at low tide", "fathoms deep when it rains", "feet deep as the old map says")
        ):
            text = f"# The {one} {number}\n\nThe {one} is {number + 3} {words}.\n"
            (folder / "corpus" / f"{one}-{number}.md").write_text(text)
    assert said(folder, "-q", "run").code == 0
    first = {path.name.split("-")[4]: path for path in (folder / "vault" / "reports").rglob("*.md")}
    assert first.keys() == {*things}
    wrong, useful = {}, {}
    for one, path in first.items():
        wrong[one], *_, useful[one] = _blocks(path.read_text())
        rate(folder, path.relative_to(folder / "vault").as_posix(), wrong[one], "wrong")
        rate(folder, path.relative_to(folder / "vault").as_posix(), useful[one], "useful")
    assert said(folder, "-q", "run", *things, "--again").code in (0, 5)
    again = (path for path in (folder / "vault" / "reports").rglob("*.md") if path not in first.values())
    second = {path.name.split("-")[4]: _blocks(path.read_text()) for path in again}
    assert [one for one in things if wrong[one] in second[one]] == []
    assert [one for one in things if useful[one] != second[one][0]] == []
