"""The plan's DAG: how it is laid out and extended, and what makes one unsound."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.plan import first_plan, gap_plan, problems
from pipeline.domain.values import Perspective, PlanNode


def views(count: int, stem: str = "view") -> tuple[Perspective, ...]:
    return tuple(Perspective(id=f"{stem}-{n}", name=f"View {n}", focus="", questions=("Why?",)) for n in range(count))


def by_id(*nodes: PlanNode) -> dict[str, PlanNode]:
    return {node.id: node for node in nodes}


def known(*groups: tuple[Perspective, ...]) -> dict[str, Perspective]:
    return {view.id: view for group in groups for view in group}


def test_the_first_plan_searches_side_by_side_then_validates_then_writes() -> None:
    plan = by_id(*first_plan(views(3)))
    assert list(plan) == ["search_0", "search_1", "search_2", "cross_validate", "synthesize"]
    assert [plan[f"search_{n}"].depends_on for n in range(3)] == [(), (), ()]
    assert [plan[f"search_{n}"].perspective for n in range(3)] == ["view-0", "view-1", "view-2"]
    assert plan["cross_validate"].depends_on == ("search_0", "search_1", "search_2")
    assert plan["synthesize"].depends_on == ("cross_validate",)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_whatever_is_laid_out_is_sound_and_can_be_put_in_order(sizes: list[int]) -> None:
    first = views(sizes[0])
    plan, perspectives, number = by_id(*first_plan(first)), known(first), 0
    assert problems(plan.values(), {}, perspectives) == []
    for gap_round, size in enumerate(sizes[1:], start=1):
        added = views(size, f"gap-{gap_round}")
        nodes = gap_plan(added, gap_round, number)
        perspectives |= known(added)
        assert problems(nodes, plan, perspectives) == []
        plan |= by_id(*nodes)
        number += size
    order = list(TopologicalSorter({node.id: node.depends_on for node in plan.values()}).static_order())
    assert order[-1] == "synthesize"


def test_all_that_is_wrong_with_a_plan_is_told_at_once() -> None:
    lost = PlanNode(id="a", task="search", description="", depends_on=("b", "c"), perspective="nobody")
    twice = PlanNode(id="d", task="validate", description="")
    assert problems([lost, twice, twice], {}, {}) == [
        "d is in the plan twice",
        "a depends on b, which is not in the plan",
        "a depends on c, which is not in the plan",
        "a has no perspective 'nobody'",
    ]
