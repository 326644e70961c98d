"""What the notes tell of the log: topics, how a source's claims fared and how it changed, what is still open."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.values import Cost, Paragraph, ReportSection, Sentence
from pipeline.vault import build_vault
from pipeline.vault.notes.source import fragment_of
from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Scribe, Story, Workplace, a_store, built, changing


def test_a_topic_leads_to_the_latest_report_on_each_of_its_questions(tmp_path: Path) -> None:
    _, notes = Workplace(tmp_path, a_store()).build_and_note()
    topic = next(note.view for note in notes if note.path == "topics/topic-crash-safety")
    assert [entry["report"].path[-4:] for entry in topic["answered"]] == ["9c01"]
    assert topic["answered"][0]["earlier"] == 1
    assert sorted(link.label for link in topic["others"]) == ["Do ants sleep?", "Why are there tides?"]


def test_a_report_names_the_models_that_wrote_it_once(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).begin().planned().gathered()
    for name in ("large", "small", "large", "extractive"):
        failed = e.StepFailed(step="FindGaps", error="x", message="", recoverable=True, attempt=1, cost=Cost(usd=1, model=name))
        story.scribe.note(failed)
    story.analysed().reported()
    assert "careful-model (large, small) · Searched in: local · " in built(tmp_path, store).note("reports/").read_text()


def test_report_and_session_count_the_pages_that_a_model_was_shown_and_quotes_name_a_page_without_a_note(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).begin().planned().gathered()
    story.scribe.amend = changing(e.ContradictionsFound, contradictions=())
    story.scribe.note(e.PageRead(url="https://late.example/", title="Read, and not shown", digest="0" * 64, characters=9))
    story.analysed().scribe.amend = changing(e.ReportGenerated, references=())
    place = built(tmp_path, story.reported().store)
    assert "5 facts found in 3 pages" in place.note("reports/").read_text()
    assert "3 pages read" in place.note("sessions/").read_text()
    workers = "".join(path.read_text() for path in (place.vault / "workers").rglob("*.md"))
    assert "durable.” (Title of afety.md (crash-safety.md in your documents))" in workers


def test_a_report_ends_with_the_quotes_that_were_found_and_not_used(place: Workplace) -> None:
    report = place.note("reports/").read_text()
    found = report.partition("> [!quote]- Found and not used: 1 quote\n> - “No drive loses flushed data.” — [[sources/")[2]
    assert found.partition("]]")[0].endswith(PAGES[2][-8:])
    assert report.count("No drive loses flushed data.") == 1


def test_a_plan_that_waits_for_its_user_says_so_on_its_note_and_on_the_front_page(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store).begin().planned().scribe.note(e.ApprovalRequested())
    place = built(tmp_path, store)
    assert "`research approve 2026-11-21-power-cut-3f2a`" in place.note("sessions/").read_text()
    assert "(its plan waits for approval, 21 November 2026)" in place.note("Home").read_text()


def test_a_report_on_a_recurring_question_says_what_is_new_below_its_answer_and_its_disagreements(place: Workplace) -> None:
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
    order = [again.index(part) for part in ("In short", "## Sources disagree", "New since", "## What fsync does")]
    assert order == sorted(order)


def test_a_source_that_gives_orders_to_models_is_flagged_on_its_note_and_in_the_report(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, notices={PAGES[0]: ("gives-orders", "noai")}).whole()
    place = built(tmp_path, store)
    report = place.note("reports/").read_text()
    assert "Source 1 contains orders to language models" in report
    whole = "".join(path.read_text() for path in (place.vault / "sources").rglob("*.md"))
    assert whole.count("> [!warning] This page contains orders to language models\n") == 1
    assert whole.count("> [!info] The page reserves its use by programs: noai\n") == 1


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


def test_a_source_note_leads_to_the_readers_own_file_and_to_the_page_of_a_pdf(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store)
    first, second, third, fourth, fifth = story.facts
    story.facts = (first, second, third.model_copy(update={"start": 60}), fourth, fifth)
    story.scribe.amend = changing(e.PageRead, sheets=(0, 50))
    story.whole()
    place = Workplace(tmp_path, store)
    documents = tmp_path / "my papers"
    build_vault(store, templates=place.templates, vault=place.vault, state_dir=place.state, documents=documents)
    text = place.note("sources/2026-11/source-crash").read_text()
    file = f"{documents.as_uri()}/crash-safety.md"
    assert f"[crash-safety.md in your documents]({file}) · by" in text
    assert f"> - Read it [on page 2]({file}#page=2)\n" in text
    assert "file:" not in place.note("sources/2026-11/source-logs").read_text()


@pytest.mark.parametrize(("seconds", "took", "until"), [((1.0,), ", in 1 s", "to 03:00"), ((), "", "until it was interrupted")])
def test_what_cannot_be_read_of_the_queue_is_on_home_and_in_the_nights_note_with_the_hour_of_the_nights_zone(
    seconds: tuple[float, ...], took: str, until: str, tmp_path: Path
) -> None:
    store = MemoryStore()
    story = Story(store).whole()
    began = n.BatchStarted(due=(story.query_id,), unread=("my/Queue.md, line 3: no field mod",), timezone="Europe/Berlin")
    Scribe(store, "batch-2026-11-21t020000-ab12", "2026-11-21").note_batch(
        e.RunStarted(host="here", process=1, program="test"),
        began,
        *(n.BatchEnded(done=0, failed=0, skipped=0, exit_code=0, duration_s=one) for one in seconds),
    )
    place = built(tmp_path, store)
    for path in ("Home", "nights/2026-11-21"):
        assert f"othing was due{took}.\n" in place.note(path).read_text()
        assert "> [!warning] What could not be read\n> - my/Queue.md, line 3: no field mod\n" in place.note(path).read_text()
    assert f"- 03:00 {until} (Europe/Berlin): 1 question due\n" in place.note("nights/2026-11-21").read_text()


def test_the_notes_of_a_query_that_was_taken_out_of_the_file_say_so_until_it_comes_back(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store).whole()
    place = Workplace(tmp_path, store)
    for number, archived in enumerate(((), (story.query_id,), ())):
        began = n.BatchStarted(due=(), archived=archived)
        ended = n.BatchEnded(done=0, failed=0, skipped=0, exit_code=0)
        run = e.RunStarted(host="here", process=1, program="test")
        Scribe(store, f"batch-2026-11-2{number}t020000-ab12", f"2026-11-2{number}").note_batch(run, began, ended)
        place.build()
        for room in ("reports/", "sessions/"):
            assert ("\narchived: true\n" in place.note(room).read_text()) == bool(archived)


def test_report_disagreement_and_source_say_whose_a_source_is_and_ones_own_stands_first(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, pages=PAGES).whole()
    place = built(tmp_path, store)
    report = place.note("reports/").read_text()
    assert re.findall(r"^\d\. .*: (.*), \d quotes?$", report.partition("## References")[2], re.MULTILINE) == [
        "logs.example on the web",
        "crash-safety.md in your documents",
        "disks.example on the web",
    ]
    conflict = report.partition("[!conflict]")[2].partition("\n\n")[0]
    assert re.search(r"> \| Your documents: \[\[.*crash-safety.* \| The web: \[\[.*disks.* \|", conflict)
    assert re.search(r"> \| “After fsync has returned, .*” .* \| “One drive in nine .*” .*\|", conflict)
    sources = [path.read_text() for path in (place.vault / "sources").rglob("*.md")]
    assert sum('origin: "web"' in text and "· the web · by" in text for text in sources) == 2
    assert sum('origin: "own"' in text and "crash-safety.md in your documents · by" in text for text in sources) == 1


def test_an_address_names_the_first_and_the_last_words_of_a_quote() -> None:
    assert fragment_of("It never shrinks.") == ":~:text=It%20never%20shrinks."
    long = " ".join(f"w{number}" for number in range(40))
    assert unquote(fragment_of(long)) == ":~:text=w0 w1 w2 w3 w4 w5,w34 w35 w36 w37 w38 w39"
    assert fragment_of("A power-cut, again & again") == ":~:text=A%20power%2Dcut%2C%20again%20%26%20again"


def test_steps_that_go_on_in_the_next_section_are_counted_on(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store)

    def section(number: int, start: int, *texts: str) -> ReportSection:
        steps = tuple(Sentence(text=text, facts=(story.facts[0].id,)) for text in texts)
        paragraph = Paragraph(sentences=steps, form="steps", start=start)
        return ReportSection(id=f"s{number}", title=f"Part {number}", paragraphs=(paragraph,))

    sections = (section(1, 1, "Stop it.", "Copy it."), section(2, 3, "Start it."), section(3, 1, "Look at it."))
    story.scribe.amend = changing(e.ReportGenerated, sections=sections)
    story.whole()
    report = built(tmp_path, store).note("reports/")
    shown = [line.partition(".[[")[0] for line in report.read_text().splitlines() if line[:1].isdigit() and ".[[" in line]
    assert shown == ["1. Stop it", "2. Copy it", "3. Start it", "1. Look at it"]


def test_only_what_is_said_by_no_source_has_the_mark_and_code_does_not_repeat_what_is_cited_before_it(tmp_path: Path) -> None:
    store = MemoryStore()
    story = Story(store)
    cited = (story.facts[0].id,)
    said = (
        Sentence(text="Look first.", facts=cited, basis="derived"),
        Sentence(text="Skip none.", facts=cited, within="item"),
        Sentence(text="Then run it:", facts=cited),
    )
    code = Paragraph(sentences=(Sentence(text="run it", facts=cited),), form="code")
    more = Paragraph(sentences=(Sentence(text="Or wait.", facts=cited),), form="bullets")
    last = Paragraph(sentences=(Sentence(text="Stop.", facts=cited),), form="steps", start=3)
    own = Paragraph(sentences=(Sentence(text="halt", basis="bridge"),), form="code")
    paragraphs = (Paragraph(sentences=said, form="steps"), code, more, last, own)
    story.scribe.amend = changing(e.ReportGenerated, sections=(ReportSection(id="s1", title="So", paragraphs=paragraphs),))
    story.whole()
    text = re.sub(r"\[\[[^\]]+\]\]", "¹", built(tmp_path, store).note("reports/").read_text())
    steps = "1. Look first. ∴ ¹ Skip none.¹\n2. Then run it:¹\n\n    ```\n    run it\n    ```\n\n    - Or wait.¹\n\n3. Stop.¹\n"
    assert steps in text
    assert "    halt\n    ```\n\n     *no source*\n" in text
