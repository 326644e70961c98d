"""What a person says to the program in a note, or on its page: what is useful or wrong, and further questions."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pipeline.domain.events.upkeep_events import Rated
from pipeline.errors import UsageError
from pipeline.vault.identity import read_decisions
from pipeline.vault.output.user_text import AskedLine, asked_lines
from pipeline.wiring.run_context_and_note_ratings import rate
from pipeline.wiring.store_adapters import store_of
from tests.commanding import said, workspace_in
from tests.vault.builders import change, write_into

REPORT = "reports/*/*.md"


def only(folder: Path, pattern: str = REPORT) -> Path:
    (path,) = (folder / "vault").glob(pattern)
    return path


def _change(folder: Path, old: str, new: str, note: Path | None = None) -> None:
    change(note or only(folder), old, new, count=1)
    assert said(folder, "-q", "build").code == 0


def _rated(folder: Path) -> Rated:
    return read_decisions(store_of(folder)).ratings.about("depth")


def test_a_page_can_rate_what_its_report_quotes_and_nothing_else(folder: Path) -> None:
    note = only(folder).relative_to(folder / "vault").as_posix()
    block = _blocks(only(folder).read_text())[0]
    rate(folder, note, block, "useful")
    assert len(_rated(folder).useful) == 1
    assert said(folder, "-q", "build").code == 0
    assert "- [x] useful, noted" in only(folder).read_text()
    for other in ((note, "q-nothing"), ("Home.md", block)):
        with pytest.raises(UsageError):
            rate(folder, *other, "wrong")


@pytest.mark.parametrize("rating", ["useful", "wrong"])
def test_a_reports_property_rates_the_quotes_behind_its_answer_until_it_is_taken_away(folder: Path, rating: str) -> None:
    change(only(folder), re.findall('id: "report:.*\n', only(folder).read_text())[0], "")  # it is this note without that, too
    _change(folder, "\n---\n\n#", f"\nrating: {rating}\n---\n\n#")
    report = only(folder).read_text()
    shutil.rmtree(folder / "vault")
    assert said(folder, "-q", "build").code == 0
    assert only(folder).read_text() == report
    assert len(getattr(_rated(folder), rating)) == 1
    assert f"- [x] {rating}, noted" in only(folder).read_text()
    assert ("(you called it wrong)" in (folder / "vault" / "Home.md").read_text()) is (rating == "wrong")
    _change(folder, f"rating: {rating}\n", "rating: 3\n")
    assert not _rated(folder).useful | _rated(folder).wrong


@pytest.mark.parametrize("command", [["build"], ["run", "depth", "--again"]])
@pytest.mark.parametrize("place", ["", "reports/2026/renamed.md", "reports/people/moved.md", "attic/people/removed.md"])
@pytest.mark.parametrize(("old", "new"), [("- [ ] wrong", "- [x] wrong"), ("\n---\n\n#", "\nrating: wrong\n---\n\n#")])
def test_what_is_said_in_a_report_is_recorded_once_also_if_it_is_moved_or_removed_before_the_next_build(
    folder: Path, old: str, new: str, place: str, command: list[str]
) -> None:
    report = only(folder)
    moved = folder / "vault" / place if place else report
    wrong = _blocks(report.read_text())[0]
    change(report, old, new, count=1)
    moved.parent.mkdir(parents=True, exist_ok=True)
    report.rename(moved)
    for again in (command, ["build"], ["build", "--all"]):
        assert said(folder, "-q", *again).code == 0
        assert len(_rated(folder).wrong) == len(_rated(folder).wrong_urls) == 1
    logged = [record.data for name in store_of(folder).marks(["vault"]) for record in store_of(folder).load(name)]
    assert sum('"note.rated"' in str(data) for data in logged) == (1 if "[x]" in new else 2)
    later = [path for path in (folder / "vault" / "reports").rglob("*.md") if path != moved]
    assert len(later) == (command[0] == "run")
    assert not any(wrong in _blocks(path.read_text()) for path in later)
    if "rating" in new and "attic" not in place:
        assert all(" · called wrong]]" in path.read_text() for path in later)
    if "attic" not in place:
        assert not (folder / "vault" / "attic").exists()
        assert "- [x] wrong, noted" in moved.read_text()
        _change(folder, "- [x] wrong, noted", "- [ ] wrong" if place else "- [ ] wrong, noted", moved)
        assert not _rated(folder).wrong
        assert "noted" not in moved.read_text()
        assert not (folder / "vault" / "attic").exists()


def test_an_older_copy_takes_nothing_back(folder: Path) -> None:
    report = only(folder)
    old = report.read_text()
    _change(folder, "> [!", "> Edited. [!")
    assert [*(folder / "vault" / "attic").iterdir()]
    _change(folder, "\n---\n\n#", "\nrating: wrong\n---\n\n#")
    report.with_name("a sync-conflict copy.md").write_text(old)
    assert said(folder, "-q", "build").code == 0
    assert len(_rated(folder).wrong) == 1
    assert only(folder) == report
    (folder / "events" / "local" / "projection.sqlite").unlink()
    _change(folder, "rating: wrong\n", "")
    report.unlink()
    assert said(folder, "-q", "build").code == 0
    assert len(_rated(folder).wrong) == 1


def _blocks(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"#\^(q-[^|]+)", text)))


@pytest.mark.parametrize(("rating", "depth"), [("wrong", "zehn"), ("wrong", "zwölf"), ("useful", "zwölf")])
def test_what_is_ticked_before_a_night_holds_in_that_night_also_for_a_passage_of_which_a_word_changed(
    tmp_path: Path, rating: str, depth: str
) -> None:
    folder = workspace_in(tmp_path, "  - {query: Wie tief ist der Hafen?, id: depth}\n")
    document = folder / "corpus" / "hafen.md"
    text = "Der Hafen ist zehn Meter tief, wo die Schiffe des Nordens hinter dem alten Leuchtturm warten.\n"
    document.write_text(f"# Molen\n\n{text}")
    (folder / "corpus" / "west.md").write_text("# Im Westen\n\nIm Westen ist der Hafen drei Meter tief.\n")
    assert said(folder, "-q", "run").code == 0
    first = only(folder)
    boxes = "warten." + first.read_text().partition("warten.")[2].partition(f"[ ] {rating}")[0]
    change(first, f"{boxes}[ ] {rating}", f"{boxes}[X] {rating}")
    change(document, "zehn", depth)
    assert said(folder, "-q", "run", "depth", "--again").code == 0
    (second,) = set((folder / "vault").glob(REPORT)) - {first}
    report = second.read_text()
    assert [f"{quote} Der Hafen ist {depth}" in report for quote in (">", "> >")] == [rating == "useful"] * 2
    assert f"- [x] {rating}, noted" in first.read_text()
    assert not (folder / "vault" / "attic").exists()
    assert len(store_of(folder).marks(["vault"])) == 1
    assert ("> - 1 Passage wie zuvor\n" in report) == (rating == "useful")
    assert ("> [!tip] Als falsch markiert, nicht mehr gezeigt: 1 Passage (" in report) == (rating == "wrong")
    if rating == "useful":
        _change(folder, "- [x] useful, noted", "- [ ] useful, noted", second)
        assert "noted" not in second.read_text()


OURS = '---\ntitle: "A report"\nid: "report:s1"\n---\n\n# A report\n\n'


@pytest.mark.parametrize(
    ("path", "head", "own", "asked"),
    [
        ("reports/a.md", OURS, "my words\nask: How deep is it?\n- ask: Since when?\n", ["How deep is it?", "Since when?"]),
        ("reports/a.md", OURS, "- [ ] Ask: Who built it?\nI ask: myself\nask: \u200b\n", ["Who built it?"]),
        ("reports/a.md", f"{OURS}ask: What does a page want?\n", "", []),
        ("reports/a.md", f"{OURS}%% begin notes %%\n", "ask: Why?\n", []),
        ("reports/a.md", f"{OURS}\udcff", "ask: Why?\n", []),  # bytes that are no text
        ("reports/a.md", "# Mine\n\n", "ask: Why?\n", []),
        ("my/a.md", OURS, "ask: Why?\n", ["Why?"]),
        ("attic/a.md", OURS, "ask: Why?\n", []),
    ],
)
def test_lines_of_a_persons_block_that_begin_with_ask_are_questions_in_our_notes_alone(
    tmp_path: Path, path: str, head: str, own: str, asked: list[str]
) -> None:
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(f"{head}\n%% begin notes %%\n{own}%% end notes %%\n", errors="surrogateescape")
    assert asked_lines(tmp_path) == [AskedLine("report:s1", text) for text in asked]


def asked_since(folder: Path, pattern: str = REPORT) -> str:
    _, heading, rest = only(folder, pattern).read_text().partition("## Asked since\n")
    return rest.partition("\nHow this " if "report" in pattern else "\n## ")[0] if heading else ""


def test_a_report_lists_what_was_asked_since_with_a_line_of_answer_and_its_source(folder: Path) -> None:
    assert said(folder, "ask", "depth", "How many metres deep is the harbour?").code == 0
    said(folder, "ask", "--continue", "Where do ships wait at night?")
    said(folder, "ask", "depth", "Is semaglutide safe in pregnancy?")
    first, second, third = asked_since(folder).strip().splitlines()
    assert first.startswith("- **How many metres deep is the harbour?** ")
    assert "** The passages that come nearest. No model has read them. “" in first
    assert "metres deep at low tide" in first
    assert first.count("[[sources/") == 1  # the one whose passage is shown
    assert "Ships wait outside" in second
    assert "The stored pages do not say." in third
    assert "Where do ships wait at night?" in next((folder / "site" / "reports").rglob("*.html")).read_text()
    assert not (folder / "vault" / "talks").exists()


def test_a_question_in_a_note_is_answered_once_in_the_next_run_and_the_line_stays(folder: Path) -> None:
    report = only(folder)
    write_into(report, "my own words\n- ask: Where do ships wait at night?")
    assert said(folder, "run").code == 0
    assert "Ships wait outside" in asked_since(folder)
    assert "my own words\n- ask: Where do ships wait at night?\n" in report.read_text()
    link = f"[[{report.relative_to(folder / 'vault').with_suffix('')}|Where do ships wait at night?]]"
    for note in (folder / "vault" / "Home.md", only(folder, "nights/*.md")):
        assert f"## Answered in notes\n\n- {link}: “The harbour is 12 metres" in note.read_text()
    mail = " ".join(said(folder, "digest").out.split())
    assert re.search(rf"Answered in notes - Where do ships wait at night.: “The .*” .*{report.name}.", mail)
    events = [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())]
    assert said(folder, "run").code == 0
    assert [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())] == events


def test_a_question_in_a_topics_note_is_answered_there_from_the_topics_pages(folder: Path) -> None:
    write_into(only(folder, "topics/*.md"), "ask: Where do ships wait at night?")
    assert said(folder, "run").code == 0
    assert '"scope":"topic"' in next((folder / "events" / "talks").iterdir()).read_text()
    assert "Ships wait outside" in asked_since(folder, "topics/*.md")
    assert asked_since(folder) == ""
