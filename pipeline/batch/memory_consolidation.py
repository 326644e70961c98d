"""Memory at work: ended sessions leave their statements and procedures in a stream; new sessions recall them.

With a model, each session gets two sentences, and is recorded as soon as they are there, so a process that dies costs at most the
call that was under way. A damaged stream of memory is reported and hides none of the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.config.queue_schema import Query
from pipeline.domain.budget import announce
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import CallSent, EventBase
from pipeline.domain.events.upkeep_events import Due, MemoryEnded, MemoryStarted, SessionConsolidated
from pipeline.domain.memory import Memory, MemoryIndex, consolidated, cost_of_calls, remember
from pipeline.domain.page_choice_and_findings import all_facts
from pipeline.domain.reasoner_questions import EpisodeQuestion
from pipeline.domain.research_values import Cost, Recalled, Sentence
from pipeline.domain.session import state_of
from pipeline.domain.session_state import SessionState
from pipeline.domain.summary import Summary
from pipeline.engine.recorder import StreamLog, failed, new_stream
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import BudgetSpent, LogError, LogUnwritable, ProviderRefused, StepError
from pipeline.ports import EventStore, Reasoner
from pipeline.text.cleaning import digest_of

MOST_SESSIONS = 50  # of one consolidation that a model is asked about
_MOST_FACTS = 40  # that a report cites, shown for its two sentences
_FAILURES = 2  # in a row, after which nothing more is asked
_log = logging.getLogger("pipeline.batch.memory_consolidation")


def read_memory(store: EventStore) -> Memory:
    """Return what all consolidations left. What a damaged stream held is due again, and is warned of."""
    return remember(memory_events(store))


def memory_events(store: EventStore) -> Iterator[EventBase]:
    """Yield the events of all memory streams that can be read."""
    for name in store.ids("memory"):
        try:
            yield from decode_all(record.data for record in store.load(name))
        except LogError as error:
            _log.warning("%s is not remembered: %s", name, error.message)


@dataclass
class Recaller:
    """Returns what earlier nights left on a question. Memory is read when the first session of a run starts."""

    store: EventStore
    _index: MemoryIndex | None = field(default=None, init=False)

    def __call__(self, query: Query, at: str) -> Recalled | None:
        """Return what is recalled for a session on ``query`` that starts ``at`` (an event's timestamp); None if nothing is."""
        try:
            self._index = self._index or MemoryIndex(read_memory(self.store))
        except LogError as error:
            _log.warning("nothing is recalled from earlier nights: %s", error.message)
            return None
        found = self._index.recall(query.text, query.id, query.tags, at)
        return None if found == Recalled() else found


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The outcome: the stream ("" if nothing was due), the sessions' ids, their statements, why some could not be read.

    ``cost`` is what a model cost; ``problems`` is what it failed to do, in words: there the rules' results stand.
    """

    stream: str = ""
    sessions: tuple[str, ...] = ()
    statements: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    problems: tuple[str, ...] = ()


def due_sessions(memory: Memory, summaries: Iterable[Summary]) -> tuple[Due, ...]:
    """Return the ended sessions that were not consolidated at their present version, in order of their ends.

    Those in which no model answered are never due: nothing of them is recalled.
    """
    ended = sorted((one for one in summaries if one.ended and one.tokens), key=lambda one: (one.ended_at, one.id))
    known = {name: one.up_to for name, one in memory.sessions.items()}
    return tuple(Due(session=one.id, up_to=one.version) for one in ended if known.get(one.id) != one.version)


def consolidation_of(store: EventStore, session: str) -> tuple[SessionState, SessionConsolidated]:
    """Return a session's state, and what it leaves behind as the log holds it now.

    Raises:
        LogError: its log cannot be read.
    """
    records = store.load(session)
    state = state_of(session, decode_all(record.data for record in records))
    return state, consolidated(state, digest_of(records[-1].data) if records else "")


async def consolidate(
    store: EventStore, context: RunContext, summaries: Iterable[Summary], reasoner: Reasoner | None = None
) -> Consolidated:
    """Consolidate what is due; a session that cannot be read is left out, and where a model fails, the rules' results stand.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    due = due_sessions(read_memory(store), summaries)
    if not due:
        return Consolidated()
    log = new_stream(store, context, "memory")
    model = MemoryModel(reasoner, log) if reasoner else None
    sessions, statements, failed, cost = [], 0, {}, Cost()
    try:
        log.record(MemoryStarted(due=due))
        for entry in due:
            try:
                state, left = consolidation_of(store, entry.session)
            except LogUnwritable:
                raise
            except LogError as error:
                _log.warning("%s is not consolidated: %s", entry.session, error.message)
                failed[entry.session] = error.message
                continue
            log.record(await model.with_sentences(state, left) if model else left)
            sessions.append(entry.session)
            statements += len(left.statements)
        log.record(MemoryEnded(sessions=len(sessions), statements=statements, failed=failed))
        if model:
            cost = cost_of_calls(decode_all(record.data for record in store.load(log.id)))
    finally:
        store.release(log.id)
    return Consolidated(log.id, tuple(sessions), statements, failed, cost, tuple(model.problems) if model else ())


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

        It is asked no more once it was down, refused, without budget, or of no use twice in a row, and after the run's deadline.
        Each call is announced; one that is under way at the deadline is cut off, and counts at its worst case.

        Raises:
            LogError: a call or a failure cannot be recorded.
        """
        context, report, known = self.log.context, state.report, {fact.id: fact for fact in all_facts(state)}
        if report is None:
            return plain
        summary = (name for one in report.summary for name in one.facts)  # its facts come first
        cited = dict.fromkeys([*summary, *(name for reference in report.references for name in reference.facts)])
        facts = [known[name] for name in cited if name in known][:_MOST_FACTS]
        left_s = None if context.deadline is None else (context.deadline - context.now()).total_seconds()
        may_ask = self._left and self._failures < _FAILURES and not context.stop.asked and (left_s is None or left_s > 0)
        if not (facts and may_ask):
            return plain
        self._left -= 1
        keyed = {f"E{number}": fact for number, fact in enumerate(facts, start=1)}
        question = EpisodeQuestion(query=state.query, facts=keyed, open=plain.episode.open[:10], today=state.ended_at[:10])
        # The step's key holds a digest of the session's id: forgetting the session leaves no name.
        step, clock = f"Episode:{digest_of(state.id.encode())[:12]}", asyncio.get_running_loop().time
        began, problem = clock(), f"{state.id} was consolidated without a model's sentences"

        async def record_call(worst: Cost) -> None:
            self.log.record(CallSent(step=step, worst=worst))

        token = announce.set(record_call)
        try:
            async with asyncio.timeout(left_s):
                answer = await self.reasoner.answer(question)
        except TimeoutError:
            self._failures = _FAILURES
            self.problems.append(f"{problem}: the deadline of the run had passed")
            return plain
        except StepError as error:
            is_final = isinstance(error, ProviderRefused | BudgetSpent) or error.outage is not None
            self._failures = _FAILURES if is_final else self._failures + 1
            self.problems.append(f"{problem}: {error.message}")
            event = failed(step, error, recoverable=False, seconds=round(clock() - began, 3))
            self.log.record(event, objects=(error.exchange,) if error.exchange else ())
            return plain
        finally:
            announce.reset(token)
        self._failures = 0
        episode = plain.episode.model_copy(update={"sentences": supported_sentences(answer.value.episode, question)})
        seconds = round(clock() - began, 3)
        return plain.model_copy(update={"episode": episode, "step": step, "cost": answer.cost, "seconds": seconds})


def supported_sentences(text: str, question: EpisodeQuestion) -> tuple[Sentence, ...]:
    """Return the sentences that cite facts of the question, and of which code finds all numbers and names in their quotes."""
    from pipeline.research.report_parsing import read_sentences  # only where a model was asked
    from pipeline.research.writing import warning_of

    known = {fact.id: fact for fact in question.facts.values()}
    said = [one for one in read_sentences(" ".join(text.split()), question.facts) if one.facts and not one.unknown]

    def warning(one: Sentence) -> str:
        cited = [known[name] for name in one.facts]
        return warning_of(one.text, cited, question.query, question.today)

    return tuple(one for one in said[: question.count] if not warning(one))
