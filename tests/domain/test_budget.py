from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.budget import Budget, CallHistory, Caps, CombinedBudget, Reservation
from pipeline.domain.research_values import Cost
from pipeline.errors import BudgetSpent


def cost(usd: float, tokens: int = 10) -> Cost:
    return Cost(input_tokens=tokens, total_tokens=tokens, usd=usd)


AMOUNTS = st.tuples(st.integers(0, 50_000).map(lambda n: n / 10_000), st.integers(0, 500))


@given(st.lists(st.tuples(AMOUNTS, st.booleans(), st.floats(0, 1), st.booleans()), max_size=60))
def test_whatever_the_order_spent_and_set_aside_never_pass_a_cap(
    steps: list[tuple[tuple[float, int], bool, float, bool]],
) -> None:
    ledger = Budget(Caps(10.0, 1_000, 20))
    held: list[tuple[Reservation, Cost]] = []
    for (usd, tokens), ends, share, reached in steps:
        if ends and held:
            reservation, worst = held.pop(0)
            actual = cost(worst.usd * share, int(worst.total_tokens * share))
            ledger.settle(reservation, actual if reached else None)
        else:
            with contextlib.suppress(BudgetSpent):
                held.append((ledger.reserve(cost(usd, tokens)), cost(usd, tokens)))
        assert ledger.usd + sum(worst.usd for _, worst in held) <= 10.0 + 1e-9
        assert ledger.tokens + sum(worst.total_tokens for _, worst in held) <= 1_000
        assert ledger.calls + len(held) <= 20


@given(st.lists(AMOUNTS, max_size=60))
def test_the_sum_is_exact(amounts: list[tuple[float, int]]) -> None:
    ledger = Budget()
    for usd, tokens in amounts:
        ledger.settle(ledger.reserve(cost(usd, tokens)), cost(usd, tokens))
    assert round(ledger.usd * 10_000) == sum(round(usd * 10_000) for usd, _ in amounts)
    assert ledger.calls == len(amounts)


def test_a_call_that_cost_more_than_its_worst_case_is_charged_in_full() -> None:
    ledger = Budget(Caps(1.0))
    ledger.settle(ledger.reserve(cost(0.9)), cost(1.5))
    assert ledger.usd == 1.5
    with pytest.raises(BudgetSpent, match=r"query's budget of 1\.00 USD \(.*`budget_usd`\) .* may take .* USD \(1\.5000 spent\)"):
        ledger.reserve(cost(0.0))


def test_what_earlier_runs_spent_counts() -> None:
    ledger = Budget(Caps(1.0, calls=5), spent=cost(0.7, 300).model_copy(update={"calls": 4}))
    ledger.settle(ledger.reserve(cost(0.3)), cost(0.1))
    assert (ledger.usd, ledger.tokens, ledger.calls) == (0.8, 310, 5)
    with pytest.raises(BudgetSpent, match="5 calls"):
        ledger.reserve(cost(0.0))


def test_a_call_is_charged_to_all_its_ledgers_or_to_none() -> None:
    query, night = Budget(Caps(5.0)), Budget(Caps(1.0), name="night")
    purse = CombinedBudget((query, night))
    held = asyncio.run(purse.reserve(cost(0.6)))
    with pytest.raises(BudgetSpent) as caught:
        asyncio.run(purse.reserve(cost(0.6)))
    assert (caught.value.ledger, caught.value.limit, caught.value.spent) == ("night", "1.00", "0.0000")
    query.check(cost(4.4))
    with pytest.raises(BudgetSpent):
        query.check(cost(4.5))
    purse.settle(held, cost(0.5))
    assert (query.usd, night.usd) == (0.5, 0.5)


TOKENS = st.integers(1, 100_000)


@given(worst=st.tuples(TOKENS, TOKENS), sent=TOKENS, received=TOKENS, share=st.floats(0.01, 1.0))
def test_a_call_without_an_answer_is_estimated_like_the_answered_calls_of_its_kind(
    worst: tuple[int, int], sent: int, received: int, share: float
) -> None:
    announced = Cost(input_tokens=worst[0], output_tokens=worst[1], usd=1.0)
    history = CallHistory()
    assert 0 <= history.expected_usd(announced) <= announced.usd
    history.add(announced, Cost(input_tokens=sent, output_tokens=received, usd=share, calls=1))
    assert history.expected_usd(announced) == pytest.approx(share)
    assert history.expected_usd(announced.model_copy(update={"usd": 0.0})) == 0
