"""The next steps of the report: its parts are written, checked and mended, then put together."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.endings import no_evidence, step_or_fail
from pipeline.domain.agenda.passages_agenda import reread_steps
from pipeline.domain.report_parts import BEGINNING, cites_anything, facts_of_parts, kept_text
from pipeline.domain.state import SessionState
from pipeline.domain.steps import CheckReport, ChoosePassages, Compare, Complete, MakeReport, MendReport, Step, WriteReport


def report_steps(state: SessionState) -> Iterator[Step]:
    """Yield the parts of the report side by side, its beginning after them, then the comparison, the report, the end.

    Where nothing of the text may stay, or none was written, the session falls back to the passages that it has read.
    """
    if state.report is not None:
        yield Complete()
        return
    count = len(facts_of_parts(state))
    steps = [step for part in range(1, count + 1) if (step := part_step(state, part))]
    if not steps and count > 1 and (beginning := part_step(state, BEGINNING)):
        steps = [beginning]
    if steps:
        yield from steps
    elif cites_anything(kept_text(state)[0]):
        yield from _comparison_steps(state) or [MakeReport()]
    elif state.passages is None:
        yield step_or_fail(state, ChoosePassages())
    else:
        yield no_evidence(state)


def part_step(state: SessionState, part: int) -> Step | None:
    """Return the next step of one part of the report; a part that cannot be written, checked or mended stays as it is."""
    text = state.parts.get(part)
    step: Step | None = None
    if text is None:
        step = WriteReport(part)
    elif not text.checked:
        step = CheckReport(part, text.revision)
    elif text.revision == 0 and (text.faults or text.missing):
        step = MendReport(part)
    return None if step is None or state.failed_for_good(step.key) else step


def _comparison_steps(state: SessionState) -> list[Step]:
    """Return what a recurring query needs before its report: reading the earlier sources again, then comparing the sessions."""
    if state.earlier is None or state.changes is not None or state.failed_for_good(Compare().key):
        return []
    return list(reread_steps(state)) or [Compare()]
