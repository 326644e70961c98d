"""The plan's DAG: the first plan, its extension by gap rounds, and validation. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from pipeline.domain.values import Perspective, PlanNode

VALIDATE = "cross_validate"
SYNTHESIZE = "synthesize"


def first_plan(perspectives: Sequence[Perspective], *, validates: bool = True) -> tuple[PlanNode, ...]:
    """Return search_0…n → cross_validate → synthesize; without a model nobody ``validates``."""
    searches = tuple(_search_node(f"search_{number}", view, ()) for number, view in enumerate(perspectives))
    if not validates:
        return (*searches, _synthesize_node(tuple(node.id for node in searches)))
    validate = PlanNode(
        id=VALIDATE,
        task="validate",
        description="Cross-check the facts of all workers",
        depends_on=tuple(node.id for node in searches),
    )
    return (*searches, validate, _synthesize_node((VALIDATE,)))


def gap_plan(perspectives: Sequence[Perspective], gap_round: int, first_number: int) -> tuple[PlanNode, ...]:
    """Return gap_m… → cross_validate_2 → synthesize for one gap round (1-based), with gap numbers from ``first_number`` on."""
    before = VALIDATE if gap_round == 1 else f"{VALIDATE}_{gap_round}"
    gaps = tuple(_search_node(f"gap_{number}", view, (before,)) for number, view in enumerate(perspectives, start=first_number))
    validate = PlanNode(
        id=f"{VALIDATE}_{gap_round + 1}",
        task="validate",
        description="Cross-check the facts of the gap workers with the rest",
        depends_on=tuple(node.id for node in gaps),
    )
    return (*gaps, validate, _synthesize_node((before, validate.id)))


def _search_node(node_id: str, view: Perspective, depends_on: tuple[str, ...]) -> PlanNode:
    return PlanNode(id=node_id, task="search", description=view.name, depends_on=depends_on, perspective=view.id)


def _synthesize_node(depends_on: tuple[str, ...]) -> PlanNode:
    return PlanNode(id=SYNTHESIZE, task="synthesize", description="Write the report", depends_on=depends_on)


def validation_round(node: PlanNode) -> int:
    """Return the round (0-based) that a validate node closes: ``cross_validate`` 0, ``cross_validate_2`` 1."""
    tail = node.id.removeprefix(VALIDATE).removeprefix("_")
    return int(tail) - 1 if tail.isdigit() else 0


def problems(nodes: Iterable[PlanNode], known: Mapping[str, PlanNode], perspectives: Mapping[str, Perspective]) -> list[str]:
    """Return the errors, in words, of adding ``nodes`` to the ``known`` ones; empty for a valid plan.

    Only the synthesis node may replace a known one, because its dependencies grow with each gap round.
    """
    added = list(nodes)
    whole = {**known, **{node.id: node for node in added}}
    ids = [node.id for node in added]
    wrong = [f"{name} is in the plan twice" for name in sorted({name for name in ids if ids.count(name) > 1})]
    wrong += [f"{name} is already planned" for name in ids if name in known and known[name].task != "synthesize"]
    for node in added:
        wrong += [f"{node.id} depends on {name}, which is not in the plan" for name in node.depends_on if name not in whole]
        if node.task == "search" and node.perspective not in perspectives:
            wrong.append(f"{node.id} has no perspective {node.perspective!r}")
    if not any(node.task == "search" for node in added):
        wrong.append("the plan has no search node")
    try:
        TopologicalSorter({} if wrong else {node.id: node.depends_on for node in whole.values()}).prepare()
    except CycleError as error:
        wrong.append("the plan has a cycle: " + " → ".join(error.args[1]))
    return wrong
