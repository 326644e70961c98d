"""The plan's DAG: how it is laid out and extended."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.research_values import Perspective, PlanNode
from pipeline.domain.session_state import plan_of


def views(count: int, stem: str = "view") -> tuple[Perspective, ...]:
    return tuple(Perspective(id=f"{stem}-{n}", name=f"View {n}", focus="", questions=("Why?",)) for n in range(count))


def by_id(*nodes: PlanNode) -> dict[str, PlanNode]:
    return {node.id: node for node in nodes}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_whatever_is_laid_out_can_be_put_in_order(sizes: list[int]) -> None:
    plan, number = by_id(*plan_of(views(sizes[0]))), 0
    for gap_round, size in enumerate(sizes[1:], start=1):
        plan |= by_id(*plan_of(views(size, f"gap-{gap_round}"), gap_round, number))
        number += size
    order = list(TopologicalSorter({node.id: node.depends_on for node in plan.values()}).static_order())
    assert order[-1] == "synthesize"
    assert len(order) == len(plan)
