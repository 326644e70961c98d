"""What each kind of call cost, from the events alone."""

from __future__ import annotations

from typing import Any

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Cost, Spent
from pipeline.vault.notes.cost_table import LOST, cost_rows


def cost(sent: int, usd: float, **more: Any) -> Cost:
    return Cost(input_tokens=sent, output_tokens=10, total_tokens=sent + 10, usd=usd, calls=1, **more)


def section(sent: int, usd: float, **more: Any) -> e.SectionWritten:
    return e.SectionWritten(section_id="s", paragraphs=(), step="WriteSection:s", cost=cost(sent, usd, **more))


def test_calls_of_one_kind_are_one_row_and_the_dearest_kind_comes_first() -> None:
    thought = e.WorkerThought(worker_id="w", iteration=1, reasoning="", queries=(), step="Think:w:1", cost=cost(50, 0.3))
    rows = cost_rows([section(100, 0.1), thought, section(200, 0.1, cached_tokens=150)], Spent())
    assert [(row.kind, row.calls, row.input_tokens, row.cached_tokens, row.output_tokens, row.usd) for row in rows] == [
        ("Deciding what to search for", 1, 50, 0, 10, 0.3),
        ("Writing", 2, 300, 150, 20, 0.2),
    ]


def test_a_failed_step_counts_with_its_kind_and_what_cost_nothing_has_no_row() -> None:
    failed = e.StepFailed(step="WriteSection:s", error="x", message="m", recoverable=True, attempt=1, cost=cost(5, 0.01))
    free = e.FactsValidated(round=0, facts=(), step="Validate:0")
    (row,) = cost_rows([failed, section(5, 0.01), free], Spent())
    assert (row.kind, row.calls, row.usd) == ("Writing", 2, 0.02)


def test_an_old_event_that_names_no_step_is_counted_by_its_type() -> None:
    (row,) = cost_rows([section(5, 0.01).model_copy(update={"step": ""})], Spent())
    assert row.kind == "Writing"


def test_calls_without_a_reply_make_the_rows_add_up_to_what_was_spent() -> None:
    spent = Spent(calls=3, lost=1, lost_usd=0.5, input_tokens=130, output_tokens=40, usd=0.52)
    rows = cost_rows([section(5, 0.01), section(5, 0.01)], spent)
    assert [row.kind for row in rows] == [LOST, "Writing"]
    assert (sum(row.input_tokens for row in rows), sum(row.output_tokens for row in rows)) == (130, 40)
    assert sum(row.usd for row in rows) == 0.52
