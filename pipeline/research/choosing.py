"""The step ChoosePassages, and the report that is made of the chosen passages."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.not_found import query_of
from pipeline.domain.state import SessionState
from pipeline.domain.steps import ChoosePassages
from pipeline.domain.values import Fact, Paragraph, ReportSection, Sentence
from pipeline.reasoners.passages import ReadPage, choose, cosines_by_page
from pipeline.research.reporting import limits, references
from pipeline.research.step_context import Outcome, StepContext
from pipeline.text.normalise import one_line
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import word_count


async def choose_passages(_step: ChoosePassages, state: SessionState, context: StepContext) -> Outcome:
    """Choose the passages of the pages read that come nearest to the question."""
    searches = [*([state.survey] if state.survey else []), *state.searches.values()]
    near = cosines_by_page(hit for search in searches for hit in search.hits)
    pages = [
        ReadPage(page.url, page.title, page.digest, context.page_text(page.digest), near.get(page.url, {}))
        for page in sorted(state.pages.values(), key=lambda page: page.url)
    ]
    known = state.survey.statistics if state.survey else TermStatistics()
    choice = choose(query_of(state), pages, known, rated=context.rated(state.query_id))
    return Outcome((e.PassagesChosen(passages=choice.passages, more=choice.more),))


def report_of_passages(state: SessionState) -> e.ReportGenerated:
    """Return the report of the chosen passages: the first one, then the others by document, in the order of its best passage."""
    facts = [state.facts[name] for name in state.passages or ()]
    by_page: dict[str, list[Fact]] = {}
    for fact in facts[1:]:
        by_page.setdefault(fact.url, []).append(fact)
    sections = tuple(
        ReportSection(
            id=f"section_{number}",
            title=found[0].path[0] if found[0].path else state.pages[url].title,
            paragraphs=tuple(
                Paragraph(sentences=(_quoted(fact),), kind="passages") for fact in sorted(found, key=lambda fact: fact.start)
            ),
        )
        for number, (url, found) in enumerate(by_page.items(), start=1)
    )
    return e.ReportGenerated(
        title=_title_of(state.query),
        summary=(_quoted(facts[0]),),
        sections=sections,
        references=references(state, tuple(map(_quoted, facts))),
        limits=tuple(limits(state)),
        words=sum(word_count(f"{fact.lead} {fact.quote}") for fact in facts),
        outcome="passages",
    )


def _quoted(fact: Fact) -> Sentence:
    return Sentence(text=fact.quote, facts=(fact.id,))


def _title_of(query: str) -> str:
    """Return the query as a title: on one line, with a capital first letter unless it begins with an identifier."""
    plain = one_line(query)
    first = plain.split(" ", 1)[0]
    return plain[:1].upper() + plain[1:] if first.isalpha() and first.islower() else plain
