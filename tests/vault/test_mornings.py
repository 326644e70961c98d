"""What a person reads in the morning: each question once, its answer in a sentence, how sure it is, what changed."""

from __future__ import annotations

from pathlib import Path

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Changes, SourceChange
from pipeline.errors import GONE
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace, built, changing, night

STEM = "how-does-an-append-only-log-survive-a-power-cut"


def _text(place: Workplace, start: str) -> str:
    return place.note(start).read_text()


def researched_again(root: Path, **changed: object) -> Workplace:
    """A vault with two nights' reports on one question; what changed between them is as given."""
    store = MemoryStore()
    first = Story(store).whole()
    again = Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28")
    changes = Changes(session=first.id, since="2026-11-21T02:16:00.000Z", kept=3).model_copy(update=changed)
    again.scribe.amend = changing(e.ChangesFound, changes=changes)
    night(store, first)
    night(store, again.whole(), date="2026-11-28")
    return built(root, store)


def test_a_document_that_is_gone_is_named_in_the_report_and_home(tmp_path: Path) -> None:
    lost = SourceChange(url="corpus:old/policy.md", title="Policy", before="d" * 64, reason=f"it cannot be read: {GONE}")
    place = researched_again(tmp_path, unread=(lost,))
    words = "gone from the last report's sources: old/policy.md"
    assert words in _text(place, "Home")
    assert words in _text(place, "nights/2026-11-28")
    assert " is gone: old/policy.md\n" in _text(place, f"reports/2026/{STEM}-9c01")


def test_of_unchanged_text_in_sources_new_to_the_question_only_what_is_cited_is_called_new(tmp_path: Path) -> None:
    cited, *_, further = Story(MemoryStore()).facts
    place = researched_again(tmp_path, added=(further.id, cited.id))
    report = _text(place, f"reports/2026/{STEM}-9c01")
    assert report.count("**New:**") == 1
    assert "⁰" not in report


def test_the_answer_is_the_first_sentence_that_says_enough_and_no_more(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store, say=lambda text: f"{text} {'It goes on and on. ' * 9}{'word ' * 100}".strip()).whole())
    home = _text(built(tmp_path, store), "Home")
    assert "\n    An append is durable after fsync returned. It goes on and on.[[sources/" in home


def test_what_was_researched_again_without_news_is_one_line(tmp_path: Path) -> None:
    home = _text(researched_again(tmp_path), "Home")
    assert f"\nNothing new: [[reports/2026/{STEM}-9c01|" in home
    assert "durable after fsync" not in home


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
