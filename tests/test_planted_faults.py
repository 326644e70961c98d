"""The planted faults fit the package as it is, so that ``python -m bench.planted`` says something about it."""

from __future__ import annotations

import ast

import pytest

from bench.planted import ROOT, Fault, all_faults


@pytest.mark.parametrize("fault", all_faults(), ids=lambda fault: str(fault.name))
def test_a_planted_fault_changes_one_place_of_the_package_and_leaves_it_python(fault: Fault) -> None:
    text = fault.place(ROOT).read_text("utf-8")
    changed = fault.changed(text)
    assert changed != text
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_ten_faults_are_planted_at_least() -> None:
    assert len(all_faults()) >= 10
