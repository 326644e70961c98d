"""What a person reads in the morning: each question once, its answer in a sentence, how sure it is, what changed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from pipeline.domain.events.session_events import ChangesFound
from pipeline.domain.values import Changes, SourceChange
from pipeline.errors import GONE
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace, built, changing, night

STEM = "how-does-an-append-only-log-survive-a-power-cut"


def _text(place: Workplace, start: str) -> str:
    return place.note(start).read_text()


def test_home_has_one_entry_a_question_with_its_answer_how_sure_it_is_what_changed_and_an_open_question(place: Workplace) -> None:
    home = _text(place, "Home")
    assert home.count("**[[reports/") == 1
    assert "9c01|" in home
    assert "3f2a|" not in home
    assert home.index("## What changed") < home.index("9c01|") < home.index("## Failed")
    assert "An append is durable after fsync returned." in home
    assert (
        "answered · 3 sources, 1 disagreement · 1 new fact, 1 changed, 1 gone since 21 November 2026 · 1 earlier report" in home
    )
    assert "Still open: How loud is it?" in home


def test_a_superseded_report_says_so_and_leads_to_the_newer_one_and_to_all(place: Workplace) -> None:
    older, latest = (_text(place, f"reports/2026/{STEM}-{end}") for end in ("3f2a", "9c01"))
    assert f"> [!info] Superseded by a newer report: [[reports/2026/{STEM}-9c01" in older
    assert 'superseded_by: "[[reports/' in older
    assert "Superseded" not in latest
    assert "superseded_by" not in latest
    assert f"## Earlier answers\n\n- [[reports/2026/{STEM}-3f2a|21 November 2026]]\n" in latest
    assert "Earlier answers" not in older


def researched_again(root: Path, **changed: object) -> Workplace:
    """A vault with two nights' reports on one question; what changed between them is as given."""
    store = MemoryStore()
    first = Story(store).whole()
    again = Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28")
    changes = Changes(session=first.id, since="2026-11-21T02:16:00.000Z", kept=3).model_copy(update=changed)
    again.scribe.amend = changing(ChangesFound, changes=changes)
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


def test_what_the_last_night_did_not_work_on_is_a_list_of_links(tmp_path: Path) -> None:
    store = MemoryStore()
    night(store, Story(store).whole())
    other = Story(store, id="2026-11-28-ants-00ff", query="Do ants sleep?", query_id="ants", date="2026-11-28").whole()
    night(store, other, date="2026-11-28")
    place = Workplace(tmp_path, store)
    _, notes = place.build_and_note()
    home = next(note.view for note in notes if note.kind == "home")
    ants, logs = "Do ants sleep?", "How does an append-only log survive a power cut?"
    assert [entry["report"].label for entry in home["night"]["answered"]] == [ants]
    assert [link.label for link in home["older"]] == [logs]
    text = _text(place, "Home")
    assert text.index("## Answered") < text.index(ants) < text.index("## Older questions") < text.index(logs)


def test_what_was_researched_again_without_news_is_one_line(tmp_path: Path) -> None:
    home = _text(researched_again(tmp_path), "Home")
    assert f"\nNothing new: [[reports/2026/{STEM}-9c01|" in home
    assert "durable after fsync" not in home


def test_the_picture_of_the_nights_is_an_image_that_runs_nothing(place: Workplace) -> None:
    image = (place.vault / "nights" / "thirty-nights.svg").read_text()
    assert ElementTree.fromstring(image).tag.endswith("svg")  # noqa: S314 - our own file
    assert "28 November 2026: 1 answered, 1 failed, 1 unfinished, $0.09" in image
    assert "![[nights/thirty-nights.svg|" in _text(place, "Home")
