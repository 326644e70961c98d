"""A question that the documents do not answer, from the command line: what is said of it, where, and what becomes of it later."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path

import pytest

from pipeline.batch.night_result import BatchResult, account
from pipeline.cli.presentation import counts_line, happened
from pipeline.domain.events import session_events as e
from pipeline.domain.events.night_events import QueryEnded
from tests.commanding import said, workspace_in
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast, tags: [sea]}\n"
KAFKA = "  - {query: Which Kafka broker is safe during pregnancy?, id: kafka, mode: fast, tags: [sea]}\n"
NEAR = "[Nn]othing in your 3 documents is near enough to the question; nearest: Flushing"
WHY = f"{NEAR}; no passage mentions “broker” or “safe” or “pregnancy”"


def space(root: Path, queries: str) -> Path:
    folder = workspace_in(root / "ws", queries)
    text = "A Kafka consumer leaves flushing to the operating system.\n\n| Kafka | flushes |\n| --- | --- |\n| as is | never |\n"
    (folder / "corpus" / "flushing.md").write_text(f"# Flushing\n\n{text}")
    return folder


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = space(tmp_path_factory.mktemp("night"), HARBOUR + KAFKA)
    told = said(folder, "run")
    assert told.code == 5
    assert re.search(rf"(?m)^not found   kafka: {WHY}", told.out)
    assert told.out.splitlines()[-1] == "1 with passages, 1 not found, 0 skipped; exit code 5"
    assert re.search(rf"research\.failed +not found: {WHY}", told.err)
    return folder


def note(folder: Path, room: str, part: str) -> str:
    (found,) = (path for path in (folder / "vault" / room).rglob("*.md") if part in path.name)
    return found.read_text()


def test_list_and_show_say_why(night: Path) -> None:
    lines = said(night, "list", "--why").out.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("not found   kafka"))
    assert re.search(WHY, lines[place + 1])
    shown = said(night, "show", "kafka").out
    assert re.search(rf"(?m)^status     not found: {WHY}", shown)
    assert "research retry kafka" in shown
    about = json.loads(said(night, "--json", "show", "kafka").out)
    assert about["status"] == "not-found"
    assert re.search(rf"not found: {WHY}", said(night, "log", "kafka").out)


def test_why_names_what_came_near_and_with_a_later_session_unfinished_takes_the_report_before(tmp_path: Path) -> None:
    folder = space(tmp_path, HARBOUR + KAFKA)
    said(folder, "run")
    assert said(folder, "resume", "kafka").code == 5
    asked = said(folder, "why", "kafka", "broker")
    assert (asked.code, "nothing in your 3 documents" in asked.err) == (2, True)
    assert "what comes nearest: Flushing" in asked.err
    server = "settings: {reasoner: {model: x, base_url: 'http://127.0.0.1:9/v1'}}"
    (folder / "queries.yaml").write_text(f"{server}\n{(folder / 'queries.yaml').read_text()}")
    assert said(folder, "run", "harbour", "--again").code == 3
    for command in (("why", "harbour", "metres deep"), ("export", "harbour")):
        told = said(folder, *command)
        assert (told.code, bool(re.search(r"has no report yet: this is of \S*harbour", told.err))) == (0, True)


def test_its_note_in_the_reports_says_why_and_what_to_do_and_names_the_nearest_places(night: Path) -> None:
    text = note(night, "reports", "kafka")
    assert re.search(rf"> \[!question\] Not found\n> {WHY}", text)
    assert '  - "status/not-found"\n' in text
    assert "research retry kafka" in text
    assert "queries.yaml" not in text
    assert "corpus/" not in text
    assert "\n> [!info]- The passages that come nearest. No model has read them.\n> - Flushing (flushing.md in your" in text


def _indexed(site: Path) -> str:
    """The site's search index as text; large parts of it are packed."""
    parts = "".join(path.read_text() for path in (site / "search").rglob("*") if path.is_file())
    packed = (zlib.decompress(b64decode(part)).decode() for part in re.findall(r'"(e[JN][\w+/=]{20,})"', parts))
    return parts + "".join(packed)


def test_the_site_has_a_look_for_its_status_and_a_label_in_the_search(night: Path) -> None:
    site = night / "site"
    assert "Not found: Which Kafka broker is safe" in _indexed(site)
    assert '[data-status="not-found"]' in "".join(path.read_text() for path in (site / "assets").glob("*.css"))


def test_a_failure_decides_the_exit_code_before_what_was_not_found() -> None:
    def ended(*statuses: str) -> BatchResult:
        return BatchResult("b", tuple(QueryEnded(query_id=s, query="?", session="s", status=s) for s in statuses))

    ends = (("complete",), ("not-found", "complete"), ("not-found", "failed"))
    assert [ended(*statuses).exit_code for statuses in ends] == [0, 5, 1]
    assert [name for name, count in ended("not-found").counts.items() if count] == ["not_found"]


def test_the_last_line_of_a_run_counts_what_is_answered_in_part_apart_as_home_does() -> None:
    ended = [QueryEnded(query_id="q", query="?", session="s", status="complete", outcome=one) for one in ("answered", "in-part")]
    assert counts_line(account(ended)) == "1 answered, 1 answered in part, 0 skipped"


def test_a_note_of_nothing_found_goes_away_when_its_session_is_reopened(tmp_path: Path) -> None:
    event = e.ResearchFailed(cause="no-evidence", reason="no evidence was found")  # as older logs say it
    assert happened(event) == "not found: no evidence was found"
    store = MemoryStore()
    story = Story(store).begin().planned().gathered()
    story.not_found()
    place = Workplace(tmp_path, store)
    assert place.build().problems == ()
    text = place.note("reports/").read_text()
    assert ("Not found" in text, "Nearest" in text) == (True, False)
    story.scribe.note(e.ResearchReopened())
    place.build()
    assert not list((place.vault / "reports").rglob("*.md"))


def test_it_says_that_no_passage_mentions_a_name_and_of_everyday_words_only_where_nothing_was_found(tmp_path: Path) -> None:
    queue = "  - {id: rank, query: Which laptop trains ColBERTv3 for Consumers Kafka fastest?}\n"
    folder = space(tmp_path, f"{queue}  - {{id: depth, query: How deep is Kafka's lonely harbour of Proxmox?}}\n")
    (folder / "corpus" / "empty.md").write_text("")
    (folder / "corpus" / "terms.md").write_text("# Terms\n\ndraught\n: Kafka's harbour is 9 metres deep.\n\n    It is dredged.\n")
    told = said(folder, "run").out
    assert "\n> **What was not found:** No passage mentions “Proxmox”.\n" in note(folder, "reports", "proxmox")
    assert "(1 source, no passage mentions “Proxmox”): “draught: Kafka's harbour" in (folder / "vault" / "Home.md").read_text()
    assert "; no passage mentions “ColBERTv3” or “laptop” or “trains” or “fastest” (" in told
    (folder / "queries.yaml").write_text(f"queries:\n{queue}")
    assert said(folder, "run").out.startswith("nothing to do")  # a run without work, which reads no document
    assert "\n- skipped corpus/empty.md: it is empty\n" in note(folder, "nights", "")
