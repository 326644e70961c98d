"""Two branches of a recorded session, made by hand: which goes on, what it adopts, what both cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.domain.branch_merging import joined
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.stream_records import Branch, Record, merge_run_id
from pipeline.domain.research_values import Cost
from pipeline.domain.session import record_of, stamped, state_of
from pipeline.domain.session_state import SessionState
from pipeline.text.cleaning import digest_of
from tests.recorded import records, stream

READS = [event for event in stream() if isinstance(event, e.PageRead)]
BASE = READS[0].version - 1
PAID = Cost(usd=0.25, calls=1)
BEFORE = state_of("s1", stream()[:BASE]).spent.usd


def chain_on(chain: Sequence[Record], run: str, *drafts: e.EventBase) -> list[Record]:
    """The chain, then a run that records the drafts."""
    found = list(chain)
    for draft in drafts:
        minute, second = divmod(len(found), 60)
        name = f"{run}-{1 + sum(record.run_id == run for record in found)}"
        event = stamped(draft, "s1", len(found) + 1, run, name, f"2026-11-22T02:{minute:02d}:{second:02d}.000Z")
        found.append(record_of(event))
    return found


def known_as(name: str, chain: Sequence[Record]) -> Branch:
    return Branch(digest_of(name.encode()), chain, {f"{record.run_id} {record.id}": record for record in chain})


def branch(name: str, drafts: Sequence[e.EventBase], base: int = BASE) -> Branch:
    """A branch on the first ``base`` events of the recorded session: a run that records the drafts."""
    return known_as(name, chain_on(records()[:base], name, e.RunStarted(host=name, agent=name), *drafts))


def merged(kept: Branch, added: Iterable[Record]) -> tuple[e.BranchMerged, SessionState]:
    """The first record that joins two branches, and the state after all of them."""
    found = list(added)
    event = decode(found[0].data)
    assert isinstance(event, e.BranchMerged)
    return event, state_of("s1", decode_all(record.data for record in [*kept.records, *found]))


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
    theirs = READS[0].model_copy(update={"seconds": 9.0, "cost": PAID})
    event, state = merged(*joined(branch("a", READS[:2]), branch("b", [theirs])))
    assert (event.same, event.conflicts) == (("b-2",), ())
    assert state.spent.usd == BEFORE + 0.25


def test_different_answers_to_one_step_are_a_conflict_that_names_both() -> None:
    theirs = READS[0].model_copy(update={"title": "Another title"})
    event, state = merged(*joined(branch("a", READS[:2]), branch("b", [theirs])))
    assert [(one.step, one.ours, one.theirs) for one in event.conflicts] == [(READS[0].step, "a-2", "b-2")]
    assert event.machines == ("a", "b")
    assert state.pages[READS[0].url].title == READS[0].title


def test_a_failure_elsewhere_is_not_adopted_and_an_answer_beats_it() -> None:
    failure = e.StepFailed(step=READS[0].step, error="ReadFailed", message="no network", recoverable=False, attempt=1)
    event, state = merged(*joined(branch("a", READS[1:3]), branch("b", [failure])))
    assert (event.adopted, event.conflicts, state.failures) == ((), (), {})


def test_a_branch_with_a_report_goes_on_and_adopts_nothing() -> None:
    last = len(records())
    whole = known_as("whole", records())
    longer = branch("b", [sent(f"x{number}") for number in range(last)])
    kept, added = joined(longer, whole)
    event, state = merged(kept, added)
    assert kept == whole
    assert event.adopted == ()
    assert state.status == "complete"
    assert (event.lost, state.spent.lost) == (last, last)


def test_the_cost_of_both_branches_counts_each_call_once() -> None:
    """The call was announced before the branches parted; one counted it as lost, and the other has its answer."""
    common = branch("a", [sent(str(READS[0].step))]).records
    ours, theirs = chain_on(common, "later", e.RunStarted()), chain_on(common, "a", READS[0].model_copy(update={"cost": PAID}))
    event, state = merged(
        *joined(known_as("ours", chain_on(ours, "last", sent("y"), e.RunStarted())), known_as("theirs", theirs))
    )
    assert event.answered == (Cost(usd=0.5, calls=1),)
    assert (state.spent.lost, state.spent.lost_usd) == (1, 0.5)
    assert state.spent.usd == BEFORE + 0.5 + 0.25


def test_a_session_that_failed_here_and_went_on_there_is_open_again() -> None:
    failed = e.ResearchFailed(cause="ReadFailed", reason="no network")
    event, state = merged(*joined(branch("a", [sent("x"), sent("y"), failed]), branch("b", READS[:1])))
    assert state.status == "searching"
    assert event.adopted == ("b-2",)


def test_a_person_who_cancels_on_one_machine_cancels() -> None:
    _, state = merged(*joined(branch("a", READS[:3]), branch("b", [e.ResearchCancelled(reason="enough")])))
    assert state.status == "cancelled"


def test_an_answer_whose_question_was_another_is_left() -> None:
    """The check of another text is not the answer to the question about this one."""
    written = next(event for event in stream() if isinstance(event, e.ReportWritten))
    checked = next(event for event in stream() if isinstance(event, e.ClaimsChecked))
    base = written.version - 1
    ours = branch("a", [sent("x"), sent("y"), written.model_copy(update={"sections": written.sections[:1]})], base)
    theirs = branch("b", [written, checked], base)
    event, _ = merged(*joined(ours, theirs))
    assert [conflict.step for conflict in event.conflicts] == [written.step]
    assert event.left == ("b-3",)


def test_streams_that_are_neither_sessions_nor_talks_adopt_nothing() -> None:
    chain = [record._replace(session_id="memory-1") for record in records()[:3]]
    first, second = known_as("1", chain), known_as("2", [chain[0], chain[1]._replace(id="other")])
    kept, added = joined(first, second)
    event = decode(added[0].data)
    assert isinstance(event, e.BranchMerged)
    assert (kept, len(added), event.left) == (first, 1, ("other",))
