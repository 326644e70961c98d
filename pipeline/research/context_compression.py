"""A worker's context: what its next prompt is made of, and the fold that keeps it within its budget.

Three levels of condensed memory, level 0 the youngest. A granular fold takes what is new into level 0; a deep one takes it, with
the lower levels, into the next. Which of the two is the reasoner's choice; into which level a deep one goes is not: level 1,
or level 2 when level 1 is taken. Between folds nothing is lost: all of it is computed from events.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda import context_tokens
from pipeline.domain.events import session_events as e
from pipeline.domain.questions import FoldedContext, FoldQuestion, WorkerContext
from pipeline.domain.state import Iteration, SessionState, Worker, asked_queries, chosen_pages, facts_of
from pipeline.domain.steps import Fold
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import clean, counted, one_line, tokens

RECENT = 5  # interactions that stand in a prompt as they were
_SHARE = 8  # a level's part of the context budget is one in so many

Levels = tuple[str, ...]


def context_of(state: SessionState, worker: Worker) -> WorkerContext:
    """Return what a worker remembers beside its facts."""
    return WorkerContext(
        levels=worker.levels,
        folded=_folded_facts(worker),
        recent=tuple(_interactions(state, worker))[-RECENT:],
        queries=asked_queries(worker),
        pages=tuple(_pages(state, worker)),
    )


def _folded_facts(worker: Worker) -> tuple[str, ...]:
    folded = worker.iterations[: worker.folded]
    facts = (fact.id for step in folded for url in sorted(step.observed) for fact in step.observed[url].facts)
    return tuple(dict.fromkeys(facts))


def _interactions(state: SessionState, worker: Worker) -> Iterator[str]:
    """What the worker did and saw, in words: thoughts, pages in the order they were chosen, evaluations."""
    for number, step in enumerate(worker.iterations, start=1):
        yield f"Thought {number}: {one_line(step.reasoning, 600)} Searched for: {'; '.join(step.queries) or 'nothing'}."
        for url in _observed(state, worker, number, step):
            yield f"Read {one_line(state.pages[url].title)}: {counted(len(step.observed[url].facts), 'fact')}."
        if step.evaluated:
            yield f"Evaluation {number}: still open: {'; '.join(step.gaps) or 'nothing'}."


def _observed(state: SessionState, worker: Worker, number: int, step: Iteration) -> Iterator[str]:
    return (url for url in chosen_pages(state, worker, number) if url in step.observed and url in state.pages)


def _pages(state: SessionState, worker: Worker) -> Iterator[str]:
    for number, step in enumerate(worker.iterations, start=1):
        for url in _observed(state, worker, number, step):
            yield one_line(state.pages[url].title)


async def fold_context(step: Fold, state: SessionState, step_context: StepContext) -> Outcome:
    """Condense what is new in a worker's context, alone or with its lower levels, to an eighth of the context's budget."""
    worker = state.workers[step.worker_id]
    before, levels = context_tokens(worker), worker.levels
    question = _question(state, worker)
    answer = await step_context.reasoner.answer(question)
    level = question.deep_level if answer.value.mode == "deep" else 0
    levels = _folded(levels, level, _within(answer.value, question.limit_tokens))
    summary, cost = _whole(levels), paid(answer)
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


def _question(state: SessionState, worker: Worker) -> FoldQuestion:
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


def _folded(levels: Levels, level: int, summary: str) -> Levels:
    """The levels after a fold into ``level``: those below are empty, those above as they were."""
    return ("",) * level + (summary,) + levels[level + 1 :]


def _whole(levels: Levels) -> str:
    """All levels as one text, the oldest memory first."""
    return "\n".join(text for text in reversed(levels) if text)


def _within(folded: FoldedContext, limit: int) -> str:
    """The summary's first lines, as many as fit ``limit`` tokens; of a first line that is longer, its beginning."""
    lines = clean(folded.summary).strip().split("\n")
    kept: list[str] = []
    for line in lines:
        if tokens("\n".join([*kept, line])) > limit:
            break
        kept.append(line)
    return "\n".join(kept) or lines[0].encode()[: 3 * limit].decode("utf-8", "ignore")
