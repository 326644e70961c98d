"""The loop of a talk: next step → perform → record, until the last question is answered.

It is resumed like a session: what was recorded is never asked for again. Steps follow each other, so nothing runs side by side.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial

from pipeline.domain.budget import announce
from pipeline.domain.events.json_codec import encode
from pipeline.domain.events.session_events import Answered, CallSent, EventBase, StepFailed
from pipeline.domain.events.stream_events import MessageAsked
from pipeline.domain.session import record_of, stamped
from pipeline.domain.talk import TalkState, TalkStep, Turn, apply, next_step, recent_talk
from pipeline.domain.values import Cost
from pipeline.engine.run_context import RunContext
from pipeline.errors import BudgetSpent, ProviderRefused, StepError
from pipeline.ports import EventStore
from pipeline.research.talking.talk_steps import TalkContext, perform
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.times import timestamp


@dataclass
class TalkLog:
    """The stream of one talk: its state, and the only way to add to it."""

    store: EventStore
    context: RunContext
    state: TalkState
    _opened: bool = field(default=False, init=False)

    @classmethod
    def open(cls, store: EventStore, context: RunContext, talk_id: str) -> TalkLog:
        """Return the talk as the store holds it, or an empty one.

        Raises:
            LogError: the log is damaged, forked, or written by a newer major version.
        """
        return cls(store, context, recent_talk(talk_id, store.load(talk_id)))

    def record(self, *drafts: EventBase, objects: tuple[bytes, ...] = ()) -> None:
        """Store objects, then the events that name them; then add the events to the state.

        Raises:
            LogError: it could not be stored.
        """
        for data in objects:
            self.store.put(data)
        first = () if self._opened else (self.context.agent,)
        events = [self._stamped(draft, version) for version, draft in enumerate((*first, *drafts), self.state.version + 1)]
        self.store.append(self.state.id, [record_of(event) for event in events], self.state.version)
        self._opened = True
        for event in events:
            apply(self.state, event)

    def _stamped(self, draft: EventBase, version: int) -> EventBase:
        """Return the draft as an event, without any key."""
        context = self.context
        envelope = (self.state.id, version, context.run_id, context.new_id(), timestamp(context.now()))
        event = stamped(draft, *envelope)
        data = encode(event)
        clean = context.redact(data)
        return event if clean == data else stamped(type(draft).model_validate_json(clean), *envelope)


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
    """Perform one step and record it. What a model fails to do is done without it."""
    has_failed = step.key in log.state.turns[-1].failed
    clock = asyncio.get_running_loop().time
    began = clock()
    announce.set(partial(_record_call, log, step))
    try:
        outcome = await perform(step, log.state, context.without_model() if has_failed else context)
    except StepError as error:
        left = _goes_on(error, has_failed)
        log.record(_failure(step, error, recoverable=not left), objects=(error.exchange,) if error.exchange else ())
        if not left:
            raise
        return
    log.record(*(_of_step(draft, step, clock() - began) for draft in outcome.drafts), objects=outcome.objects)


def _goes_on(error: StepError, has_failed: bool) -> bool:
    """Return whether the step is done without a model after this error."""
    return not has_failed and not isinstance(error, ProviderRefused) and (isinstance(error, BudgetSpent) or error.outage is None)


def _of_step(draft: EventBase, step: TalkStep, seconds: float) -> EventBase:
    update = {"step": step.key, "seconds": round(seconds, 3)}
    return draft.model_copy(update=update) if isinstance(draft, Answered) else draft


def _failure(step: TalkStep, error: StepError, *, recoverable: bool) -> StepFailed:
    return StepFailed(
        step=step.key,
        error=type(error).__name__,
        message=one_line(str(error), 2_000) or type(error).__name__,
        recoverable=recoverable,
        attempt=1,
        outage=error.outage.service if error.outage else "",
        cost=error.cost or Cost(),
        exchange=digest_of(error.exchange) if error.exchange else "",
    )


async def _record_call(log: TalkLog, step: TalkStep, worst: Cost) -> None:
    log.record(CallSent(step=step.key, worst=worst))
