"""What a person reads in the morning is short, says what to do, and never more than was judged."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.events.night_events import BatchStarted, QueryEnded
from pipeline.domain.research_values import Cost
from pipeline.vault.notes.nights_and_home import questions_of
from pipeline.vault.read_model import Card, News, Night, nights_in
from tests.fakes import MemoryStore
from tests.vault.builders import Scribe, Story, Workplace, built, change, night


def test_the_answer_is_the_first_sentence_that_says_enough_and_no_more(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store, say=lambda text: f"{text} {'It goes on and on. ' * 9}{'word ' * 100}".strip()).whole())
    home = built(tmp_path, store).note("Home").read_text()
    assert "\n    An append is durable after fsync returned. It goes on and on.[[sources/" in home


def test_the_front_page_stays_short_however_much_there_is(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(45):
        begun = Story(
            store, id=f"2026-11-21-x-{number:04d}", query=f"Why {number}?", query_id=f"q{number}", tags=(f"t{number}", "all")
        )
        begun.begin().failed()
    stories = list[Story]()
    for one in range(9):
        asked: dict[str, Any] = {"query": f"What of {one}?", "query_id": f"y{one}"}
        before = Story(store, id=f"2026-11-21-y-{one}", **asked).begin().not_found()
        stories.append(Story(store, id=f"2026-11-22-y-{one}", previous=before.id, **asked))
    night(store, *(story.whole() for story in stories), date="2026-11-22")
    place = built(tmp_path, store)
    home = place.note("Home").read_text()
    lines = "|What of 6?]]", "|What of 7?]]", "[[nights/2026-11-22|and 2 more]]"
    assert [line in home for line in lines] == [True, False, True]
    assert "|What of 8?" in place.note("nights/").read_text()
    assert "- [[bases/sessions.base|35 more]]" in home
    assert "Topics: [[topics/topic-all|all]] · " in home
    assert "[[bases/topics.base|27 more]]" in home


def test_a_night_by_a_clock_that_was_ahead_hides_none_that_came_after_it(tmp_path: Path) -> None:
    store, merged = MemoryStore(), MemoryStore()
    ahead = Story(store, id="2027-05-01-power-cut-aaaa", date="2027-05-01").whole()
    night(store, ahead, date="2027-05-01")
    later = Story(store, id="2026-11-22-power-cut-bbbb", previous=ahead.id, date="2026-11-22").whole()
    night(store, later, date="2026-11-22")
    night(merged, Story(merged, id="2026-11-21-x-cccc", query="Why?", query_id="x").whole(), date="2026-11-21")
    store.streams |= merged.streams  # of a machine that knew of neither
    place = built(tmp_path, store)
    assert [one.date for one in nights_in(store)[0]] == ["2026-11-21", "2027-05-01", "2026-11-22"]
    assert "\ncreated: 2026-11-22T02:00:01\n" in place.note("nights/2027-05-01").read_text()  # as lists and the feed have it
    assert "[[nights/2026-11-22|" in place.note("Home").read_text()
    reports = {path.stem[-4:]: path.read_text() for path in (place.vault / "reports").rglob("*.md")}
    assert "superseded_by" in reports["aaaa"]
    assert "superseded_by" not in reports["bbbb"]
    assert "earlier_reports: 1" in reports["bbbb"]
    assert "earlier_reports" not in reports["aaaa"]


def test_that_reports_are_called_wrong_on_one_machine_is_said_on_another_too(tmp_path: Path) -> None:
    store = MemoryStore()
    for day in ("2026-11-21", "2026-11-22"):
        Story(store, id=f"{day}-power-cut-3f{day[-2:]}", date=day).begin().not_found()
    place, other = built(tmp_path / "a", store), built(tmp_path / "b", store)
    for note in sorted((place.vault / "reports").rglob("*.md")):
        change(note, "---\n", "---\nrating: wrong\n", count=1)
        place.build()
        other.build()
    assert other.files() == place.files()
    theirs = other.vault / note.relative_to(place.vault)
    change(theirs, "%% begin notes %%\n", "%% begin notes %%\nMine.\n")
    other.build()
    change(note, "rating: wrong", "rating: useful")
    place.build()
    other.build()
    assert "\nrating: useful\n" in theirs.read_text()


def test_a_question_not_found_or_not_reached_stands_in_its_night_also_when_the_report_before_was_deleted(tmp_path: Path) -> None:
    store = MemoryStore()
    found = Story(store, query="Is it deep?", query_id="deep").whole()
    night(store, found)
    lost = Story(store, id="2026-11-22-deep-3f2b", query="Is it deep?", query_id="deep", previous=found.id, date="2026-11-22")
    lost.begin().not_found()
    night(store, lost, date="2026-11-22")
    due = BatchStarted(due=("deep",), queries={"deep": "Is it deep?"})
    Scribe(store, "batch-2026-11-23t020000-ab12", "2026-11-23").note(due)
    place = built(tmp_path, store)
    assert "answered on 21 November 2026" in place.note("nights/2026-11-22").read_text()
    for report, day in (("3f2a", 22), ("3f2b", 23)):
        next((place.vault / "reports").rglob(f"*-{report}.md")).unlink()
        place.build()
        assert "Is it deep?" in place.note(f"nights/2026-11-{day}").read_text()


def test_a_question_whose_change_was_told_stays_if_it_says_more_and_those_not_found_are_in_the_order_of_work() -> None:
    told = News("2026-11-20", ("The fee is 3.",), changed=1, near=1.0)
    also = replace(told, lost=("old.md",)), replace(told, other="another passage is nearest since you called 1 wrong")
    cards = {f"q{place}": card_for("passages", news) for place, news in enumerate((told, told, *also))}
    cards |= {"back": replace(card_for("answered", replace(told, first=("It is 4.",))), says_more="not-found")}
    cards |= {"none": card_for("not-found", None), "nor": card_for("not-found", told)}
    ended = [QueryEnded(query_id=name, query=name, session=name, status="complete") for name in cards]
    last = Night("2026-11-21", (), datetime.min, Cost(), (), dict.fromkeys(cards, 1))
    groups = {one.query_id: group for one, _, group in questions_of(last, zip(ended, cards.values(), strict=True))}
    assert [groups[name] for name in cards] == ["changed"] * 4 + ["answered"] + ["not-found"] * 2
    assert [name for name in groups if groups[name] == "not-found"] == ["none", "nor"]


def card_for(outcome: str, news: News | None) -> Card:
    card = Card(id="s", status="complete", outcome=outcome, session_path="s", report_path="r", workers={}, news=news)
    return replace(card, reported_at="2026-11-21T02:00:00.000Z", previous_session="s0")


def test_a_vault_without_any_session_says_what_to_do(tmp_path: Path) -> None:
    place = built(tmp_path, MemoryStore())
    assert [name for name in place.files() if name.endswith(".md")] == ["Home.md"]
    assert "research run" in place.note("Home").read_text()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("My%20notes%20%C3%A9.md", r"\[My notes é\.md in your documents\]\(file:///\S+/papers/My%20notes%20%C3%A9\.md\) · "),
        ("%2E%2E/secret.md", r"\.\./secret\.md in your documents · "),  # not what is in their folder
        ("plan.md", r"plan\.md · (?!.*in your documents)(?s:.*)no longer in its folder"),
        (f"{300 * 'x'}.md", r"\[x+\.md in your documents\]"),  # which no folder can have
    ],
)
def test_a_document_is_called_by_the_name_of_its_file_and_linked_to_unless_it_is_gone(
    tmp_path: Path, path: str, shown: str
) -> None:
    Story(store := MemoryStore(), pages=(f"corpus:{path}", "https://z.example/1", "https://z.example/2")).whole()
    place = Workplace(tmp_path, store, documents=tmp_path / "papers")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "My notes é.md").touch()
    place.build()
    assert re.search(rf"(?m)^{shown}", place.note("sources/").read_text())
