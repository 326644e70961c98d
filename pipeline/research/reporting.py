"""The report put together: numbers, references, what was cut, what limits it; and the session's end. All pure."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.events import session_events as e
from pipeline.domain.state import SUMMARY, Failure, Section, SessionState, contradictions, open_gaps, working_seconds
from pipeline.domain.steps import Complete, Fail, MakeReport
from pipeline.domain.values import Cost, Reference, ReportSection, Sentence
from pipeline.research.step_context import Outcome
from pipeline.research.writing import sentences_of, supported
from pipeline.text.ranking.rank_fusion import Origin

_SKIPPED = {
    "SearchFor": ("search", "searches", "could not be made"),
    "Read": ("page", "pages", "could not be read"),
    "Observe": ("page", "pages", "could not be evaluated"),
}
_SIDES: dict[Origin, tuple[str, str]] = {
    "own": ("your documents", "Your documents were not searched"),
    "web": ("the web", "The web was not searched"),
}
_LEFT_OUT = {
    "Validate": "The facts were not cross-checked",
    "Contrast": "Disagreements between the sources were not looked for",
    "FindGaps": "What is still unknown was not looked for",
    "CheckSection": "Not every section could be checked, and of such a section only verbatim quotes were kept",
}


def make_report(_step: MakeReport, state: SessionState) -> Outcome:
    """Keep what is supported, number the sources in order of first citation, say what limits the report."""
    sections = tuple(kept for name, part in state.sections.items() if name != SUMMARY and (kept := _kept(part, state)))
    summary = state.sections.get(SUMMARY)
    top = supported(summary, state) if summary else ()
    body = [sentence for section in sections for sentence in sentences_of(section.paragraphs)]
    if not body and not top:
        return Outcome((e.ResearchFailed(cause="unsupported", reason=_nothing_supported(state)),))
    written = sum(len(sentences_of(part.paragraphs or ())) for part in state.sections.values())
    text = [state.title, *(section.title for section in sections), *(sentence.text for sentence in (*top, *body))]
    report = e.ReportGenerated(
        title=state.title,
        summary=top,
        sections=sections,
        references=_references(state, (*top, *body)),
        contradictions=contradictions(state),
        unknowns=open_gaps(state),
        limits=tuple(limits(state)),
        words=sum(len(part.split()) for part in text),
        cut=written - len(top) - len(body),
        missing=state.missing,
    )
    return Outcome((report,))


def _nothing_supported(state: SessionState) -> str:
    unchecked = [failure.message for failure in _final(state, "CheckSection")]
    if unchecked:
        return f"no sentence of the report could be checked: {unchecked[-1]}"
    return "no sentence of the report is supported by its sources"


def _kept(section: Section, state: SessionState) -> ReportSection | None:
    good = supported(section, state)
    paragraphs = []
    for paragraph in section.paragraphs or ():
        sentences = tuple(sentence for sentence in paragraph.sentences if sentence in good)
        if sentences:
            paragraphs.append(paragraph.model_copy(update={"sentences": sentences}))
    if not paragraphs:
        return None
    return ReportSection(id=section.plan.id, title=section.plan.title, paragraphs=tuple(paragraphs))


def _references(state: SessionState, sentences: tuple[Sentence, ...]) -> tuple[Reference, ...]:
    """One entry per page: those that the text cites, then those that only a disagreement names."""
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
    """Yield, in words, what the report had to do without."""
    if state.doubted:
        yield "No single passage speaks of all that was asked; what follows comes nearest."
    if state.exhausted:
        yield f"Gathering was cut short ({state.exhausted}); the facts found by then were not cross-checked any further."
    for kind, (one, many, what) in _SKIPPED.items():
        messages = sorted(failure.message for failure in _final(state, kind))
        if messages:
            yield f"{len(messages)} {one if len(messages) == 1 else many} {what}: {messages[0]}"
    yield from _one_sided(state)
    for kind, what in _LEFT_OUT.items():
        if failed := _final(state, kind):
            yield f"{what}: {failed[-1].message}"
    for worker in state.workers.values():
        if worker.status == "failed":
            yield f"One perspective was given up ({state.perspectives[worker.perspective_id].name}): {worker.reason}"
    for section in _unwritten(state):
        yield f"A section could not be written: {section.plan.title}"


def _one_sided(state: SessionState) -> Iterator[str]:
    """Own documents or the web, where searches had to do without them."""
    searches = [*([state.survey] if state.survey else []), *state.searches.values()]
    for origin, (some, never) in _SIDES.items():
        reasons = sorted(side.reason for search in searches for side in search.failed if side.origin == origin)
        if reasons and len(reasons) == len(searches):
            yield f"{never}: {reasons[0]}"
        elif reasons:
            yield f"{len(reasons)} {'search' if len(reasons) == 1 else 'searches'} of {some} could not be made: {reasons[0]}"


def _final(state: SessionState, kind: str) -> list[Failure]:
    return [failure for key, failure in state.failures.items() if failure.final and key.startswith(f"{kind}:")]


def _unwritten(state: SessionState) -> list[Section]:
    return [part for name, part in state.sections.items() if name != SUMMARY and part.paragraphs is None]


def complete(_step: Complete, state: SessionState) -> Outcome:
    """The end, with a report and the bill."""
    spent = state.spent
    cost = Cost(
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        total_tokens=spent.total_tokens,
        usd=spent.usd,
    )
    sources = len(state.report.references) if state.report else 0
    return Outcome((e.ResearchCompleted(duration_s=working_seconds(state), cost=cost, sources=sources, facts=len(state.facts)),))


def fail(step: Fail, _state: SessionState) -> Outcome:
    """The end, without a report."""
    return Outcome((e.ResearchFailed(cause=step.cause, reason=step.reason, missing=step.missing, nearest=step.nearest),))
