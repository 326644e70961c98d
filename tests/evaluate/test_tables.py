"""Figures as lines and as JSON."""

from __future__ import annotations

import json

from pipeline.evaluate.evaluation import Result, differing_questions
from pipeline.evaluate.figures import Score
from pipeline.evaluate.scoring.outcome import Outcome
from pipeline.evaluate.tables import as_json, detail_lines, failure_lines, totals_lines


def score(name: str, half: str, failed: float = 0.0) -> Score:
    return Score(name, half, "narrow", {"failed": failed, "narrow.at150": 1.0}, ("a note",), f"text of {name}")


SCORES = (score("open", "dev"), score("hidden", "held-out", failed=1.0))
RESULT = Result(SCORES, {"open": Outcome("report"), "hidden": Outcome("failed", "a hidden reason")})


def test_each_half_has_its_totals() -> None:
    lines = list(totals_lines(SCORES))
    assert [line for line in lines if not line.startswith(" ")] == [
        "dev: 1 question (1 narrow)",
        "held-out: 1 question (1 narrow)",
    ]


def test_nothing_but_totals_is_told_of_the_held_out_half() -> None:
    told = [*totals_lines(SCORES), *failure_lines(RESULT), *detail_lines(SCORES, {"open": "Open?", "hidden": "Hidden?"})]
    text = "\n".join(told) + json.dumps(as_json(RESULT))
    assert "text of open" in text
    assert not any(part in text for part in ("text of hidden", "Hidden?", "hidden reason", '"hidden"'))


def test_failed_sessions_are_counted_with_their_reasons() -> None:
    scores = (score("a", "dev", 1.0), score("b", "dev", 1.0), score("c", "dev"))
    outcomes = {name: Outcome("failed", "no credit") for name in "ab"}
    assert list(failure_lines(Result(scores, outcomes))) == [
        "2 of 3 sessions failed; they count as answering nothing",
        "  2 x no credit",
    ]
    assert list(failure_lines(Result(scores[2:], {}))) == []


def test_runs_are_equal_if_all_their_texts_are() -> None:
    other = Result((score("open", "dev"), Score("hidden", "held-out", "narrow", {"failed": 1.0}, (), "another text")), {})
    assert differing_questions(RESULT, RESULT) == []
    assert differing_questions(RESULT, other) == ["hidden"]
