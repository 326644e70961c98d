"""What the notes tell of the log: topics, how a source's claims fared and how it changed, what is still open."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Cost
from pipeline.vault.notes.source_note import SourceView
from pipeline.vault.notes.topic_note import TopicView
from pipeline.vault.output import frontmatter
from pipeline.vault.output.note import Note
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Story, Workplace, a_store, night
from tests.vault.output.test_escaping import HOSTILE, anything
from tests.vault.scanner import body_of, fenced, scan


def _notes(store: MemoryStore, root: Path, kind: str) -> list[Note]:
    _, notes = Workplace(root, store).build_and_note()
    return [note for note in notes if note.kind == kind]


def _topics(store: MemoryStore, root: Path) -> dict[str, TopicView]:
    found = {}
    for note in _notes(store, root, "topic"):
        assert isinstance(note.view, TopicView)
        found[note.path] = note.view
    return found


def _source(store: MemoryStore, root: Path, url: str = PAGES[0]) -> SourceView:
    note = next(note for note in _notes(store, root, "source") if note.properties["source_url"] == url)
    assert isinstance(note.view, SourceView)
    return note.view


def test_a_topic_leads_to_the_latest_report_on_each_of_its_questions(tmp_path: Path) -> None:
    store = a_store()
    other = Story(store, id="2026-11-29-bees-1234", query="Do bees sleep?", query_id="bees", date="2026-11-29", tags=("ants",))
    other.whole()
    topics = _topics(store, tmp_path)
    assert topics.keys() == {"topics/topic-crash-safety", "topics/topic-ants"}
    topic = topics["topics/topic-crash-safety"]
    assert [entry.link.path for entry in topic.answered] == ["reports/2026/how-does-an-append-only-log-survive-a-power-cut-9c01"]
    assert [link.path for link in topic.answered[0].earlier] == [
        "reports/2026/how-does-an-append-only-log-survive-a-power-cut-3f2a"
    ]
    assert [(entry.link.label, entry.outcome) for entry in topic.unanswered] == [
        ("Why are there tides?", "failed"),
        ("Do ants sleep?", "unfinished"),
    ]


def test_a_topic_keeps_what_its_latest_reports_left_open_and_what_they_rest_on(tmp_path: Path) -> None:
    topic = _topics(a_store(), tmp_path)["topics/topic-crash-safety"]
    assert [entry.questions for entry in topic.open] == [("How loud is it?",)]
    assert [(entry.reports, entry.quotes) for entry in topic.sources] == [(1, 2), (1, 1), (1, 1)]


def test_tags_that_read_alike_are_one_topic_named_as_it_was_first_written(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, tags=("Crash Safety", "disks")).whole()
    Story(store, id="2026-11-28-x-0001", date="2026-11-28", tags=("crash-safety",)).whole()
    topics = _topics(store, tmp_path)
    assert topics["topics/topic-crash-safety"].title == "Crash Safety"
    assert [link.label for link in topics["topics/topic-crash-safety"].related] == ["disks"]
    assert topics["topics/topic-disks"].tag == "topic/disks"


def test_a_question_without_tags_has_no_topic(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, tags=()).whole()
    assert _topics(store, tmp_path) == {}


def _twice(before: str, after: str) -> MemoryStore:
    store = MemoryStore()
    Story(store, texts={PAGES[0]: before}).whole()
    Story(store, id="2026-11-28-power-cut-9c01", date="2026-11-28", texts={PAGES[0]: after}).whole()
    return store


def test_a_source_tells_what_changed_between_two_readings(tmp_path: Path) -> None:
    source = _source(_twice("# A\n\nOld words.\n\nThe same.\n", "# A\n\nThe same.\n\nNew words.\n"), tmp_path)
    (changed,) = source.changes
    assert (changed.before, changed.after, changed.compared) == (1, 2, True)
    assert (changed.gone, changed.come) == (("Old words.",), ("New words.",))
    assert source.versions == 2


def test_a_source_that_did_not_change_tells_of_no_change(tmp_path: Path) -> None:
    assert _source(_twice("# A\n\nWords.\n", "# A\n\nWords.\n"), tmp_path).changes == ()


def test_a_text_that_is_stored_no_more_is_said_to_be_so(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store).whole()
    Story(store, id="2026-11-28-power-cut-9c01", date="2026-11-28", texts={PAGES[0]: "# A\n"}).whole()
    (changed,) = _source(store, tmp_path).changes
    assert not changed.compared
    assert "no longer stored" in next((tmp_path / "vault").rglob("source-logs-example*.md")).read_text()


def test_a_source_tells_how_its_quotes_fared_in_each_session(tmp_path: Path) -> None:
    fared = _source(a_store(), tmp_path).read_for
    assert [(entry.taken, entry.disputed, entry.cited) for entry in fared] == [(2, 0, 2)] * 2
    assert {len(quote.found_in) for quote in _source(a_store(), tmp_path / "again").quotes} == {2}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.sampled_from(HOSTILE), anything), st.one_of(st.sampled_from(HOSTILE), anything))
def test_what_changed_in_a_source_does_nothing_in_its_note(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    old, new = (f"# A\n\nx {text}\n".encode("utf-8", "replace").decode() for text in (before, after))
    root = tmp_path_factory.mktemp("changes")
    _source(_twice(old, new), root)
    written = next((root / "vault").rglob("source-logs-example*.md")).read_text()
    found = scan(body_of(written))
    assert not any((found.embeds, found.images, found.tags, found.html, found.maths, found.fences))
    assert not re.search(r"<%|%>|::", written)
    assert {target.partition("#")[0].partition("/")[0] for target, _ in found.links} <= {
        "sources", "sessions", "reports", "workers", "nights",
    }  # fmt: skip


def test_open_questions_can_be_copied_from_a_report_into_the_queue(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, tags=("disks",)).whole()
    place = Workplace(tmp_path, store)
    place.build()
    blocks = dict(fenced(body_of(place.note("reports/").read_text()))[0])
    assert yaml.safe_load("queries:\n" + blocks["```yaml"]) == {"queries": [{"query": "How loud is it?", "tags": ["disks"]}]}


def test_a_report_names_the_models_that_wrote_it_once(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).begin().planned().gathered()
    for name in ("large", "small", "large", "extractive"):
        failed = e.StepFailed(step="FindGaps", error="x", message="", recoverable=True, attempt=1, cost=Cost(usd=1, model=name))
        story.scribe.note(failed)
    story.analysed().reported()
    place = Workplace(tmp_path, store)
    place.build()
    assert "careful-model (large, small)\n> - **Searched in:** local\n" in place.note("reports/").read_text()


def test_a_plan_that_waits_for_its_user_says_so_on_its_note_and_on_the_front_page(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store).begin().planned().scribe.note(e.ApprovalRequested())
    place = Workplace(tmp_path, store)
    place.build()
    assert "`research approve 2026-11-21-power-cut-3f2a`" in place.note("sessions/").read_text()
    assert "(its plan waits for approval, 21 November 2026)" in place.note("Home").read_text()


def test_a_report_on_a_recurring_question_says_what_is_new_below_its_answer_and_its_disagreements(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    again = next(path.read_text() for path in (place.vault / "reports").rglob("*9c01.md"))
    news = re.search(r"(?ms)^> \[!tip\] New since 21 November 2026 .*?\n\n", again)
    assert news is not None
    for part in (
        "**New:** Fsync makes an append durable.",
        "**Changed:** After fsync",
        "**Gone:** “Fsync was never needed.",
        "Not read again:",
    ):
        assert part in news[0]
    assert again.index("In short") < again.index("## Sources disagree") < again.index("New since") < again.index("**Contents:**")


def test_rejected_findings_are_folded_away_with_their_reasons(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    text = place.note("workers/").read_text()
    assert "> [!rejected]- 2 findings that do not count\n" in text
    assert "the quote stands in no page" in text


def test_a_worker_whose_last_round_was_not_evaluated_shows_what_was_open_before_it(tmp_path: Path) -> None:
    store = MemoryStore()
    scribe = Story(store).begin().planned().scribe
    scribe.note(
        e.WorkerStarted(worker_id="search_0", perspective_id="basic-facts"),
        e.WorkerThought(worker_id="search_0", iteration=1, reasoning="", queries=()),
        e.WorkerEvaluated(worker_id="search_0", iteration=1, sufficient=False, gaps=("How loud is it?",)),
    )
    place = Workplace(tmp_path, store)
    place.build()
    assert "> [!gap] Not answered\n> - How loud is it?\n" in place.note("workers/").read_text()
    scribe.note(
        e.WorkerThought(worker_id="search_0", iteration=2, reasoning="", queries=()),
        e.WorkerCompleted(worker_id="search_0", reason="2 iterations", facts=0),
    )
    place.build()
    assert "> [!gap] Not answered before the last round\n> - How loud is it?\n" in place.note("workers/").read_text()


def test_a_source_that_gives_orders_to_models_is_flagged_on_its_note_and_in_the_report(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, notices={PAGES[0]: ("gives-orders", "noai")}).whole()
    place = Workplace(tmp_path, store)
    place.build()
    report = place.note("reports/").read_text()
    assert "Source 1 contains orders to language models" in report
    assert report.count("; its page contains orders to language models\n") == 1
    whole = "".join(path.read_text() for path in (place.vault / "sources").rglob("*.md"))
    assert whole.count("> [!warning] This page contains orders to language models\n") == 1
    assert whole.count("> [!info] The page reserves its use by programs: noai\n") == 1


def test_quotes_stand_in_the_callout_that_says_how_they_fared(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    whole = "".join(path.read_text() for path in (place.vault / "sources").rglob("*.md"))
    assert re.search(r"> \[!conflict\] Disputed: Under “Drives”\n> “One drive in nine loses flushed data\.”", whole)
    assert re.search(r"> \[!verified\] Quote\n> Fsync makes an append durable\.\n>\n> “An append is durable", whole)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.sampled_from(HOSTILE), anything))
def test_two_readers_of_yaml_agree_on_the_properties_of_every_note(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    store = MemoryStore()
    story = Story(store, say=lambda words: f"{text}{words}", tags=(text, "1e3", "no")).whole()
    night(store, story, say=lambda _: text)
    place = Workplace(tmp_path_factory.mktemp("yaml"), store)
    assert place.build().problems == ()
    for path in place.vault.rglob("*.md"):
        raw, _ = frontmatter.split(path.read_text())
        one, other = yaml.safe_load(raw), YAML(typ="safe", pure=True).load(StringIO(raw))
        assert {key: str(value) for key, value in one.items()} == {key: str(value) for key, value in other.items()}
        assert frontmatter.load(raw).keys() == one.keys()


def test_the_front_page_stays_short_however_much_there_is(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(45):
        begun = Story(
            store, id=f"2026-11-21-x-{number:04d}", query=f"Why {number}?", query_id=f"q{number}", tags=(f"t{number}", "all")
        )
        begun.begin().failed()
    place = Workplace(tmp_path, store)
    place.build()
    home = place.note("Home").read_text()
    assert "and 25 questions more: see [[bases/sessions.base|" in home
    assert "[[topics/topic-all|all]] (45) · " in home
    assert "[[bases/topics.base|6 more]]" in home


def test_quotes_stand_under_the_session_that_found_them_first(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store).whole()
    other = Story(store, id="2026-11-28-bees-0001", query="Do bees sleep?", query_id="bees", date="2026-11-28")
    other.say = lambda words: words.replace("torn", "sleeping")
    other.__post_init__()
    other.whole()
    place = Workplace(tmp_path, store)
    place.build()
    quotes = place.note("sources/2026-11/source-logs").read_text().partition("## Quotes")[2].partition("## How")[0]
    first, second = (part.count("\n^q-") for part in quotes.split("### Found for ")[1:])
    assert (first, second) == (2, 1)
    assert "Found again" not in quotes


def test_a_question_for_which_quotes_were_found_again_is_one_line(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store).whole()
    for day in range(22, 29):
        Story(store, id=f"2026-11-{day}-bees-0001", query="Do bees sleep?", query_id="bees", date=f"2026-11-{day}").whole()
    place = Workplace(tmp_path, store)
    place.build()
    text = place.note("sources/2026-11/source-logs").read_text()
    again = text.partition("## Found again\n")[2].partition("## Quotes")[0].strip()
    assert again.startswith("- [[sessions/2026/session-do-bees-sleep-0001")
    assert again.endswith("|Do bees sleep?]]: 2 quotes, last on 28 November 2026")
    assert "\n" not in again
    assert ", and in 6 earlier reports" in text
    assert "> [!info]- Read for 3 earlier sessions" in text
    assert "> [!info]- 3 earlier readings" in text
