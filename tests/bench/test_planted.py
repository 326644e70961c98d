"""Planted sentences: what is made false, and what the totals say of answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.planted import KINDS, plant, prompt_of, total
from pipeline.domain.reasoner_questions import Check, Fault

TOLD = (
    "The intake valve of the {0} opens after 40 seconds and closes again by itself.",
    "The outer casing of the {0} is usually made of cast iron and painted green.",
    "The main bearing of the {0} must be oiled with a thin oil before each winter.",
    "The control panel of the {0} has a red lamp that shows a loss of pressure.",
)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    for number, name in enumerate(("mill", "pump", "crane", "loom", "kiln", "winch")):
        told = (f"## Part {place}\n\n{one.format(name)} It was made in 19{number}7 by hand." for place, one in enumerate(TOLD))
        paragraphs = "\n\n".join(told)
        (tmp_path / f"{name}.md").write_text(f"# The {name}\n\n{paragraphs}\n", "utf-8")
    return tmp_path


def test_each_kind_is_planted_beside_as_many_true_sentences_but_never_beside_its_own(
    documents: Path,
) -> None:
    portions = plant(documents, each=2)
    shown = [one for portion in portions for one in portion.values()]
    assert sorted(one.kind for one in shown) == sorted([*KINDS] * 2 + [""] * 14)
    for portion in portions:
        assert len({one.fact.id for one in portion.values()}) == len(portion)
    assert all((one.text in one.fact.quote) == (one.kind in ("", "invented key")) for one in shown)
    assert plant(documents, each=2) == portions


def test_a_prompt_is_that_of_a_check_and_does_not_give_away_what_is_false(documents: Path) -> None:
    portion = plant(documents, each=2)[0]
    prompt = prompt_of(portion)
    assert all(f"[{key}] {one.text} (" in prompt for key, one in portion.items())
    assert '"faults"' in prompt
    assert not any(kind in prompt for kind in KINDS if kind != "negation")


def test_totals_part_what_code_caught_from_what_the_checker_caught(documents: Path) -> None:
    portions = plant(documents, each=2)
    keys = {one.kind: key for key, one in portions[0].items()}
    answer = Check(faults=tuple(Fault(sentence=f"[{keys[kind]}]") for kind in ("negation", "wrong scope", "")))
    lines = {line[:20].strip(): line[20:].split() for line in total(portions, {1: answer}).splitlines()[2:]}
    assert lines["negation"] == ["1", "0", "1", "0"]
    assert lines["wrong number"] == ["1", "1", "0", "0"]
    assert lines["invented key"] == ["1", "1", "0", "0"]
    assert lines["invented derivation"][3] == "1"
    assert lines["false in all"][0] == "7"
    assert lines["true"][:2] == ["7:", "1"]
