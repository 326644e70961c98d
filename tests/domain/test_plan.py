"""The plan's DAG: how it is laid out and extended."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.state import first_plan, gap_plan
from pipeline.domain.values import Perspective, PlanNode


def views(count: int, stem: str = "view") -> tuple[Perspective, ...]:
    return tuple(Perspective(id=f"{stem}-{n}", name=f"View {n}", focus="", questions=("Why?",)) for n in range(count))


def by_id(*nodes: PlanNode) -> dict[str, PlanNode]:
    return {node.id: node for node in nodes}


def test_the_first_plan_searches_side_by_side_then_validates_then_writes() -> None:
    plan = by_id(*first_plan(views(3)))
    assert list(plan) == ["search_0", "search_1", "search_2", "cross_validate", "synthesize"]
    assert [plan[f"search_{n}"].depends_on for n in range(3)] == [(), (), ()]
    assert [plan[f"search_{n}"].perspective for n in range(3)] == ["view-0", "view-1", "view-2"]
    assert plan["cross_validate"].depends_on == ("search_0", "search_1", "search_2")
    assert plan["synthesize"].depends_on == ("cross_validate",)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_whatever_is_laid_out_can_be_put_in_order(sizes: list[int]) -> None:
    plan, number = by_id(*first_plan(views(sizes[0]))), 0
    for gap_round, size in enumerate(sizes[1:], start=1):
        plan |= by_id(*gap_plan(views(size, f"gap-{gap_round}"), gap_round, number))
        number += size
    order = list(TopologicalSorter({node.id: node.depends_on for node in plan.values()}).static_order())
    assert order[-1] == "synthesize"
    assert len(order) == len(plan)
