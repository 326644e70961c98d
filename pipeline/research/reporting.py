"""The final steps: assembly of the report (references, removed sentences, limits) and the end of the session. All pure."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.analysis_agenda import look_ups
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import contradictions, open_gaps
from pipeline.domain.state import SUMMARY, Failure, Section, SessionState, cost_of, working_seconds
from pipeline.domain.steps import Complete, Fail, MakeReport
from pipeline.domain.values import Reference, ReportSection, Sentence
from pipeline.research.claims.checking import report_title, sentences_of, supported_paragraphs, supported_sentences, title_of
from pipeline.research.step_context import Outcome
from pipeline.text.words import word_count

_FAILED_STEPS = {
    "SearchFor": ("search", "searches", "could not be made"),
    "Read": ("page", "pages", "could not be read"),
    "Observe": ("page", "pages", "could not be evaluated"),
    "ObservePage:1": ("page", "pages", "could not be evaluated"),
    "ObservePage:2": ("page", "pages", "could not be evaluated to the end"),
}
_SIDES: dict[str, tuple[str, str]] = {
    "own": ("your documents", "Your documents were not searched"),
    "web": ("the web", "The web was not searched"),
    "embeddings": ("your documents by meaning", "Your documents were searched by words alone, not by meaning"),
}
_WITHOUT_MODEL = {
    "Plan": "The question was split into perspectives",
    "MakeOutline": "The sections were chosen, and the facts assigned to them,",
}
_SKIPPED_CHECKS = {
    "Validate": "The facts were not cross-checked for confirmation and contradictions",
    "Contrast": "The sources were not checked for contradictions",
    "FindGaps": "Open questions were not determined",
    "LookUp": "Not all open questions were looked up in the pages read",
    "EditReport": "The report was not edited as a whole",
    "CheckSection": "Some sections could not be checked; only verbatim quotes were kept of them",
}


def make_report(_step: MakeReport, state: SessionState) -> Outcome:
    """Assemble the report: keep supported sentences, number the sources in order of first citation, list the limits."""
    body_parts = (part for name, part in state.sections.items() if name != SUMMARY)
    numbered = enumerate(body_parts, start=1)
    sections = tuple(section for number, part in numbered if (section := _supported_section(number, part, state)))
    summary = state.sections.get(SUMMARY)
    top = supported_sentences(summary, state) if summary else ()
    body = [sentence for section in sections for sentence in sentences_of(section.paragraphs)]
    if not body and not top:
        return Outcome((e.ResearchFailed(cause="unsupported", reason=_nothing_supported(state)),))
    written = sum(len(sentences_of(part.paragraphs or ())) for part in state.sections.values())
    title = report_title(state)
    text = [title, *(section.title for section in sections), *(sentence.text for sentence in (*top, *body))]
    report = e.ReportGenerated(
        title=title,
        summary=top,
        sections=sections,
        references=references(state, (*top, *body)),
        contradictions=contradictions(state),
        unknowns=open_gaps(state),
        limits=tuple(limits(state)),
        words=sum(map(word_count, text)),
        cut=written - len(top) - len(body),
        outcome="answered",
    )
    return Outcome((report,))


def _nothing_supported(state: SessionState) -> str:
    unchecked = [failure.message for failure in _final_failures(state, "CheckSection")]
    if unchecked:
        return f"no sentence of the report could be checked: {unchecked[-1]}"
    return "no sentence of the report is supported by its sources"


def _supported_section(number: int, section: Section, state: SessionState) -> ReportSection | None:
    paragraphs = supported_paragraphs(section, state)
    return ReportSection(id=section.plan.id, title=title_of(section, number), paragraphs=paragraphs) if paragraphs else None


def references(state: SessionState, sentences: tuple[Sentence, ...]) -> tuple[Reference, ...]:
    """Return one reference for each page: first those that the text cites, then those of contradictions only."""
    cited: dict[str, dict[str, None]] = {}
    names = [name for sentence in sentences for name in sentence.facts]
    names += [name for pair in contradictions(state) for name in (pair.a, pair.b)]
    for name in names:
        cited.setdefault(state.facts[name].url, {})[name] = None
    return tuple(
        Reference(number=number, url=url, title=state.pages[url].title, digest=state.pages[url].digest, facts=tuple(facts))
        for number, (url, facts) in enumerate(cited.items(), start=1)
    )


def limits(state: SessionState) -> Iterator[str]:
    """Yield the limits of the report in words: spent budgets, failed steps, workers and sections."""
    for step, what in _WITHOUT_MODEL.items():
        if step in state.without_model:
            yield f"{what} without the language model: {state.without_model[step] or 'it gave no answer of use'}"
    if state.exhausted:
        yield f"Gathering was cut short ({state.exhausted}); the facts found by then were not cross-checked any further."
        if any(look_ups(state, analysis) for analysis in state.analyses[-1:]):
            yield "The open questions were not looked up in the pages read."
    for kind, (one, many, what) in _FAILED_STEPS.items():
        messages = sorted(failure.message for failure in _final_failures(state, kind))
        if messages:
            yield f"{len(messages)} {one if len(messages) == 1 else many} {what}: {messages[0]}"
    yield from _failed_sides(state)
    for kind, what in _SKIPPED_CHECKS.items():
        if failed := _final_failures(state, kind):
            yield f"{what}: {failed[-1].message}"
    for worker in state.workers.values():
        if worker.status == "failed":
            yield f"The research from one perspective failed ({state.perspectives[worker.perspective_id].name}): {worker.reason}"
    for section in _unwritten(state):
        yield f"A section could not be written: {section.plan.title}"


def _failed_sides(state: SessionState) -> Iterator[str]:
    """Yield the limits from searches in which one side, own documents or the web, failed."""
    searches = [*([state.survey] if state.survey else []), *state.searches.values()]
    for origin, (some, never) in _SIDES.items():
        reasons = sorted(side.reason for search in searches for side in search.failed if side.origin == origin)
        if reasons and len(reasons) == len(searches):
            yield f"{never}: {reasons[0]}"
        elif reasons:
            yield f"{len(reasons)} {'search' if len(reasons) == 1 else 'searches'} of {some} could not be made: {reasons[0]}"


def _final_failures(state: SessionState, kind: str) -> list[Failure]:
    return [failure for key, failure in state.failures.items() if failure.final and key.startswith(f"{kind}:")]


def _unwritten(state: SessionState) -> list[Section]:
    return [part for name, part in state.sections.items() if name != SUMMARY and part.paragraphs is None]


def complete(_step: Complete, state: SessionState) -> Outcome:
    """End the session with a report and its total cost."""
    cost = cost_of(state)
    sources = len(state.report.references) if state.report else 0
    return Outcome((e.ResearchCompleted(duration_s=working_seconds(state), cost=cost, sources=sources, facts=len(state.facts)),))


def fail(step: Fail, _state: SessionState) -> Outcome:
    """End the session without a report."""
    return Outcome((e.ResearchFailed(cause=step.cause, reason=step.reason, nearest=step.nearest),))
