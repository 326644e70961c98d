"""What a person reads in the morning is short, says what to do, and never more than was judged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.research_values import Changes, Cost
from pipeline.vault.notes.nights_and_home import digest_of, heading_of, nights_in, text_of
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Scribe, Story, Workplace, built, change, changing, fact, night


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
    stories = [Story(store, id=f"2026-11-22-y-{one}", query=f"What of {one}?", query_id=f"y{one}") for one in range(9)]
    night(store, *(story.whole() for story in stories), date="2026-11-22")
    place = built(tmp_path, store)
    home = place.note("Home").read_text()
    assert ("|What of 6?" in home, "|What of 7?" in home, " · [[nights/2026-11-22|and 2 more]]" in home) == (True, False, True)
    assert "|What of 8?" in _text(place, "nights/")
    assert "- [[bases/sessions.base|35 more]]" in home
    assert "Topics: [[topics/topic-all|all]] · " in home
    assert "[[bases/topics.base|27 more]]" in home


def test_the_notes_of_a_query_that_was_taken_out_of_the_file_say_so_until_it_comes_back(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).whole()
    place = Workplace(tmp_path, store)
    for number, archived in enumerate(((), (story.query_id,), ())):
        night(store, date=f"2026-11-2{number}", archived=archived)
        place.build()
        for room in ("reports/", "sessions/"):
            assert ("\narchived: true\n" in place.note(room).read_text()) == bool(archived)


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
    assert "\ncreated: 2026-11-22T02:00:01\n" in _text(place, "nights/2027-05-01")  # as lists and the feed have it
    assert "[[nights/2026-11-22|" in _text(place, "Home")
    reports = {path.stem[-4:]: path.read_text() for path in (place.vault / "reports").rglob("*.md")}
    assert "superseded_by" in reports["aaaa"]
    assert "superseded_by" not in reports["bbbb"]
    assert "earlier_reports: 1" in reports["bbbb"]
    assert "earlier_reports" not in reports["aaaa"]


def test_a_question_that_is_not_found_any_more_is_listed_as_that_and_its_older_report_says_so(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store, tags=("logs",)).whole())
    gone = Story(store, id="2026-11-22-power-cut-bbbb", previous="2026-11-21-power-cut-3f2a", date="2026-11-22", tags=("logs",))
    night(store, gone.begin().not_found(), date="2026-11-22")
    night(store, Story(store, id="2026-11-23-x-cccc", query="Why?", query_id="x", date="2026-11-23").whole(), date="2026-11-23")
    place = built(tmp_path, store)
    assert re.search(r"## Older questions\n\n- \[\[reports/\S+-bbbb\|.*\(not found\)\n\n", _text(place, "Home"))
    assert re.search(r"## Without a report\n\n- \[\[reports/\S+-bbbb\|", _text(place, "topics/topic-logs"))
    reports = {path.stem[-4:]: path.read_text() for path in (place.vault / "reports").rglob("*.md")}
    assert re.search(r"Superseded by a newer report: \[\[\S+-bbbb\|.*\]\] \(not found\)\n", reports["3f2a"])
    assert re.search(r"## Earlier answers\n\n- \[\[\S+-3f2a\|21 November 2026 · answered\]\]\n", reports["bbbb"])


def test_what_was_not_found_before_comes_first_of_what_changed_and_its_report_leads_to_the_note_that_said_so(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    first = Story(store, query="Again?", query_id="again").whole()
    again = Story(store, id="2026-11-22-again-9c01", previous=first.id, date="2026-11-22", query="Again?", query_id="again")
    gone = Story(store, id="2026-11-21-moss-aaaa", query="Why moss?", query_id="moss").begin().not_found()
    night(store, first, gone)
    found = Story(store, id="2026-11-22-moss-bbbb", date="2026-11-22", query="Why moss?", query_id="moss")
    found.scribe.amend = changing(e.ResearchStarted, previous_session=gone.id)
    night(store, again.whole(), found.whole(), date="2026-11-22")
    place = built(tmp_path, store)
    digest = "\n".join(text_of(digest_of(store, nights_in(store)[0][-1]), str))
    for text in (_text(place, "Home"), _text(place, "nights/2026-11-22"), digest):
        assert re.search(r"What changed\n\n.*Why moss\?(?s:.*)not found before\b(?s:.*)Again\?", text)
    (report,) = (place.vault / "reports").rglob("*bbbb.md")
    assert re.search(r"## Earlier answers\n\n- \[\[\S+-aaaa\|21 November 2026 · not found\]\]\n", report.read_text())


def test_a_worker_says_its_open_questions_once_and_not_beside_them_that_nothing_is_left_to_ask(tmp_path: Path) -> None:
    story = Story(MemoryStore())
    story.scribe.amend = changing(e.WorkerCompleted, reason="nothing left to ask")
    worker = _text(built(tmp_path, story.whole().store), "workers/")
    assert (worker.count("How loud is it?"), "\n> No further searches.\n" in worker) == (1, True)


def test_that_reports_are_called_wrong_on_one_machine_is_said_on_another_too(tmp_path: Path) -> None:
    store = MemoryStore()
    for day in ("2026-11-21", "2026-11-22"):
        Story(store, id=f"{day}-power-cut-3f{day[-2:]}", date=day).begin().not_found()
    place, other = built(tmp_path / "a", store), built(tmp_path / "b", store)
    for note in sorted((place.vault / "reports").rglob("*.md")):
        change(note, "---\n", "---\nrating: wrong\n", count=1)
        place.build()
        other.build()
    assert other.build("check").written == ()


def test_note_and_digest_of_a_night_say_one_cost_that_of_runs_that_were_killed_and_of_vectors_too(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store).whole())
    del store.streams["batch-2026-11-21t020000-ab12"][-1]
    vectors = n.PassagesEmbedded(model="m", passages=9, cost=Cost(usd=0.5))
    Scribe(store, "batch-2026-11-21t030000-cd34").note_batch(n.BatchStarted(due=()), vectors)
    place = built(tmp_path, store)
    assert "\ncost_usd: 0.53\n" in (note := _text(place, "nights/"))
    assert ("until it was interrupted (" in note, "until it was interrupted, or is under way (" in note) == (True, True)
    assert "$0.53" in _text(place, "Home")
    assert "$0.53" in "\n".join(text_of(digest_of(store, nights_in(store)[0][-1]), str))


def test_a_night_that_was_killed_names_what_was_due_and_keeps_what_it_had_finished(tmp_path: Path) -> None:
    store = MemoryStore()
    done = Story(store).whole()
    night(store, done)
    due, asked = (
        (done.query_id, "tides", "not-begun", "foam"),
        {"foam": "Why does the sea foam?", "tides": "Why are there tides?"},
    )
    killed = n.BatchStarted(due=due, after="batch-2026-11-21t020000-ab12", queries=asked)
    Scribe(store, "batch-2026-11-21t030000-cd34").note_batch(killed)
    half = Story(store, id="2026-11-21-tides-77aa", query="Why are there tides?", query_id="tides").begin().planned()
    place, words = built(tmp_path, store), "nterrupted or under way; 1 answered, 3 unfinished"
    digest = "\n".join(text_of(digest_of(store, nights_in(store)[0][-1]), str))
    for text in (_text(place, "Home"), _text(place, "nights/"), digest):
        assert words in " ".join(text.split())
        assert "An append is durable after fsync returned." in text
        for name in ("Why are there tides?", "not-begun", "Why does the sea foam?"):
            assert name in text.partition("Unfinished")[2]
    half.scribe.date = "2026-11-22"
    half.gathered().analysed().reported()  # by the next run
    place.build()
    assert "|Why are there tides?]] (finished since, 22 November 2026)\n" in _text(place, "nights/")
    assert "|Why are there tides?]], 22 November 2026" in _text(place, "sources/")


def test_all_that_was_due_when_a_server_went_down_is_named_and_counted_and_why_is_said_once(tmp_path: Path) -> None:
    store, down = MemoryStore(), "the model's server is down"
    night(store, Story(store).whole())
    half = Story(store, id="2026-11-22-tides-77aa", query="Why are there tides?", query_id="tides", date="2026-11-22")
    half.begin().planned()
    one = n.QueryEnded(query_id="tides", query=half.query, session=half.id, status="interrupted", reason=down, cause="outage")
    due = (("power-cut", "What of a power cut?"), ("foam", "Why does the sea foam?"))
    left = [n.QuerySkipped(query_id=name, query=text, reason=down, cause="outage") for name, text in due]
    earlier = n.QuerySkipped(query_id="ants", query=Story.query.upper(), reason="failed: no evidence", cause="left")
    end = n.BatchEnded(done=0, failed=0, skipped=3, exit_code=3, duration_s=2.0)
    start = n.BatchStarted(
        due=("tides", "power-cut", "foam"), after="batch-2026-11-21t020000-ab12", unread=("my/Queue.md, line 3",)
    )
    Scribe(store, "batch-2026-11-22t020000-cd34", "2026-11-22").note_batch(start, earlier, one, *left, end)
    place = built(tmp_path, store)
    home, note = _text(place, "Home"), _text(place, "nights/2026-11-22")
    for text in (home, note):
        assert "3 unfinished, in 2 s" in text
        assert re.search(
            r"- The model's server is down\.\n    - .*tides.*\n    - .*reports/.*\n    - Why does the sea foam\?\n", text
        )
        assert text.count("server is down") == 1
    assert "Older questions" not in home
    assert re.search(r"## Left out\n\n- Failed: no evidence\.\n    - HOW .*\n\n", note)
    digest = " ".join("\n".join(text_of(digest_of(store, nights_in(store)[0][-1]), str)).split())
    assert "3 unfinished (2 s; 1 question left out)" in digest
    assert "Why does the sea foam?: The model's server is down." in digest
    assert f"Left out - {Story.query.upper()}: Failed: no evidence. Problems - my/Queue.md, line 3" in digest
    assert "Night of 22 November 2026, nothing was researched since: " in heading_of(
        digest_of(store, nights_in(store)[0][-1], (), "2026-11-23")
    )


def test_a_vault_without_any_session_says_what_to_do(tmp_path: Path) -> None:
    place = built(tmp_path, MemoryStore())
    assert [name for name in place.files() if name.endswith(".md")] == ["Home.md"]
    assert "research run" in _text(place, "Home")


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
    assert re.search(rf"(?m)^{shown}", _text(place, "sources/"))


def test_a_passage_that_is_no_longer_shown_says_that_its_source_was_called_wrong(tmp_path: Path) -> None:
    first = Story(store := MemoryStore()).whole()
    place = Workplace(tmp_path, store)
    place.record([NoteRated(note="source:x", rating="wrong", url=PAGES[0])])
    left = (fact(PAGES[0], "Old words."), fact(PAGES[1], "Other words."))
    changes = Changes(session=first.id, since="2026-11-21T02:16:00.000Z", not_shown=left)
    again = Story(store, id="2026-12-05-power-cut-9c01", previous=first.id, date="2026-12-05")
    again.scribe.amend = changing(e.ChangesFound, changes=changes)
    again.whole()
    place.build()
    report = next((place.vault / "reports").rglob("*-9c01.md")).read_text()
    assert ["called it" in line for line in report.split("\n") if "No longer shown" in line] == [True, False]
