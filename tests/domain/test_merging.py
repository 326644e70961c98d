"""Two branches of a recorded session, made by hand: which goes on, what it adopts, what both cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.records import Branch, Record, merge_run_id
from pipeline.domain.merging import joined
from pipeline.domain.session import record_of, stamped, state_of
from pipeline.domain.state import SessionState
from pipeline.domain.values import Cost
from pipeline.text.normalise import digest_of
from tests.recorded import records, stream

READS = [event for event in stream() if isinstance(event, e.PageRead)]
BASE = READS[0].version - 1
BEFORE = state_of("s1", stream()[:BASE]).spent.usd


def branch(name: str, drafts: Sequence[e.EventBase], base: int = BASE) -> Branch:
    """A branch on the first ``base`` events of the recorded session: a run that records the drafts."""
    events: list[e.EventBase] = [e.RunStarted(host=name, agent=name), *drafts]
    own = []
    for number, draft in enumerate(events, 1):
        at = f"2026-11-22T02:{number // 60:02d}:{number % 60:02d}.000Z"
        own.append(record_of(stamped(draft, "s1", base + number, name, f"{name}-{number}", at)))
    chain = [*records()[:base], *own]
    return Branch(hash_of(name), chain, {f"{record.run_id} {record.id}": record for record in chain})


def hash_of(name: str) -> str:
    return digest_of(name.encode())


def merged(kept: Branch, added: Iterable[Record]) -> tuple[e.BranchMerged, SessionState]:
    """The first record that joins two branches, and the state after all of them."""
    found = list(added)
    event = decode(found[0].data)
    assert isinstance(event, e.BranchMerged)
    return event, state_of("s1", decode_all(record.data for record in [*kept.records, *found]))


def changed(event: e.EventBase, **fields: Any) -> e.EventBase:
    return event.model_copy(update=fields)


def sent(step: str) -> e.CallSent:
    return e.CallSent(step=step, worst=Cost(usd=0.5, calls=1))


def test_an_answer_to_a_step_that_is_still_open_is_adopted_with_its_own_id_and_time() -> None:
    ours, theirs = branch("a", [*READS[:1], sent("x")]), branch("b", READS[1:2])
    kept, added = joined(ours, theirs)
    event, state = merged(kept, added)
    assert kept == ours
    assert event.adopted == ("b-2",)
    assert (added[1].id, added[1].at) == ("b-2", theirs.records[-1].at)
    assert {READS[0].url, READS[1].url} <= state.pages.keys()


def test_the_merge_is_the_same_whichever_machine_makes_it() -> None:
    ours, theirs = branch("laptop", READS[:1]), branch("server", READS[1:2])
    assert joined(ours, theirs) == joined(theirs, ours)
    kept, added = joined(ours, theirs)
    assert [record.version for record in added] == list(range(len(kept.records) + 1, len(kept.records) + len(added) + 1))
    assert all(record.run_id == merge_run_id(ours.head, theirs.head) for record in added)
    assert added[0].at == max(ours.records[-1].at, theirs.records[-1].at)


def test_the_same_answer_in_both_branches_is_no_conflict_whatever_it_cost() -> None:
    theirs = changed(READS[0], seconds=9.0, cost=Cost(usd=0.25))
    event, state = merged(*joined(branch("a", READS[:2]), branch("b", [theirs])))
    assert (event.same, event.conflicts) == (("b-2",), ())
    assert state.spent.usd == BEFORE + 0.25


def test_different_answers_to_one_step_are_a_conflict_that_names_both() -> None:
    theirs = changed(READS[0], title="Another title")
    event, state = merged(*joined(branch("a", READS[:2]), branch("b", [theirs])))
    assert [(one.step, one.ours, one.theirs) for one in event.conflicts] == [(READS[0].step, "a-2", "b-2")]
    assert event.conflicts[0].other.startswith("Another title, ")
    assert event.machines == ("a", "b")
    assert state.pages[READS[0].url].title == READS[0].title


def test_a_failure_elsewhere_is_not_adopted_and_an_answer_beats_it() -> None:
    failure = e.StepFailed(step=READS[0].step, error="ReadFailed", message="no network", recoverable=False, attempt=1)
    event, state = merged(*joined(branch("a", READS[1:3]), branch("b", [failure])))
    assert (event.adopted, event.conflicts, state.failures) == ((), (), {})


def test_a_branch_with_a_report_goes_on_and_adopts_nothing() -> None:
    last = len(records())
    whole = Branch(hash_of("whole"), records(), {record.id: record for record in records()})
    longer = branch("b", [sent(f"x{number}") for number in range(last)])
    kept, added = joined(longer, whole)
    event, state = merged(kept, added)
    assert kept == whole
    assert event.adopted == ()
    assert state.status == "complete"
    assert (event.lost, state.spent.lost) == (last, last)


def test_the_cost_of_both_branches_counts_each_call_once() -> None:
    """The call was announced before the branches parted; one counted it as lost, and the other has its answer."""
    call, answer = sent("Read:x"), changed(READS[0], cost=Cost(usd=0.125, calls=1))
    common = branch("run-1", [])
    first = branch("a", [changed(call, step=READS[0].step)])
    own = [*first.records, *_on(first, [e.RunStarted()], "later")]
    ours = Branch(hash_of("ours"), [*own, *_on_chain(own, [sent("y"), e.RunStarted()], "last")], {})
    theirs_chain = [*first.records, *_on_chain(list(first.records), [answer], "a")]
    ours = ours._replace(known={record.id: record for record in ours.records})
    theirs = Branch(hash_of("theirs"), theirs_chain, {record.id: record for record in theirs_chain})
    event, state = merged(*joined(ours, theirs))
    assert common.records[0] == ours.records[0]
    assert event.answered == (Cost(usd=0.5, calls=1),)
    assert (state.spent.lost, state.spent.lost_usd) == (1, 0.5)
    assert state.spent.usd == BEFORE + 0.5 + 0.125


def _on(before: Branch, drafts: Sequence[e.EventBase], run: str) -> list[Record]:
    return _on_chain(list(before.records), drafts, run)


def _on_chain(chain: Sequence[Record], drafts: Sequence[e.EventBase], run: str) -> list[Record]:
    at = "2026-11-22T03:00:00.000Z"
    numbered = enumerate(drafts, len(chain) + 1)
    return [record_of(stamped(draft, "s1", version, run, f"{run}.{version}", at)) for version, draft in numbered]


def test_a_session_that_failed_here_and_went_on_there_is_open_again() -> None:
    failed = e.ResearchFailed(cause="ReadFailed", reason="no network")
    event, state = merged(*joined(branch("a", [sent("x"), sent("y"), failed]), branch("b", READS[:1])))
    assert state.status == "searching"
    assert event.adopted == ("b-2",)


@pytest.mark.parametrize("ending", [e.ResearchCancelled(reason="enough")])
def test_a_person_who_cancels_on_one_machine_cancels(ending: e.EventBase) -> None:
    _, state = merged(*joined(branch("a", READS[:3]), branch("b", [ending])))
    assert state.status == "cancelled"


def test_an_answer_whose_question_was_another_is_left() -> None:
    """The check of another text is not the answer to the question about this one."""
    written = next(event for event in stream() if isinstance(event, e.ReportWritten))
    checked = next(event for event in stream() if isinstance(event, e.ClaimsChecked))
    base = written.version - 1
    ours = branch("a", [sent("x"), sent("y"), changed(written, sections=written.sections[:1])], base)
    theirs = branch("b", [written, checked], base)
    event, _ = merged(*joined(ours, theirs))
    assert [conflict.step for conflict in event.conflicts] == [written.step]
    assert event.left == ("b-3",)


def test_streams_that_are_neither_sessions_nor_talks_adopt_nothing() -> None:
    chain = [replace_stream(record) for record in records()[:3]]
    first = Branch(hash_of("1"), chain, {record.id: record for record in chain})
    second = Branch(hash_of("2"), chain[:2], {"other": chain[1]._replace(id="other")})
    kept, added = joined(first, second)
    event = decode(added[0].data)
    assert isinstance(event, e.BranchMerged)
    assert (kept, len(added), event.left) == (first, 1, ("other",))


def replace_stream(record: Record) -> Record:
    return record._replace(session_id="memory-1")
