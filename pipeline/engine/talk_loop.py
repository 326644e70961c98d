"""The loop of a talk: next step → perform → record, until the last question is answered.

It is resumed like a session: what was recorded is never asked for again. Steps follow each other, so nothing runs side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pipeline.domain.budget import announce
from pipeline.domain.events.session_events import Answered, CallSent, EventBase
from pipeline.domain.events.stream_events import MessageAsked
from pipeline.domain.talk import TalkState, TalkStep, Turn, apply, next_step, read_talk
from pipeline.domain.values import Cost
from pipeline.engine.recorder import StreamLog, failed
from pipeline.engine.run_context import RunContext
from pipeline.errors import BudgetSpent, ProviderRefused, StepError
from pipeline.ports import EventStore
from pipeline.research.talk_steps import TalkContext, perform
from pipeline.text.normalise import one_line


class TalkLog(StreamLog):
    """The stream of one talk with its state, which is made of what is recorded."""

    def __init__(self, store: EventStore, context: RunContext, state: TalkState) -> None:
        super().__init__(store, context, state.id, state.version)
        self.state = state

    @classmethod
    def open(cls, store: EventStore, context: RunContext, talk_id: str) -> TalkLog:
        """Return the talk as the store holds it, or an empty one.

        Raises:
            LogError: the log is damaged, forked, or written by a newer major version.
        """
        return cls(store, context, read_talk(store, talk_id))

    def record(self, *drafts: EventBase, objects: Sequence[bytes] = ()) -> tuple[EventBase, ...]:
        """Store objects, then the events that name them; then add the events to the state.

        Raises:
            LogError: it could not be stored.
        """
        events = super().record(*drafts, objects=objects)
        for event in events:
            apply(self.state, event)
        return events


async def answer_question(log: TalkLog, context: TalkContext, text: str, by: str = "person") -> Turn:
    """Record a question, work on it, and return its turn with the answer.

    Raises:
        ProviderRefused: key, quota or credit; what was answered by then is recorded.
        StepError: a service is down (with an ``outage``), or the pages cannot be searched; the talk can be continued.
        LogError: the log cannot be written or trusted.
    """
    number = len(log.state.turns) + 1
    log.record(MessageAsked(number=number, text=one_line(text, 2_000), by="note" if by == "note" else "person"))
    return await finish_question(log, context)


async def finish_question(log: TalkLog, context: TalkContext) -> Turn:
    """Work on the last question until it is answered; return its turn. Raises as ``answer_question``."""
    while step := next_step(log.state):
        await _do(step, log, context)
    return log.state.turns[-1]


async def _do(step: TalkStep, log: TalkLog, context: TalkContext) -> None:
    """Perform one step and record it. What a model fails to do is done without it, unless it refused or is down."""

    async def record_call(worst: Cost) -> None:
        log.record(CallSent(step=step.key, worst=worst))

    has_failed = step.key in log.state.turns[-1].failed
    clock = asyncio.get_running_loop().time
    began = clock()
    announce.set(record_call)
    try:
        result = await perform(step, log.state, context.without_model() if has_failed else context)
    except StepError as error:
        is_up = isinstance(error, BudgetSpent) or error.outage is None
        goes_on = is_up and not has_failed and not isinstance(error, ProviderRefused)
        log.record(failed(step.key, error, recoverable=not goes_on), objects=(error.exchange,) if error.exchange else ())
        if not goes_on:
            raise
        return
    update = {"step": step.key, "seconds": round(clock() - began, 3)}
    drafts = (draft.model_copy(update=update) if isinstance(draft, Answered) else draft for draft in result.drafts)
    log.record(*drafts, objects=result.objects)
