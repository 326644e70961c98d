"""The final steps: what is new, assembly of the report (references, removed sentences, limits), passages, end of the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from pipeline.domain import research_values as v
from pipeline.domain import session_state
from pipeline.domain import steps as s
from pipeline.domain.agenda import not_mentioned
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import (
    chosen_pages,
    contradictions,
    open_gaps,
    query_of,
    without_fragment,
)
from pipeline.domain.report_draft import items_of, kept_text
from pipeline.domain.session_state import Failure, SessionState, cost_of, workers_in_order, working_seconds
from pipeline.errors import StepError
from pipeline.reasoners.passages import choose, with_texts
from pipeline.research.step_context import StepContext, StepResult
from pipeline.text.cleaning import grouped
from pipeline.text.humanize import counted
from pipeline.text.passages import statements
from pipeline.text.ranking import TermStatistics
from pipeline.text.words import word_count, words

_FAILED_STEPS = {s.SearchFor: ("search", "searches", "could not be made"), s.FetchPage: ("page", "pages", "could not be read")}
_SIDES: dict[str, tuple[str, str]] = {
    "own": ("your documents", "Your documents were not searched"),
    "web": ("the web", "The web was not searched"),
    "embeddings": ("your documents by meaning", "Your documents were searched by words alone, not by meaning"),
}
_WITHOUT_MODEL: dict[type[s.Step], str] = {
    s.Plan: "The question was split into perspectives without the language model",
    s.ReadPages: "Pages were not read by the language model; passages were taken instead",
}
_COMPARED = 3  # of the best passages, sentence by sentence
_NAMED = 3  # pages that were not read, reasons of one limit, or sentences on what was not found
_SKIPPED: dict[type[s.Step], str] = {
    s.WriteReport: "The report could not be written; what follows are passages of the pages read",
    s.CheckReport: "The report could not be checked; of what was not, only verbatim quotes are kept",
}


def make_report(_step: s.MakeReport, state: SessionState) -> StepResult:
    """Assemble the report: number the sources in order of first citation, list what was left out, and the limits."""
    if state.passages:
        return StepResult((report_of_passages(state),))
    kept, cut = kept_text(state)
    beginning = next((section for section in kept if section.id == session_state.SUMMARY), None)
    sections = tuple(section for section in kept if section.id != session_state.SUMMARY)
    top = tuple(item.sentence for item in items_of([beginning] if beginning else []) if item.sentence)
    body = [item.sentence for item in items_of(sections) if item.sentence]
    title = beginning.title if beginning and beginning.title else state.query
    top = top or tuple(one for one in body if one.facts)[:1]
    parts = [part for _, part in sorted(state.parts.items())]
    outcome: v.Outcome = parts[0].outcome or "in-part"
    lacks = [part.lacks for part in parts if part.lacks and part.outcome == "in-part"][:1]
    lacks = lacks or list(dict.fromkeys(text for part in parts for text in part.unfound))[:_NAMED]
    text = [title, *(section.title for section in sections), *(sentence.text for sentence in (*top, *body))]
    report = e.ReportGenerated(
        title=title,
        summary=top,
        sections=sections,
        references=references(state, (*top, *body)),
        contradictions=contradictions(state),
        unknowns=open_gaps(state),
        lacks=" ".join(lacks),
        limits=tuple(limits(state)),
        words=sum(map(word_count, text)),
        cut=len(cut),
        cut_sentences=cut,
        outcome="in-part" if outcome == "answered" and _final_failures(state, s.CheckReport) else outcome,
    )
    return StepResult((report,))


def references(state: SessionState, sentences: tuple[v.Sentence, ...]) -> tuple[v.Reference, ...]:
    """Return one reference for each page: first those that the text cites, then those of contradictions only."""
    cited: dict[str, dict[str, None]] = {}
    names = [name for sentence in sentences for name in sentence.facts]
    names += [name for pair in contradictions(state) for name in (pair.a, pair.b)]
    for name in names:
        cited.setdefault(state.facts[name].url, {})[name] = None
    return tuple(
        v.Reference(number=number, url=url, title=state.pages[url].title, digest=state.pages[url].digest, facts=tuple(facts))
        for number, (url, facts) in enumerate(cited.items(), start=1)
    )


def limits(state: SessionState) -> Iterator[str]:
    """Yield the limits of the report in words: what was done without the model, spent budgets, failed steps and workers."""
    for kind, what in _WITHOUT_MODEL.items():
        if reasons := [why or "it gave no answer of use" for step, why in state.without_model.items() if kind.is_of(step)]:
            yield f"{what}: {_each_once(reasons)}"
    if state.exhausted:
        yield f"Gathering was cut short ({state.exhausted})."
    if unread := _without_room(state):
        more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        yield f"Found, but not read by the model: {', '.join(f'“{title}”' for title in unread[:_NAMED])}{more}"
    moved = {s.FetchPage(url).key for url in (state.changes.moved if state.changes else ())}
    for kind, (one, many, what) in _FAILED_STEPS.items():
        failures = [failure for failure in _final_failures(state, kind) if failure.step not in moved]
        if failures:
            yield f"{counted(len(failures), one, many)} {what}: {_each_once([failure.message for failure in failures])}"
    for origin, (some, never) in _SIDES.items():
        if reasons := [side.reason for search in _searches(state) for side in search.failed if side.origin == origin]:
            only_some = f"{counted(len(reasons), 'search', 'searches')} of {some} could not be made"
            yield f"{never if len(reasons) == len(_searches(state)) else only_some}: {_each_once(reasons)}"
    for kind, what in _SKIPPED.items():
        if failed := _final_failures(state, kind):
            yield f"{what}: {failed[-1].message}"
    for worker in state.workers.values():
        if worker.status == "failed":
            yield f"The research from one perspective failed ({state.perspectives[worker.perspective_id].name}): {worker.reason}"


def _each_once(reasons: Sequence[str]) -> str:
    """Return the reasons, the most frequent first, and how often each is one if it is not the only one; the last are counted."""
    times = Counter(sorted(reasons)).most_common()
    named = [f"{reason} ({number:,} of them)" if 1 < number < len(reasons) else reason for reason, number in times[:_NAMED]]
    return "; ".join([*named, *([counted(len(times) - _NAMED, "other reason")] if len(times) > _NAMED else [])])


def _without_room(state: SessionState) -> list[str]:
    """Return the titles of pages that a model's readings had no room for, those with the question's words in their hits first.

    Sections of one page that are pages of their own share a title, which stands once.
    """
    if not state.config.has_model or any(s.ReadPages.is_of(step) for step in state.without_model):
        return []
    ended = [(worker, number) for worker in workers_in_order(state) for number, _ in enumerate(worker.iterations, start=1)]
    chosen = dict.fromkeys(url for worker, number in ended for url in chosen_pages(state, worker, number))
    near = {url: 0.0 for url in chosen if url in state.pages and url not in state.observed}
    for hit in (one for search in _searches(state) for one in search.hits if without_fragment(one.url) in near):
        near[without_fragment(hit.url)] = max(near[without_fragment(hit.url)], hit.coverage)
    return list(dict.fromkeys(state.pages[url].title for url in sorted(near, key=lambda url: -near[url])))


def _searches(state: SessionState) -> list[e.SearchCompleted | e.TopicSurveyed]:
    return [*([state.survey] if state.survey else []), *state.searches.values()]


def _final_failures(state: SessionState, kind: type[s.Step]) -> list[Failure]:
    return [failure for key, failure in state.failures.items() if failure.final and kind.is_of(key)]


def complete(_step: s.Complete, state: SessionState) -> StepResult:
    """End the session with a report and its total cost."""
    sources = len(state.report.references) if state.report else 0
    ended = e.ResearchCompleted(duration_s=working_seconds(state), cost=cost_of(state), sources=sources, facts=len(state.facts))
    return StepResult((ended,))


async def choose_passages(_step: s.ChoosePassages, state: SessionState, context: StepContext) -> StepResult:
    """Choose the passages of the pages read that come nearest to the question, first the one with the nearest sentence.

    Of 101 questions on seven manuals, the 200 characters from the sentence on that is nearest by meaning, under its heading, hold
    the answer of 32; from the one on with most words of the question, of 25.
    """
    hits = (hit for search in _searches(state) for hit in search.hits)
    pages = with_texts(sorted(state.pages.values(), key=lambda page: page.url), hits, context.page_text)
    known = state.survey.statistics if state.survey else TermStatistics()
    rated = context.rated(state.query_id)
    choice, said = choose(query_of(state), pages, known, rated=rated), ""
    best = choice.passages[: 1 if any(rated.same(one) in rated.useful for one in choice.passages[:1]) else _COMPARED]
    found = [(fact, one) for fact in best for _, one in statements(f"{fact.lead}\n\n{fact.quote}") if words(one)]
    if context.nearness and found:
        with suppress(StepError):  # which a warning says
            near = await context.nearness(state.query, [f"{''.join(fact.path[-1:])}: {one}" for fact, one in found])
            first, said = found[max(range(len(found)), key=near.__getitem__)]
            choice = choice._replace(passages=(first, *(one for one in choice.passages if one != first)))
    return StepResult((e.PassagesChosen(passages=choice.passages, more=choice.more, said=said),))


def report_of_passages(state: SessionState) -> e.ReportGenerated:
    """Return the report of the chosen passages: the first one, then the others by document, in the order of its best passage."""
    facts = [state.facts[name] for name in state.passages or ()]
    by_page = grouped((fact.url, fact) for fact in facts[1:])
    sections = tuple(
        v.ReportSection(
            id=f"section_{number}",
            title=found[0].path[0] if found[0].path else state.pages[url].title,
            paragraphs=tuple(
                v.Paragraph(sentences=(_quoted(fact),), kind="passages") for fact in sorted(found, key=lambda fact: fact.start)
            ),
        )
        for number, (url, found) in enumerate(by_page.items(), start=1)
    )
    return e.ReportGenerated(
        title="",
        summary=(_quoted(facts[0]),),
        sections=sections,
        references=references(state, tuple(map(_quoted, facts))),
        lacks=not_mentioned(state),
        limits=tuple(limits(state)),
        words=sum(word_count(f"{fact.lead} {fact.quote}") for fact in facts),
        outcome="passages",
    )


def _quoted(fact: v.Fact) -> v.Sentence:
    return v.Sentence(text=fact.quote, facts=(fact.id,))
