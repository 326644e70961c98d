"""What a person reads in the morning: each question once, its answer in a sentence, how sure it is, what changed."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace, built, night


def _text(place: Workplace, start: str) -> str:
    return place.note(start).read_text()


def test_the_answer_is_the_first_sentence_that_says_enough_and_no_more(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store, say=lambda text: f"{text} {'It goes on and on. ' * 9}{'word ' * 100}".strip()).whole())
    home = _text(built(tmp_path, store), "Home")
    assert "\n    An append is durable after fsync returned. It goes on and on.[[sources/" in home


def test_the_front_page_stays_short_however_much_there_is(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(45):
        begun = Story(
            store, id=f"2026-11-21-x-{number:04d}", query=f"Why {number}?", query_id=f"q{number}", tags=(f"t{number}", "all")
        )
        begun.begin().failed()
    home = built(tmp_path, store).note("Home").read_text()
    assert "- [[bases/sessions.base|35 more]]" in home
    assert "Topics: [[topics/topic-all|all]] · " in home
    assert "[[bases/topics.base|26 more]]" in home


def test_the_notes_of_a_query_that_was_taken_out_of_the_file_say_so_until_it_comes_back(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).whole()
    place = Workplace(tmp_path, store)
    for number, archived in enumerate(((), (story.query_id,), ())):
        night(store, date=f"2026-11-2{number}", archived=archived)
        place.build()
        for room in ("reports/", "sessions/"):
            assert ("\narchived: true\n" in place.note(room).read_text()) == bool(archived)


def test_a_vault_without_any_session_says_what_to_do(tmp_path: Path) -> None:
    place = built(tmp_path, MemoryStore())
    assert [name for name in place.files() if name.endswith(".md")] == ["Home.md"]
    assert "research run" in _text(place, "Home")
