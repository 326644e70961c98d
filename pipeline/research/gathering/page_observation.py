"""The facts of a page, asked for once a session with the questions of all perspectives.

A page is observed for all questions because a page that answers one often answers others, and a second reading costs as much as
the first. So nothing in the question may depend on the worker that came first: it holds the round's perspectives, and the parts
of a large page are chosen by the questions. Part 2 goes back once for quotes that are not in the page and for sections asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipeline.domain.agenda.worker_agenda import open_searches
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import chosen_pages, page_of
from pipeline.domain.not_found_gate import survey_statistics
from pipeline.domain.reasoner_questions import Observation, ObservationQuestion, WrongQuote
from pipeline.domain.state import PageDone, SessionState, Worker, workers_in_order
from pipeline.domain.steps import Observe, ObservePage
from pipeline.domain.values import Hit, Perspective, RejectedFact
from pipeline.ports import Answer
from pipeline.research.gathering.quoted_facts import facts_and_rejected
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import one_line
from pipeline.text.quotes import nearest
from pipeline.text.ranking.passages import passages

MAX_SECTIONS = 8  # that part 2 reads
MAX_RETURNED = 12  # quotes that part 2 returns


async def observe(step: Observe, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask for the facts of one page that answer one worker's questions."""
    worker, page = state.workers[step.worker_id], state.pages[step.url]
    views = (state.perspectives[worker.perspective_id],)
    question = observation_of(state, page, step_context.page_text(page.digest), views)
    answer = await step_context.reasoner.answer(question)
    event = e.FactsObserved(worker_id=worker.id, iteration=step.iteration, **found_in(question, page.digest, answer))
    return Outcome((event,), paid(answer).objects)


async def observe_page(step: ObservePage, state: SessionState, step_context: StepContext) -> Outcome:
    """Ask for the facts of one page that answer any question; part 2 for sections that were left out and wrong quotes."""
    worker, iteration = _first_reader(state, step.url)
    page = state.pages[step.url]
    question = observation_of(state, page, step_context.page_text(page.digest), tuple(state.perspectives.values()))
    if step.part > 1:
        seen = state.observed[step.url]
        wrong = tuple(_wrong_quote(entry, question.text) for entry in seen.rejected if entry.may_be_corrected)
        question = question.model_copy(update={"part": "rest", "sections": seen.more, "wrong_quotes": wrong[:MAX_RETURNED]})
    answer = await step_context.reasoner.answer(question)
    more = tuple(one_line(name) for name in answer.value.more[:MAX_SECTIONS]) if step.part == 1 else ()
    event = e.FactsObserved(
        worker_id=worker.id,
        iteration=iteration,
        shared=True,
        part=step.part,
        more=more,
        **found_in(question, page.digest, answer),
    )
    return Outcome((event,), paid(answer).objects)


def observation_of(state: SessionState, page: PageDone, text: str, views: tuple[Perspective, ...]) -> ObservationQuestion:
    """Return the question for the facts of a page that answer ``views``."""
    searches = [*([state.survey] if state.survey else []), *state.searches.values()]
    return ObservationQuestion(
        query=state.query,
        perspectives=views,
        url=page.url,
        title=page.title,
        text=text,
        limit=state.config.facts_per_page,
        near=near_passages(page.url, [hit for found in searches for hit in found.hits]),
        statistics=survey_statistics(state),
    )


def near_passages(url: str, hits: Iterable[Hit]) -> tuple[tuple[str, float], ...]:
    """Return the passages of a page that searches by meaning found, each with its largest cosine."""
    found: dict[str, float] = {}
    for hit in hits:
        if hit.cosine is not None and page_of(hit.url) == url:
            found[hit.snippet] = max(hit.cosine, found.get(hit.snippet, -1.0))
    return tuple(sorted(found.items()))


def found_in(question: ObservationQuestion, digest: str, answer: Answer[Observation]) -> dict[str, Any]:
    """Return the fields of an event with what was found in a page; findings whose quote is not in the page are rejected."""
    facts, rejected = facts_and_rejected(answer.value.findings, question, digest)
    cost = paid(answer)
    spent = {"cost": cost.cost, "exchange": cost.exchange}
    return {"url": question.url, "digest": digest, "facts": facts, "rejected": rejected, **spent}


def _first_reader(state: SessionState, url: str) -> tuple[Worker, int]:
    """Return the first running worker in plan order that chose the page, and its iteration."""
    for worker in workers_in_order(state):
        for number in range(len(worker.iterations), 0, -1):
            has_chosen = number < len(worker.iterations) or not open_searches(state, worker)
            if worker.status == "running" and has_chosen and url in chosen_pages(state, worker, number):
                return worker, number
    raise LookupError(f"no running worker chose {url}")


def _wrong_quote(entry: RejectedFact, text: str) -> WrongQuote:
    bodies = [passage.body for passage in passages(text)]
    place = nearest(entry.quote, bodies)
    return WrongQuote(claim=entry.claim, quote=entry.quote, nearest=bodies[place] if place >= 0 else "")
