"""``run`` and ``retry`` as their user meets them: what is taken up, what ends a night, what is told and remembered."""

from __future__ import annotations

import json
import re
import shutil
import socket
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

from pipeline.batch.night_result import account
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.night_events import BatchEnded, QueryEnded, QuerySkipped, VaultFailed
from pipeline.errors import TemplateInvalid
from pipeline.store.file_store import FileStore
from tests.commanding import Said, actions, everything, last_run, said, workspace_in
from tests.fakes import batches

ROOT = Path(__file__).parents[2]
HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast, tags: [sea/depth]}\n"
SHIPS = "  - {query: Where do ships wait at night?, id: ships, mode: fast, tags: [sea]}\n"
NONSENSE = "  - {query: Zyzzyva quokka xylophone?, id: nonsense, mode: fast}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return workspace_in(tmp_path / "ws", HARBOUR + SHIPS)


# ---- what is taken up ----------------------------------------------------------------------------------------------


def test_a_tag_takes_up_its_queries_and_a_limit_leaves_the_rest_for_another_time(folder: Path) -> None:
    assert said(folder, "run", "--tag", "sea/depth").code == 0
    assert actions(folder) == {"harbour": "done", "ships": "new"}
    with (folder / "queries.yaml").open("a") as queue:
        queue.write("  - {query: How deep is the harbour at low tide?, id: tide, mode: fast}\n")
    told = said(folder, "run", "--limit", "1")
    assert told.code == 3
    assert "tide: the limit of 1 is reached" in told.out
    assert actions(folder) == {"harbour": "done", "ships": "done", "tide": "new"}
    assert said(folder, "run").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--tag", "se"], "did you mean sea?"),
        (["harbor"], "did you mean harbour?"),
        (["--deadline", "half past six"], "is not a time"),
        (["--deadline", "2020-01-01T06:30Z"], "has passed"),
        (["--limit", "0"], "--limit"),
        (["--max-cost", "-1"], "--max-cost"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_begins(folder: Path, args: list[str], words: str) -> None:
    told = said(folder, "run", *args)
    assert (told.code, words in told.err) == (2, True)
    assert not (folder / "events" / "sessions").exists()


def test_a_changed_question_is_researched_again_and_one_that_is_gone_is_archived(folder: Path) -> None:
    said(folder, "run")
    (folder / "queries.yaml").write_text(f"queries:\n{HARBOUR.replace('the harbour?', 'the harbour at low tide?')}")
    listed = json.loads(said(folder, "--json", "list").out)
    assert [query["action"] for query in listed["queries"]] == ["changed"]
    assert [name[11:-9] for name in listed["archived"]] == ["ships"]  # eight digits: four were the same once in 65,536
    lines = said(folder, "list", "--why").out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["changed", "archived"]
    assert "the question was changed" in lines[1]
    assert said(folder, "run").code == 0
    sessions = {entry["session"]: entry for entry in json.loads(said(folder, "--json", "list").out)["sessions"]}
    assert len(sessions) == 3
    reworded, how = (
        "queries:\n  - {query: What can ships draw at ebb?, mode: fast}\n",
        "keeps its history by the id that it had: `id: harbour`",
    )
    (folder / "queries.yaml").write_text(reworded)
    assert [how in said(folder, "run", *more).err for more in (["--dry-run"], [], [])] == [True, True, False]
    edited = reworded.replace("draw at", "now draw at") + "  - Is it wet?\n"
    (folder / "queries.yaml").write_text(edited)  # known in its new words, though its id is another
    assert "keeps its history" not in said(folder, "run", "--dry-run").err


# ---- the list ------------------------------------------------------------------------------------------------------


def listed_ids(folder: Path, *args: str) -> list[str]:
    value = json.loads(said(folder, "--json", "list", *args).out)
    known = {entry["session"] for entry in value["sessions"]}
    assert {query["session"] for query in value["queries"]} - {""} <= known
    return [query["id"] for query in value["queries"]]


def test_the_list_tells_session_time_steps_and_report_and_run_prints_the_report(folder: Path) -> None:
    ran = said(folder, "run", "harbour").out
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    assert str(report) in ran
    lines = said(folder, "list").out.splitlines()
    (about,) = json.loads(said(folder, "--json", "list").out)["sessions"]
    assert [line.split()[:2] for line in lines[::3]] == [["passages", "harbour"], ["due", "ships"]]
    assert lines[1].split(", ") == [
        f"{'':<11} {about['session']}", about["started"][:16].replace("T", " ") + "Z", f"{about['progress']['done']} steps",
    ]  # fmt: skip
    assert lines[2].strip() == str(report) == str(folder / about["report"])
    assert f"report     {report}" in said(folder, "show", "harbour").out
    report.unlink()
    assert str(report) not in said(folder, "list").out  # a path that leads nowhere is not shown


def test_the_list_can_be_narrowed_by_status_and_tag(folder: Path) -> None:
    said(without_answers(folder), "run", "harbour", "more")
    (folder / "queries.yaml").write_text(
        (folder / "queries.yaml").read_text() + "  - {query: Why salt?, id: salt, tags: [sea]}\n"
    )
    everything = listed_ids(folder)
    for args, ids in (
        (["--status", "due"], {"salt", "nonsense"}),
        (["--status", "not-found"], {"more"}),
        (["--status", "not-found", "--status", "done"], {"more", "harbour"}),
        (["--tag", "sea"], {"harbour", "salt"}),
        (["--tag", "sea", "--status", "due"], {"salt"}),
        (["--tag", "SEA"], {"harbour", "salt"}),
        ([], set(everything)),
    ):
        assert set(listed_ids(folder, *args)) == ids, args
    assert said(folder, "list", "--tag", "land").out == "no query matches these options\n"


# ---- trying again --------------------------------------------------------------------------------------------------


def without_answers(folder: Path) -> Path:
    """Ask two questions that the documents do not answer beside one that they do: what is not found is no failure."""
    entries = f"{NONSENSE}{HARBOUR}{NONSENSE.replace('nonsense', 'more').replace('Z', 'X')}"
    (folder / "queries.yaml").write_text(f"settings: {{limits: {{max_failures: 1}}}}\nqueries:\n{entries}")
    return folder


def test_what_was_not_found_is_left_alone_until_it_is_to_be_tried_again(folder: Path) -> None:
    assert said(without_answers(folder), "run").code == 5
    told = said(folder, "run")
    assert (told.code, told.out.splitlines()[0]) == (0, "nothing to do")
    assert "research retry" in told.out
    assert said(folder, "retry", "more").code == 5
    assert "Xyzzyva quokka xylophone?]] (still not found)" in (folder / "vault" / "Home.md").read_text()
    (folder / "corpus" / "found.md").write_text("# Zyzzyva\n\nA zyzzyva is a weevil; a quokka plays no xylophone.\n")
    assert said(folder, "retry", "nonsense").code == 0
    assert actions(folder) == {"nonsense": "done", "harbour": "done", "more": "not-found"}
    assert len(list(FileStore(folder / "events").ids("session"))) == 5  # a retry is a new session
    assert len(list((folder / "vault" / "reports").rglob("*.md"))) == 5
    assert said(folder, "run", "--retry-failed").out.splitlines()[0] == "nothing to do"
    assert said(folder, "retry").code in {0, 5}
    assert last_run(folder)["ended"][0]["query_id"] == "more"


@pytest.mark.parametrize("again", [("retry",), ("run", "harbour")])
def test_a_failed_question_whose_folder_was_corrected_is_researched_in_the_new_one(folder: Path, again: tuple[str, ...]) -> None:
    queue = folder / "queries.yaml"
    queue.write_text(f"queries:\n{HARBOUR.replace('mode: fast', 'in: nowhere/')}")
    told = said(folder, "doctor")
    assert (told.code, "have no folder nowhere/" in told.out) == (2, True)
    assert said(folder, "run").code == said(folder, *again).code == 1
    queue.write_text(f"queries:\n{HARBOUR.replace('mode: fast', 'in: corpus/')}")
    assert said(folder, *again).code == 0
    assert actions(folder) == {"harbour": "done"}


def test_a_folder_of_documents_that_is_missing_beside_others_is_named_wherever_a_night_is(folder: Path) -> None:
    (folder / "queries.yaml").write_text(f"settings: {{corpus: [corpus, papers]}}\nqueries:\n{HARBOUR}")
    told = said(folder, "-q", "run")
    assert (told.code, told.out, told.err.count("left out: papers: ")) == (0, "", 1)
    (unread,) = last_run(folder)["unread"]
    assert unread.startswith("papers: this folder of documents is missing")
    (night,) = (folder / "vault" / "nights").glob("*.md")
    for note in (night, folder / "vault" / "Home.md"):
        assert "> - papers: this folder of documents is missing" in note.read_text()
    examined = said(folder, "doctor").out
    assert "papers cannot be used" in examined
    assert "documents: 2 files in corpus\n" in examined


def test_what_is_done_is_researched_once_more_by_name_only(folder: Path) -> None:
    assert said(folder, "run", "harbour").code == 0
    assert "research run harbour --again" in said(folder, "run", "harbour").out
    refused = said(folder, "run", "--again")
    assert (refused.code, "name the queries" in refused.err) == (2, True)
    assert said(folder, "run", "harbour", "--again").code == 0
    assert len(list(FileStore(folder / "events").ids("session"))) == 2


# ---- telling -------------------------------------------------------------------------------------------------------


def agreeing(folder: Path, told: Said) -> dict[str, Any]:
    """What a night says of itself, once it is the same everywhere."""
    store = FileStore(folder / "events")
    name = batches(store)[-1]
    events = list(decode_all(record.data for record in store.load(name)))
    summary: dict[str, Any] = json.loads(told.out)
    assert summary == last_run(folder)
    reports = {str(path.relative_to(folder)) for path in (folder / "vault" / "reports").rglob("*.md")}
    assert {entry.pop("report") for entry in summary["ended"]} - {""} <= reports
    assert summary == account(events)
    (end,) = [event for event in events if isinstance(event, BatchEnded)]
    failed = [event for event in events if isinstance(event, VaultFailed)]
    assert told.code == summary["exit_code"] == (failed[0].exit_code if failed else end.exit_code)
    counts = (end.done, end.not_found, end.failed, end.open)
    assert counts == tuple(summary[name] for name in ("done", "not_found", "failed", "open"))
    assert sum(counts) == sum(isinstance(event, QueryEnded) for event in events)
    assert end.skipped == summary["left_out"] == sum(isinstance(event, QuerySkipped) for event in events)
    return summary


@pytest.mark.parametrize(
    ("args", "code"), [([], 5), (["harbour"], 0), (["--limit", "1"], 3), (["--limit", "1", "--tag", "sea"], 0)]
)
def test_events_summary_last_run_and_exit_code_agree_and_what_is_not_found_ends_no_night_as_a_failure(
    folder: Path, args: list[str], code: int
) -> None:
    summary = agreeing(without_answers(folder), said(folder, "--json", "run", *args))
    assert summary["exit_code"] == code
    (path,) = (folder / "vault" / "nights").glob("*.md")
    note = path.read_text()
    assert f"done: {summary['done']}\n" in note
    assert f"not_found: {summary['not_found']}\n" in note
    assert f"failed: {summary['failed']}\n" in note


@pytest.mark.parametrize(
    ("trouble", "code", "words"),
    [
        (OSError(28, "No space left on device"), 12, "OSError"),
        (ZeroDivisionError("a fault of ours"), 1, "ZeroDivisionError"),
        (TemplateInvalid("report.md.j2, line 1"), 2, "report.md.j2"),
    ],
)
def test_whatever_keeps_the_vault_from_being_built_the_account_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception, code: int, words: str
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise trouble

    monkeypatch.setattr("pipeline.wiring.vault_and_site.build", broken)
    told = said(folder, "--json", "run")
    assert (told.code, agreeing(folder, told)["done"]) == (code, 2)
    assert "the vault is not up to date" in told.err
    monkeypatch.undo()
    (folder / "queries.yaml").write_text(f"queries:\n{NONSENSE}")
    monkeypatch.setattr("pipeline.wiring.vault_and_site.build", broken)
    assert f"not up to date: {words}" in said(folder, "-q", "run").out


def test_a_night_without_work_leaves_the_last_account_alone(folder: Path) -> None:
    said(folder, "run")
    before = last_run(folder)
    assert said(folder, "--json", "run").code == 0
    assert last_run(folder) == before
    (folder / "events" / "local" / "last-run.json").unlink()
    assert said(folder, "run").code == 0
    assert last_run(folder)["nothing_to_do"]


class Tomorrow(datetime):
    """The clock of the next night."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(days=1)


def test_a_night_in_which_nothing_was_due_is_said_once_with_what_is_due_next_and_then_changes_no_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = f"queries:\n{HARBOUR}{SHIPS}".replace("mode: fast", "mode: fast, every: 7d")
    (folder / "queries.yaml").write_text(queue + NONSENSE)
    said(folder, "run")
    (folder / "queries.yaml").write_text(queue)
    for module in ("cli.run_inputs", "engine.stop_and_clock", "wiring.run_context_and_note_ratings"):
        monkeypatch.setattr(f"pipeline.{module}.datetime", Tomorrow)
    assert said(folder, "run", "ships").out.startswith("nothing to do")
    assert "nothing was due" not in (folder / "vault" / "Home.md").read_text()  # only one question was looked at
    said(folder, "run")
    words = r"Night of \d+ \w+ \d{4}: nothing was due.{0,50}Next, in the night to \d+ \w+ \d{4}: .{0,99}How deep is the harbour"
    shown = [(folder / "vault" / "Home.md").read_text(), (folder / "site" / "index.html").read_text()]
    for text in (*shown, said(folder, "digest").out, said(folder, "digest", "--html").out):
        assert re.search(words + r".{0,9} \(and 1 more\)", " ".join(text.split()))
        assert ("Where do ships wait at night?" in text) == (text in shown)  # a mail does not repeat what was found last
    before = everything(folder)
    assert said(folder, "run").out.startswith("nothing to do")
    assert everything(folder) == before
    (session,) = (path.name for path in (folder / "events" / "sessions").glob("*harbour*"))
    assert said(folder, "forget", session, "--yes").code == 0  # nor does a night name what was forgotten
    assert not [path for path in (folder / "events").rglob("*.jsonl") if "How deep" in path.read_text()]


# ---- the dry run ----


def refuse(*_args: object, **_kwargs: object) -> None:
    raise AssertionError("the network was asked")


@pytest.mark.parametrize("nights", [0, 1])
def test_a_dry_run_writes_nothing_and_asks_nobody(folder: Path, nights: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(nights):
        assert said(folder, "run", "ships").code == 0
    before = everything(folder)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-canary")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    told = said(folder, "run", "--dry-run", "--retry-failed", "--limit", "1", "--deadline", "06:30", "--max-cost", "1")
    assert (told.code, told.err) == (0, "")
    assert "harbour" in told.out
    assert json.loads(said(folder, "retry", "--dry-run", "--json").out)["due"] == []
    assert everything(folder) == before


def test_a_dry_run_says_what_the_night_would_cost_at_most(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-canary")
    with (folder / "queries.yaml").open("a") as queue:
        queue.write("  - {query: Is the pier safe?, id: pier, budget_usd: 0.25, priority: 3, mode: deep}\n")
    plan = json.loads(said(folder, "run", "--dry-run", "--json", "--max-cost", "0.40").out)
    assert [(entry["id"], entry["worst_usd"]) for entry in plan["due"]] == [("pier", 0.25), ("harbour", 0.4), ("ships", 0.4)]
    assert plan["worst_usd"] == 0.4
    deep, fast, _ = plan["due"]
    assert (fast["calls"], 20_000 < fast["tokens_in"] < deep["tokens_in"]) == (6, True)
    assert "at most 6 calls with about" in said(folder, "run", "--dry-run").out
    assert fast["about_usd"] is None
    priced = f"settings: {{prices: {{{fast['reasoner']}: {{input: 1.00, output: 2.00}}}}}}\n"
    (folder / "queries.yaml").write_text(priced + (folder / "queries.yaml").read_text())
    assert "by your prices" in said(folder, "run", "--dry-run").out
    uncapped = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert fast["tokens_in"] < uncapped["due"][1]["about_usd"] * 1e6 < 2 * fast["tokens_in"]
    assert ([entry["worst_usd"] for entry in uncapped["due"]], uncapped["worst_usd"]) == ([0.25, None, None], None)
    monkeypatch.delenv("OPENROUTER_API_KEY")
    free = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert {(entry["calls"], entry["tokens_in"]) for entry in free["due"]} == {(0, 0)}
    assert free["worst_usd"] == 0
    assert [entry["reasoner"] for entry in free["due"]] == ["extractive"] * 3


def test_a_dry_run_says_who_searches_and_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "searches local: none of BRAVE_API_KEY" in said(folder, "run", "--dry-run").out
    monkeypatch.setenv("BRAVE_API_KEY", "BSA-canary")
    why = "what has a key or an address, and your documents in corpus"
    assert said(folder, "run", "--dry-run").out.count(f"searches local and brave: {why}\n") == 1
    plan = json.loads(said(folder, "run", "--dry-run", "--json").out)
    assert [(entry["search"], entry["search_why"]) for entry in plan["due"]] == [(["local", "brave"], why)] * 2
    shutil.rmtree(folder / "corpus")
    assert "searches brave: " in said(folder, "run", "--dry-run").out


def test_a_dry_run_names_the_session_that_is_gone_on_with_and_what_is_left(folder: Path) -> None:
    (folder / "queries.yaml").write_text(f"queries:\n{HARBOUR.replace('mode: fast', 'approve: plan')}{SHIPS}{NONSENSE}")
    said(folder, "run")
    said(folder, "approve", "harbour")
    plan = json.loads(said(folder, "run", "--dry-run", "--json").out)
    (entry,) = plan["due"]
    assert (entry["id"], entry["action"]) == ("harbour", "resume")
    assert [(left["id"], left["action"]) for left in plan["left"]] == [("nonsense", "not-found")]
    assert plan["done"] == 1
