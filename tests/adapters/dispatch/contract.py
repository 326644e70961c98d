"""What every queue of jobs and every shared budget promises; each adapter's tests run these classes on a new, empty one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from pipeline.domain.distribution.jobs import Job, JobResult, Night, WorkerProcess
from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent, VersionConflict
from pipeline.ports.distribution import Dispatcher, SharedBudget

Budgets = Callable[..., SharedBudget]  # of a night with these caps
NIGHT = Night("batch-2026-11-21t021500-aa")
LONG, GONE = 600.0, -1.0  # a lease that does not end during a test, and one that has ended when it begins
FIRST, SECOND = WorkerProcess("w1", "north", 4, LONG, "d1"), WorkerProcess("w2", "south", 2, LONG, "d1")


def names(queue: Dispatcher, worker: WorkerProcess, most: int = 10, without: tuple[str, ...] = ()) -> list[str]:
    return [claim.job.session for claim in queue.claim(worker, most, without)]


def status(queue: Dispatcher, batch: str = NIGHT.batch) -> dict[str, str]:
    return {job.job.session: job.status for job in queue.jobs(batch)}


class DispatcherContract:
    """``queue`` is a fixture: an empty queue."""

    def test_jobs_are_taken_in_order_each_by_one_worker(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("c"), Job("a")])
        queue.enqueue(NIGHT, [Job("b")])
        assert names(queue, FIRST, 2) == ["c", "a"]
        assert names(queue, SECOND) == ["b"]
        assert names(queue, SECOND) == []

    def test_a_hundred_jobs_are_shared_out_among_eight_claiming_at_once(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job(f"s{n:03}") for n in range(100)])

        def take(number: int) -> list[str]:
            worker, mine = replace(FIRST, id=f"w{number}"), []
            while found := names(queue, worker, 3):
                mine += found
            return mine

        with ThreadPoolExecutor(8) as pool:
            taken = [name for found in pool.map(take, range(8)) for name in found]
        assert sorted(taken) == [f"s{n:03}" for n in range(100)]

    def test_a_claim_says_which_night_it_belongs_to_and_how_long_that_lasts(self, queue: Dispatcher) -> None:
        night = Night("batch-x", 3_600.0, 300.0, 2.5, 1_000, 7)
        queue.enqueue(night, [Job("a", "d1", "north")])
        (claim,) = queue.claim(FIRST, 1)
        assert (claim.job, claim.taken) == (Job("a", "d1", "north"), 1)
        assert 3_000 < (claim.night.ends_in_s or 0) <= 3_600
        assert replace(claim.night, ends_in_s=3_600.0) == night
        queue.enqueue(NIGHT, [Job("b")])
        assert queue.claim(FIRST, 1)[0].night.ends_in_s is None

    def test_the_end_and_the_caps_of_a_night_are_those_of_its_first_jobs(self, queue: Dispatcher) -> None:
        queue.enqueue(replace(NIGHT, cap_usd=1.0), [Job("a")])
        queue.enqueue(replace(NIGHT, cap_usd=9.0), [Job("b")])
        assert {claim.night.cap_usd for claim in queue.claim(FIRST, 2)} == {1.0}

    def test_a_job_for_another_machine_or_about_other_documents_is_left(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("theirs", "", "south"), Job("other", "d2"), Job("mine", "d1", "north"), Job("web")])
        assert names(queue, FIRST) == ["mine", "web"]
        assert names(queue, SECOND) == ["theirs"]
        assert names(queue, replace(FIRST, documents="d2")) == ["other"]

    def test_sessions_that_a_worker_is_still_ending_are_left(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        assert names(queue, FIRST, without=("a",)) == ["b"]

    def test_a_worker_that_falls_silent_loses_its_jobs_to_the_next_that_claims(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        silent = replace(FIRST, lease_s=GONE)
        assert names(queue, silent, 1) == ["a"]
        assert status(queue) == {"a": "lost", "b": "waiting"}
        assert names(queue, SECOND) == ["a", "b"]
        assert queue.claim(FIRST, 5) == []
        assert queue.beat(silent, ["a"]) == {}, "it hears that it has lost the job"
        assert not queue.release(silent, "a", JobResult()), "and cannot end it any more"
        assert status(queue) == {"a": "taken", "b": "taken"}
        assert [job.taken for job in queue.jobs(NIGHT.batch)] == [2, 1]

    def test_a_sign_of_life_keeps_the_jobs(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a")])
        names(queue, replace(FIRST, lease_s=GONE))
        assert queue.beat(FIRST, ["a"]) == {"a": ""}
        assert names(queue, SECOND) == []

    def test_a_job_that_its_worker_does_not_know_of_is_taken_when_the_lease_ends(self, queue: Dispatcher) -> None:
        """The answer to a claim may be lost with the connection, after the claim took effect."""
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        names(queue, replace(FIRST, lease_s=GONE), 1)
        assert queue.beat(FIRST, ["b"]) == {}
        assert status(queue) == {"a": "lost", "b": "waiting"}
        assert names(queue, FIRST) == ["a", "b"], "by itself, or by another"

    def test_a_job_ends_with_its_result(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a")])
        names(queue, FIRST)
        result = JobResult("SearchFailed", "no search", "try later", "brave", 3.5, True)
        assert queue.release(FIRST, "a", result)
        (job,) = queue.jobs(NIGHT.batch)
        assert (job.status, job.result, job.machine) == ("done", result, "north")
        assert names(queue, SECOND) == []
        assert queue.beat(FIRST, ["a"]) == {}

    def test_a_job_that_is_put_back_is_first_in_line_again(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        names(queue, FIRST, 1)
        assert queue.release(FIRST, "a")
        assert names(queue, SECOND) == ["a", "b"]

    def test_a_job_that_a_worker_refuses_is_left_to_others_with_the_reason(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a")])
        names(queue, FIRST)
        assert queue.release(FIRST, "a", refused="no key for the model")
        assert names(queue, FIRST) == []
        assert queue.jobs(NIGHT.batch)[0].refused == {"w1": "no key for the model"}
        assert names(queue, SECOND) == ["a"]

    def test_a_stop_ends_what_waits_and_reaches_the_others_with_their_next_sign_of_life(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b"), Job("c")])
        names(queue, FIRST, 1)
        queue.stop(NIGHT.batch, "enough", waiting_only=True)
        assert queue.beat(FIRST, ["a"]) == {"a": ""}
        assert status(queue) == {"a": "taken", "b": "done", "c": "done"}
        queue.stop(NIGHT.batch, "the deadline has passed")
        assert queue.beat(FIRST, ["a"]) == {"a": "the deadline has passed"}
        assert queue.release(FIRST, "a"), "put back, it is not taken by anybody"
        assert names(queue, SECOND) == []
        assert all(job.result and job.result.stopped for job in queue.jobs(NIGHT.batch))

    def test_the_stop_of_one_night_does_not_touch_another(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a")])
        queue.enqueue(Night("batch-other"), [Job("b")])
        queue.stop(NIGHT.batch, "enough")
        assert names(queue, FIRST) == ["b"]
        assert status(queue, "batch-other") == {"b": "taken"}

    def test_a_session_that_is_queued_again_is_taken_from_whoever_has_it(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        names(queue, FIRST, 1)
        queue.enqueue(Night("batch-next"), [Job("a", "d1")])
        assert queue.beat(FIRST, ["a"]) == {}
        assert names(queue, SECOND) == ["b", "a"]
        assert [job.job.session for job in queue.jobs(NIGHT.batch)] == ["b"]

    def test_a_night_that_is_closed_takes_its_jobs_from_their_workers(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        queue.enqueue(Night("batch-other"), [Job("c"), Job("d")])
        names(queue, FIRST, 3)
        queue.close(NIGHT.batch)
        assert (queue.beat(FIRST, "abc"), queue.jobs(NIGHT.batch)) == ({"c": ""}, [])
        queue.close()
        assert (queue.beat(FIRST, "abc"), names(queue, SECOND)) == ({}, [])

    def test_the_workers_are_known_from_their_signs_of_life(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a"), Job("b")])
        names(queue, SECOND)
        queue.beat(FIRST, [])
        queue.beat(replace(FIRST, id="w3", machine="east", lease_s=GONE), [])
        seen = queue.workers()
        assert [(one.worker.machine, one.jobs, one.lost) for one in seen] == [
            ("east", 0, True),
            ("north", 0, False),
            ("south", 2, False),
        ]
        assert seen[1].worker == FIRST
        assert queue.workers(seen_within_s=-1) == []

    def test_a_worker_that_leaves_is_not_listed_and_its_jobs_are_put_back(self, queue: Dispatcher) -> None:
        queue.enqueue(NIGHT, [Job("a")])
        names(queue, FIRST)
        queue.leave(FIRST)
        assert [one.worker.id for one in queue.workers()] == []
        assert names(queue, SECOND) == ["a"]


def usd(amount: float, tokens: int = 0) -> Cost:
    return Cost(usd=amount, total_tokens=tokens)


class SharedBudgetContract:
    """``budget_with`` is a fixture: it opens a night with caps and returns the budget."""

    def test_reservations_of_all_sessions_together_stay_under_the_cap(self, budget_with: Budgets) -> None:
        budget = budget_with(cap_usd=1.0)
        shares = [budget.take_over(NIGHT.batch, f"s{n}", Cost()) for n in range(8)]

        def reserve(number: int) -> int:
            for done in range(100):
                try:
                    budget.reserve(shares[number], usd(0.01), 1)
                except BudgetSpent:
                    return done
            return 100

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(reserve, range(8))) == 100

    @pytest.mark.parametrize(("cap", "worst", "calls"), [("usd", usd(0.4), 1), ("tokens", usd(0, 40), 1), ("calls", usd(0), 4)])
    def test_each_cap_refuses_by_its_name(self, budget_with: Budgets, cap: str, worst: Cost, calls: int) -> None:
        budget = budget_with(**{f"cap_{cap}": 1.0 if cap == "usd" else 100 if cap == "tokens" else 10})
        share = budget.take_over(NIGHT.batch, "s", Cost())
        budget.reserve(share, worst, calls)
        budget.reserve(share, worst, calls)
        with pytest.raises(BudgetSpent) as refused:
            budget.reserve(share, worst, calls)
        assert (refused.value.cap, refused.value.ledger) == (cap, "night")

    def test_what_is_settled_counts_with_what_it_cost(self, budget_with: Budgets) -> None:
        budget = budget_with(cap_usd=1.0)
        share = budget.take_over(NIGHT.batch, "s", Cost())
        budget.reserve(share, usd(0.9), 1)
        budget.settle(share, usd(0.9), 1, usd(0.1))
        budget.reserve(share, usd(0.9), 1)
        budget.settle(share, usd(0.9), 1, None)
        budget.reserve(share, usd(0.9), 1)
        with pytest.raises(BudgetSpent, match=r"1\.00 USD .*0\.1000 spent"):
            budget.reserve(share, usd(0.1), 1)

    def test_a_take_over_frees_what_was_reserved_and_counts_what_the_log_says(self, budget_with: Budgets) -> None:
        budget = budget_with(cap_usd=1.0)
        share = budget.take_over(NIGHT.batch, "s", usd(5.0))  # what earlier nights cost is not this night's
        budget.reserve(share, usd(0.9), 1)
        again = budget.take_over(NIGHT.batch, "s", usd(5.3))
        budget.reserve(again, usd(0.7), 1)
        with pytest.raises(BudgetSpent, match=r"0\.3000 spent"):
            budget.reserve(again, usd(0.01), 1)

    def test_a_worker_that_wakes_up_in_an_old_turn_can_neither_reserve_nor_free(self, budget_with: Budgets) -> None:
        budget = budget_with(cap_usd=1.0)
        old = budget.take_over(NIGHT.batch, "s", Cost())
        budget.reserve(old, usd(0.5), 1)
        new = budget.take_over(NIGHT.batch, "s", usd(0.5))
        budget.reserve(new, usd(0.5), 1)
        with pytest.raises(VersionConflict, match="taken over"):
            budget.reserve(old, usd(0.0), 1)
        budget.settle(old, usd(0.5), 1, usd(0.1))
        with pytest.raises(BudgetSpent):
            budget.reserve(new, usd(0.01), 1)

    def test_a_night_without_caps_refuses_nothing(self, budget_with: Budgets) -> None:
        budget = budget_with()
        budget.reserve(budget.take_over(NIGHT.batch, "s", Cost()), usd(1e6, 10**12), 10**6)
