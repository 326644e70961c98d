"""The step LookUp: before a gap is researched further or printed as not found, the pages that were read are searched for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipeline.domain.events import session_events as e
from pipeline.domain.not_found_gate import survey_statistics
from pipeline.domain.state import PageDone, SessionState
from pipeline.domain.steps import LookUp
from pipeline.domain.values import Gap, Perspective
from pipeline.research.gathering.page_observation import found_in, observation_of
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.ranking.passages import passages
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText, coverage, scores, statistics_of, term_weights
from pipeline.text.words import DEFAULT_LANGUAGE

_GAP = {"part": "gap", "limit": 5}
LEAST_COVERAGE = 0.2  # of the gap's words by a passage: below it, the passage is about something else


async def look_up(step: LookUp, state: SessionState, context: StepContext) -> Outcome:
    """Ask the page with the best passage about a gap for an answer; pages that were asked are left out."""
    analysis = state.analyses[step.round]
    gap = (analysis.gaps or ())[step.gap]
    asked = {search.url for search in analysis.looked_up if search.gap == step.gap}
    pages = {url: context.page_text(page.digest) for url, page in state.pages.items() if url not in asked}
    page = _best_page(gap, state, pages)
    if page is None:
        return Outcome((e.GapLookedUp(round=step.round, gap=step.gap),))
    question = observation_of(state, page, pages[page.url], (_view_of(gap),)).model_copy(update=_GAP)
    answer = await context.reasoner.answer(question)
    event = e.GapLookedUp(round=step.round, gap=step.gap, **found_in(question, page.digest, answer))
    return Outcome((event,), paid(answer).objects)


def _view_of(gap: Gap) -> Perspective:
    return Perspective(id="gap", name="An open question", focus=gap.reason, questions=(gap.question,))


def _best_page(gap: Gap, state: SessionState, pages: dict[str, str]) -> PageDone | None:
    """Return the page with the passage that ranks best for the gap, or None if no passage is about it."""
    language = survey_statistics(state).language or DEFAULT_LANGUAGE
    texts = [text for url in sorted(pages) for text in _stemmed_passages(pages[url], url, language)]
    query, known = parse_question(gap.question, language), statistics_of(texts, language)
    ranked, weights = zip(scores(query, texts, known), texts, strict=True), term_weights(query, known)
    about = [(score, text.page) for score, text in ranked if score > 0 and coverage(weights, _stems(text)) >= LEAST_COVERAGE]
    best = min(about, key=lambda entry: (-entry[0], entry[1]), default=None)
    return state.pages[best[1]] if best else None


def _stems(text: StemmedText) -> frozenset[str]:
    return frozenset((*text.body, *text.heads))


@lru_cache(maxsize=64)
def _stemmed_passages(text: str, url: str, language: str) -> Sequence[StemmedText]:
    return [StemmedText.of(one.body, one.headings, language, page=url) for one in passages(text)]
