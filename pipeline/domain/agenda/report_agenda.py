"""The next steps of the report: outline, sections, summary, editing pass, comparison with the earlier session."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.endings import no_evidence, with_substitute
from pipeline.domain.agenda.passages_agenda import reread_steps
from pipeline.domain.state import SUMMARY, Section, SessionState
from pipeline.domain.steps import (
    CheckChanges,
    CheckSection,
    Compare,
    Complete,
    EditReport,
    Fail,
    MakeOutline,
    MakeReport,
    PlainOutline,
    ReviseSection,
    Step,
    WriteSection,
)
from pipeline.domain.values import EXTRACTIVE

MAX_REVISIONS = 1


def synthesis_steps(state: SessionState) -> Iterator[Step]:
    """Yield the outline, then all sections in parallel (write, check, revise), the summary, the editing pass, the report."""
    if not any(name != SUMMARY for name in state.sections):
        yield with_substitute(state, MakeOutline(), PlainOutline())
        return
    ready = [name for name in state.sections if state.edited or name != SUMMARY]
    open_steps = [step for name in ready for step in _section_steps(state, state.sections[name], name)]
    open_steps = open_steps or list(_section_steps(state, state.sections.get(SUMMARY), SUMMARY))
    yield from _with_joint_check(state, open_steps) or editing_steps(state) or _comparison_steps(state) or [_final_step(state)]


def _with_joint_check(state: SessionState, steps: list[Step]) -> list[Step]:
    """Return the steps that may start. The checks of changed sentences wait for the others, then they are one step.

    A section has few changed sentences, so a check of each section by itself would mostly repeat its instructions. If the one
    step fails for good, each section is checked by itself.
    """
    checks: list[Step] = [step for step in steps if isinstance(step, CheckSection) and step.revision]
    together = CheckChanges(state.edited)
    if state.failed_for_good(together.key):
        return steps
    return [step for step in steps if step not in checks] or ([together] if len(checks) > 1 else checks)


def editing_steps(state: SessionState) -> list[Step]:
    """Return the editing pass if it is due: only prose is edited, only once, only if all of it is checked and no cap is spent."""
    sections = [section for section in state.sections.values() if section.paragraphs]
    prose = any(paragraph.kind == "prose" for section in sections for paragraph in section.paragraphs or ())
    checked = all(section.verdicts is not None for section in sections)
    due = prose and checked and not (state.edited or state.exhausted or state.report)
    return [EditReport()] if due and not state.failed_for_good(EditReport().key) else []


def _comparison_steps(state: SessionState) -> list[Step]:
    """Return what a recurring query needs before its report: reading the earlier sources again, then comparing the sessions."""
    if state.earlier is None or state.changes is not None or state.failed_for_good(Compare().key):
        return []
    return list(reread_steps(state)) or [Compare()]


def _section_steps(state: SessionState, section: Section | None, name: str) -> Iterator[Step]:
    """Yield the next step of one section, if any; a section that cannot be written or checked stays unchanged."""
    step: Step | None = None
    if section is None or section.paragraphs is None:
        step = WriteSection(name)
    elif section.verdicts is None and state.config.reasoner != EXTRACTIVE:  # quotes need no check
        step = CheckSection(name, section.revision)
    elif section.verdicts is not None and _is_faulty(section) and section.revision < MAX_REVISIONS and not state.edited:
        step = ReviseSection(name, section.revision + 1)
    if step is not None and not state.failed_for_good(step.key):
        yield step


def _is_faulty(section: Section) -> bool:
    return bool(section.unsupported()) or (section.heading is not None and not section.heading.supported)


def _final_step(state: SessionState) -> Step:
    if state.report is not None:
        return Complete()
    if any(section.paragraphs for name, section in state.sections.items() if name != SUMMARY):
        return MakeReport()
    failed = [failure for key, failure in state.failures.items() if key.startswith("WriteSection:")]
    return Fail(failed[-1].error, f"no section could be written: {failed[-1].message}") if failed else no_evidence(state)
