"""What a prune takes and what it never takes, how a broken-off one is ended, and what verify and build say afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from pipeline.batch.session_index import read_all
from pipeline.batch.session_lifecycle import has_work_left, reopen_session
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import Record
from pipeline.domain.events.talk_events import TalkOpened
from pipeline.domain.session import ResearchSession, state_of
from pipeline.domain.talk import read_talk
from pipeline.engine.recorder import new_stream
from pipeline.errors import CommandRefused, EventRejected
from pipeline.ops import citation_audit
from pipeline.ops.forgetting import (
    LATEST,
    OPEN,
    PRUNABLE,
    UNCONSOLIDATED,
    Prunable,
    Pruned,
    finish,
    forget,
    forgetting,
    leftovers,
    plan,
    prune,
)
from pipeline.store import verification
from tests.faults.filesystem import Fault, close_below, faulty
from tests.ops.lives import Killed, Life, kill
from tests.seeds import FULL, SEED

NOW = timedelta()
ALL = dict.fromkeys(PRUNABLE, NOW)


def _log(root: Path, *questions: tuple[int, str], consolidated: bool = True) -> Life:
    """A log with one session for each question (its number, how it ended), consolidated, on the days after each other."""
    life = Life(root, Random(1))
    for question, ending in questions:
        life.research(question, ending)
    if consolidated:
        life.consolidate()
    life.day += 30
    return life


def _prune(life: Life, ages: Mapping[Prunable, timedelta | None] = ALL) -> Pruned:
    store, context = life.store, life.context()
    finish(store, context)
    known = life.known(store)
    return prune(store, context, plan(known, ages, life.now), known.usage)


def _sound(life: Life) -> list[str]:
    return [str(finding) for finding in verification.verify(life.root / "events")]


def test_a_pruned_session_keeps_its_report_its_figures_and_its_version(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "report"))
    (name,) = life.recorded
    before = read_all(life.store).sessions
    state = ResearchSession.open(life.store, name).state
    assert _prune(life).sessions == [name]
    assert not (tmp_path / "events" / "sessions" / name).exists()
    kept = ResearchSession.open(life.store, name).state
    assert (kept.report, kept.status) == (state.report, state.status)
    assert read_all(life.store).sessions == before
    assert _sound(life) == []


def test_what_is_open_unconsolidated_or_the_latest_on_a_recurring_question_is_kept_and_said(tmp_path: Path) -> None:
    life = _log(tmp_path, (0, "report"), (1, "open"), (2, "report"), (2, "report"))
    first, last = [name for name in life.recorded if "-q2-" in name]
    chosen = plan(life.known(life.store), ALL, life.now)
    assert chosen.sessions == (first,)
    assert chosen.kept == {LATEST: 2}
    unknown = replace(life.known(life.store), due=life.recorded.keys())
    assert plan(unknown, ALL, life.now).sessions == ()
    assert plan(unknown, ALL, life.now).kept == {UNCONSOLIDATED: 3}
    assert (OPEN in chosen.kept, last in chosen.sessions) == (False, False)


def test_a_page_that_an_unpruned_report_cites_stays_and_an_exchange_goes(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "report"), (2, "failed"))
    store = life.store
    chosen = plan(life.known(store), {"exchanges": NOW, "pages": NOW}, life.now)
    cited = {digest for used in life.known(store).usage.streams.values() for digest in used.cited}
    assert cited
    assert cited.isdisjoint(chosen.pages)
    assert len(chosen.exchanges) == 2


def test_a_talk_that_names_a_page_keeps_it(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "failed"))
    known = life.known(life.store)
    pages = set(plan(known, {"pages": NOW}, life.now).pages)
    assert pages
    named = replace(known, usage=replace(known.usage, users=known.usage.users + Counter(pages)))
    assert plan(named, {"pages": NOW}, life.now).pages == ()


def test_a_session_whose_quote_is_not_in_its_page_stays(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "report"))
    (name,) = life.recorded
    cited = next(iter(life.known(life.store).usage.streams[name].cited))
    life.store.objects.remove([cited])
    done = _prune(life, {"sessions": NOW})
    assert done.sessions == []
    assert "quotes" in done.left[name]
    assert len(list((tmp_path / "events" / "prunes").glob("*"))) == 0


def test_a_missing_page_with_a_tombstone_is_no_damage_and_one_without_is(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "failed"))
    (name,) = life.recorded
    exchange = next(iter(life.known(life.store).usage.streams[name].exchanges))
    assert _prune(life, {"pages": NOW}).pages == 3
    assert _sound(life) == []
    assert citation_audit.check(ResearchSession.open(life.store, name).state, life.store).unsupported == ()
    life.store.objects.remove([exchange])
    assert [exchange in finding for finding in _sound(life)] == [True]


@pytest.mark.parametrize("kind", ["earlier.recalled", "memory.recalled", "changes.found", "page.read"])
def test_only_what_repeats_an_earlier_finding_may_name_a_page_that_was_pruned_before(tmp_path: Path, kind: str) -> None:
    life = _log(tmp_path, (1, "failed"))
    there = {*life.store.objects.ids()}
    _prune(life, {"pages": NOW})
    (page, *_) = there - {*life.store.objects.ids()}
    one = Record("one", "later", 1, kind, f"{life.now:%Y-%m-%d}T05:00:00.000Z", "run", b"")
    said = {**one._asdict(), "digest": page}
    del said["data"]
    life.store.append("later", [one._replace(data=json.dumps(said, separators=(",", ":")).encode())], 0)
    assert [page in defect for defect in _sound(life)] == [True] * (kind == "page.read")


def test_a_pruned_session_cannot_go_on_and_is_not_retried_from_its_last_step(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "failed"))
    (name,) = life.recorded
    _prune(life)
    state = ResearchSession.open(life.store, name).state
    assert not has_work_left(state, state.config)
    with pytest.raises(CommandRefused, match="pruned"):
        reopen_session(life.store, name, life.context())
    with pytest.raises(EventRejected, match="pruned"):
        life.store.append(name, [life.recorded[name][-1]], len(life.recorded[name]) - 1)


def test_a_session_that_went_on_elsewhere_after_it_was_pruned_here_is_whole_again(tmp_path: Path) -> None:
    life, other = _log(tmp_path / "here", (1, "failed")), tmp_path / "elsewhere"
    (name,) = life.recorded
    records = life.recorded[name]
    _prune(life)
    there = Life(other, Random(1)).store
    more = records[-1]._replace(id="later", version=len(records) + 1, type="research.reopened")
    data = more.data.replace(records[-1].id.encode(), b"later").replace(b"research.failed", b"research.reopened")
    more = more._replace(data=data.replace(b'"version":%d' % len(records), b'"version":%d' % more.version))
    there.append(name, [*records, more], 0)
    (other / "events" / "sessions" / name).rename(life.root / "events" / "sessions" / name)
    assert len(life.store.load(name)) == len(records) + 1
    assert _sound(life) == []


@pytest.mark.parametrize(("fault", "happens"), [("EIO", None), ("ENOSPC", None), ("short", None), ("EIO", kill)])
def test_whichever_operation_of_a_prune_fails_the_next_one_ends_it(
    tmp_path: Path, fault: Fault, happens: Callable[[], None] | None
) -> None:
    """Each operation fails once, in each way; the outcome is always that of a prune in which none fails."""
    at, count = 1 if FULL else 1 + SEED % 4, 2
    while at < count + 2:
        life = _log(tmp_path / str(at), (1, "report"), (2, "failed"))
        with faulty(life.root, at if at <= count else 0, fault, happens) as system:
            try:
                _prune(life)
            except (Killed, Exception):  # noqa: BLE001 - whatever it ends in, the next one goes on
                close_below(life.root)
        assert {finding.kind for finding in verification.verify(life.root / "events")} <= {"torn", "leftover"}, at
        for name, records in life.recorded.items():
            assert state_of(name, decode_all(x.data for x in life.store.load(name))).version == len(records), at
        _prune(life)
        assert [finding for finding in _sound(life) if ": torn: " not in finding] == [], at
        assert list(life.store.tombstones().sessions) == sorted(life.recorded), at
        assert list(leftovers(life.store)) == [], at
        prunes = [record for name in life.store.ids("prune") for record in life.store.load(name)]
        assert {next(x.type for x in prunes if x.run_id == one.run_id) for one in prunes} == {"run.started"}, at
        count = max(count, len(system.operations)) if fault == "EIO" or at > 1 else len(system.operations)
        at += 1 if FULL else 4


def test_a_forgotten_session_leaves_no_word_of_its_question(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "report"), (2, "report"))
    gone, left = life.recorded
    store = life.store
    talk = new_stream(store, life.context(), "talk")
    talk.record(TalkOpened(scope="vault", reasoner="fake", note=f"worker:{gone}/basic"))
    store.release(talk.id)
    one = next(one for one in read_all(store).sessions if one.id == gone)
    forget(store, life.context(), forgetting(store, gone, one.query, one.query_id))
    assert list(life.store.ids("session")) == [left]
    assert life.store.load(gone) == []
    assert (read_talk(life.store, talk.id).reasoner, read_talk(life.store, talk.id).note) == ("fake", "")
    files = (path for path in (tmp_path / "events").rglob("*.jsonl"))
    assert all(gone.encode() not in data and b"question 1" not in data for data in map(Path.read_bytes, files))
    assert all(life.store.objects.size(digest) for digest in life.known(life.store).usage.streams[left].all)
    assert _sound(life) == []


def test_notes_of_sources_stay_as_they_are_when_pages_that_no_report_cites_are_pruned(tmp_path: Path) -> None:
    life = _log(tmp_path, (1, "failed"), (2, "failed"))
    before = life.vault()
    assert _prune(life, {"pages": NOW}).pages == 6
    after = life.vault()
    assert before == after == life.vault("fresh")
