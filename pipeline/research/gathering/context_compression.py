"""A worker's context for its next prompt, and the step Fold, which condenses it to its token budget.

There are three levels of condensed memory; level 0 is the most recent. A granular fold adds what is new to level 0. A deep fold
moves it, with the lower levels, to level 1, or to level 2 if level 1 is taken. The reasoner chooses between the two. The whole
context is computed from events.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.worker_agenda import context_tokens
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import facts_of, observed_pages
from pipeline.domain.reasoner_questions import FoldedContext, FoldQuestion, WorkerContext
from pipeline.domain.state import SessionState, Worker, asked_queries
from pipeline.domain.steps import Fold
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import clean, counted, one_line, tokens

RECENT = 5  # latest interactions that a prompt contains in full
_SHARE = 8  # a level may use one eighth of the context budget

Levels = tuple[str, ...]


def context_of(state: SessionState, worker: Worker) -> WorkerContext:
    """Return a worker's context apart from its facts."""
    return WorkerContext(
        levels=worker.levels,
        folded=_folded_facts(state, worker),
        recent=tuple(_interactions(state, worker))[-RECENT:],
        queries=asked_queries(worker),
        pages=tuple(_page_titles(state, worker)),
    )


def _folded_facts(state: SessionState, worker: Worker) -> tuple[str, ...]:
    pages = (seen for number in range(1, worker.folded + 1) for seen in observed_pages(state, worker, number).values())
    return tuple(dict.fromkeys(fact.id for seen in pages for fact in seen.facts))


def _interactions(state: SessionState, worker: Worker) -> Iterator[str]:
    """Yield the worker's interactions in words: thoughts, pages in the order of choice, evaluations."""
    for number, step in enumerate(worker.iterations, start=1):
        yield f"Thought {number}: {one_line(step.reasoning, 600)} Searched for: {'; '.join(step.queries) or 'nothing'}."
        for url, seen in observed_pages(state, worker, number).items():
            yield f"Read {one_line(state.pages[url].title)}: {counted(len(seen.facts), 'fact')}."
        if step.evaluated:
            yield f"Evaluation {number}: still open: {'; '.join(step.gaps) or 'nothing'}."


def _page_titles(state: SessionState, worker: Worker) -> Iterator[str]:
    for number in range(1, len(worker.iterations) + 1):
        for url in observed_pages(state, worker, number):
            yield one_line(state.pages[url].title)


async def fold_context(step: Fold, state: SessionState, step_context: StepContext) -> Outcome:
    """Condense the new part of a worker's context, alone or with lower levels, to an eighth of the context budget."""
    worker = state.workers[step.worker_id]
    before, levels = context_tokens(state, worker), worker.levels
    question = _fold_question(state, worker)
    answer = await step_context.reasoner.answer(question)
    level = question.deep_level if answer.value.mode == "deep" else 0
    levels = _folded_levels(levels, level, _cut_summary(answer.value, question.limit_tokens))
    summary, cost = _joined_levels(levels), paid(answer)
    event = e.ContextFolded(
        worker_id=worker.id,
        fold=step.fold,
        summary=summary,
        tokens_before=before,
        tokens_after=tokens(summary),
        mode=answer.value.mode,
        level=level,
        levels=levels,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _fold_question(state: SessionState, worker: Worker) -> FoldQuestion:
    context = context_of(state, worker)
    known = set(context.folded)
    taken = len(worker.levels) > 1 and bool(worker.levels[1])
    return FoldQuestion(
        query=state.query,
        perspective=state.perspectives[worker.perspective_id],
        facts=tuple(fact for fact in facts_of(state, worker) if fact.id not in known),
        searches=context.queries,
        summary=worker.summary,
        limit_tokens=max(1, state.config.context_tokens // _SHARE),
        deep_level=2 if taken else 1,
        context=context,
    )


def _folded_levels(levels: Levels, level: int, summary: str) -> Levels:
    """Return the levels after a fold into ``level``: those below become empty, those above are unchanged."""
    return ("",) * level + (summary,) + levels[level + 1 :]


def _joined_levels(levels: Levels) -> str:
    """Return all levels as one text, the oldest memory first."""
    return "\n".join(text for text in reversed(levels) if text)


def _cut_summary(folded: FoldedContext, limit: int) -> str:
    """Return as many of the summary's first lines as fit ``limit`` tokens, or the beginning of a longer first line."""
    lines = clean(folded.summary).strip().split("\n")
    kept: list[str] = []
    for line in lines:
        if tokens("\n".join([*kept, line])) > limit:
            break
        kept.append(line)
    return "\n".join(kept) or lines[0].encode()[: 3 * limit].decode("utf-8", "ignore")
