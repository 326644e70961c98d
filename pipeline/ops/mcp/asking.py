"""Answers from the stored pages for other programs: the steps of ``research ask`` without a model, and without a record of them.

The index of the pages is the server's own, in a folder for temporary files, so that asking writes nothing into the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.domain.events.talk_events import MessageAsked, TalkOpened
from pipeline.domain.talk.agenda import next_step
from pipeline.domain.talk.state import TalkState, Turn, apply
from pipeline.domain.values import EXTRACTIVE
from pipeline.ops.mcp.entries import Entry
from pipeline.research.talking.talk_steps import TalkContext, perform

ContextOf = Callable[[Sequence[str]], TalkContext]


async def answer_from_pages(question: str, entries: Sequence[Entry], context_of: ContextOf) -> dict[str, Any]:
    """Return the answer, its quotes, and the session to read on in; with ``found`` false if the stored pages do not say.

    Raises:
        StepError: the pages cannot be searched.
    """
    state, subject = TalkState(id="talk"), entries[0].query if len(entries) == 1 else ""
    apply(state, TalkOpened(scope="vault", ids=tuple(entry.id for entry in entries), subject=subject, reasoner=EXTRACTIVE))
    apply(state, MessageAsked(number=1, text=question, by="person"))
    context = context_of([entry.id for entry in entries])
    while step := next_step(state):
        for draft in (await perform(step, state, context)).drafts:
            apply(state, draft)
    return _value(state.turns[-1])


def _value(turn: Turn) -> dict[str, Any]:
    answer = turn.answer
    if answer is None or not (answer.found or answer.nearest):
        return {"found": False, "answer": "", "citations": [], "note": "The stored pages do not say."}
    numbers = {fact.id: number for number, fact in enumerate(turn.cited(), start=1)}
    sentences = answer.sentences if answer.found else answer.nearest
    said = " ".join(f"{one.text} {''.join(f'[{numbers[name]}]' for name in one.facts)}".rstrip() for one in sentences)
    citations = [
        {"n": numbers[fact.id], "quote": fact.quote, "lead": fact.lead, "url": fact.url, "place": list(fact.path)}
        | {"page_sha256": fact.digest}
        for fact in turn.cited()
    ]
    note = "" if answer.found else f"The stored pages do not clearly say. This comes nearest: {said}"
    return {"found": answer.found, "answer": said if answer.found else "", "citations": citations, "note": note}
