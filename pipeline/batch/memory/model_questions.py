"""The question of a consolidation to a model: two sentences on a session. A failure leaves what code kept of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pipeline.domain.budget import announce
from pipeline.domain.events.memory_events import SessionConsolidated
from pipeline.domain.events.session_events import CallSent, StepFailed
from pipeline.domain.findings import all_facts
from pipeline.domain.memory.model_calls import episode_step
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.state import SessionState
from pipeline.domain.values import Cost, Fact, Sentence
from pipeline.engine.stream_log import StreamLog
from pipeline.errors import BudgetSpent, ProviderRefused, StepError
from pipeline.ports import Answer, Reasoner
from pipeline.research.code_warnings import warning_of
from pipeline.research.report_text import read_sentences
from pipeline.text.normalise import one_line

A = TypeVar("A", bound=Reply)

MOST_SESSIONS = 50  # of one consolidation that a model is asked about; the others keep the report's own summary
_MOST_FACTS = 40  # that a report cites, shown for its two sentences
_LATE = "the deadline of the run had passed"
_FAILURES = 2  # in a row, after which nothing more is asked


@dataclass
class MemoryModel:
    """Asks ``reasoner`` and records in ``log``. ``problems`` is what it failed to do, in words."""

    reasoner: Reasoner
    log: StreamLog
    problems: list[str] = field(default_factory=list)
    _left: int = MOST_SESSIONS
    _failures: int = 0

    async def with_sentences(self, state: SessionState, plain: SessionConsolidated) -> SessionConsolidated:
        """Return what a session leaves behind, with a model's sentences if there is a report and the model can be asked.

        Raises:
            LogError: a call or a failure cannot be recorded.
        """
        facts = _cited_facts(state)
        if not (state.report and facts and self._left and self.asks):
            return plain
        self._left -= 1
        keyed = {f"E{number}": fact for number, fact in enumerate(facts, start=1)}
        question = EpisodeQuestion(query=state.query, facts=keyed, open=plain.episode.open[:10], today=state.ended_at[:10])
        step = episode_step(state.id)
        answer, seconds = await self._ask(question, step, f"{state.id} was consolidated without a model's sentences")
        if answer is None:
            return plain
        kept = supported_sentences(answer.value.episode, question)
        episode = plain.episode.model_copy(update={"sentences": kept})
        return plain.model_copy(update={"episode": episode, "step": step, "cost": answer.cost, "seconds": seconds})

    @property
    def asks(self) -> bool:
        """Whether the model is still asked: it was not down, refused, without budget, or of no use twice in a row.

        After the deadline of the run, or once it was asked to stop, nothing more is asked.
        """
        context = self.log.context
        is_late = context.stop.asked or (context.deadline is not None and context.now() >= context.deadline)
        return self._failures < _FAILURES and not is_late

    async def _ask(self, question: Question[A], step: str, problem: str) -> tuple[Answer[A] | None, float]:
        """Return the answer (None if there is none: that is recorded) and the seconds it took. Each call is announced.

        A call that is under way at the deadline is cut off; nobody knows what it cost, so it counts at its worst case.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        token = announce.set(partial(self._record_call, step))
        try:
            async with asyncio.timeout(self._seconds_left()):
                answer = await self.reasoner.answer(question)
        except TimeoutError:
            self._failures = _FAILURES
            self.problems.append(f"{problem}: {_LATE}")
            return None, 0.0
        except StepError as error:
            is_final = isinstance(error, ProviderRefused | BudgetSpent) or error.outage is not None
            self._failures = _FAILURES if is_final else self._failures + 1
            self.problems.append(f"{problem}: {error.message}")
            self.log.record(_failure(step, error, round(clock() - began, 3)))
            return None, 0.0
        finally:
            announce.reset(token)
        self._failures = 0
        return answer, round(clock() - began, 3)

    def _seconds_left(self) -> float | None:
        """Return the seconds until the deadline of the run; None without one."""
        context = self.log.context
        return None if context.deadline is None else max(0.0, (context.deadline - context.now()).total_seconds())

    async def _record_call(self, step: str, worst: Cost) -> None:
        self.log.record(CallSent(step=step, worst=worst))


def supported_sentences(text: str, question: EpisodeQuestion) -> tuple[Sentence, ...]:
    """Return the sentences that cite facts of the question, and of which code finds all numbers and names in their quotes."""
    known = {fact.id: fact for fact in question.facts.values()}
    said = [one for one in read_sentences(" ".join(text.split()), question.facts) if one.facts and not one.unknown]
    return tuple(
        one
        for one in said[: question.count]
        if not warning_of(
            one.text, [known[name] for name in one.facts], question.query, question.today, derived=one.basis == "derived"
        )
    )


def _cited_facts(state: SessionState) -> tuple[Fact, ...]:
    """Return the facts that the report cites; those of its summary come first."""
    if state.report is None:
        return ()
    summary = dict.fromkeys(name for one in state.report.summary for name in one.facts)
    cited = dict.fromkeys([*summary, *(name for reference in state.report.references for name in reference.facts)])
    known = {fact.id: fact for fact in all_facts(state)}
    return tuple(known[name] for name in cited if name in known)[:_MOST_FACTS]


def _failure(step: str, error: StepError, seconds: float) -> StepFailed:
    return StepFailed(
        step=step,
        error=type(error).__name__,
        message=one_line(str(error), 2_000) or type(error).__name__,
        recoverable=False,
        attempt=1,
        outage=error.outage.service if error.outage else "",
        cost=error.cost or Cost(),
        seconds=seconds,
    )
