"""``research ask --deeper``: a question of a talk is also researched now, in a fast session of its own that the talk links to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.config.values import Query
    from pipeline.domain.state import SessionState
    from pipeline.domain.talk import Turn
    from pipeline.engine.talk_loop import TalkLog
    from pipeline.ops.unattended import UnattendedRun


def research_deeper(env: RunEnvironment, log: TalkLog, tags: tuple[str, ...]) -> SessionState:
    """Research the talk's last question; record in the talk which session does it, before it begins.

    Raises:
        ResearchError: the workspace is locked, the documents cannot be searched, a service is down.
    """
    from pipeline.ops.unattended import unattended_run

    with unattended_run(env.console, "research ask --deeper") as run, run.lock(None):
        return run.run_async(_researched(env, run, log, tags))


async def _researched(env: RunEnvironment, run: UnattendedRun, log: TalkLog, tags: tuple[str, ...]) -> SessionState:
    from pipeline.batch.scheduling import Decision
    from pipeline.batch.session_actions import new_session
    from pipeline.cli.progress import progress_on
    from pipeline.cli.run_environment import context_of, prepare
    from pipeline.config.settings import environment
    from pipeline.domain.events.stream_events import TalkResearched
    from pipeline.engine.loop import run_session
    from pipeline.engine.stopping import ending_at
    from pipeline.wiring.session_adapters import AdapterFactory

    turn = log.state.turns[-1]
    query = _query(turn, tags)
    config = env.config_of(query)
    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        prepare(env.console, env.workspace, factory, {config.search})
        with progress_on(env.console, 1, environment().get("TERM", "")) as progress:
            context = context_of(env, progress.listen, run)
            session = await new_session(env.store, Decision(query, "new", "asked in a talk"), config, context)
            log.record(TalkResearched(number=turn.number, session=session.id))
            async with ending_at(context.deadline, context.now, context.stop):
                return await run_session(session, env.store, factory(session.state), context)
    finally:
        await factory.aclose()


def _query(turn: Turn, tags: tuple[str, ...]) -> Query:
    from pipeline.config.values import Query
    from pipeline.text.normalise import slug

    return Query(id=f"ask-{slug(turn.stands_alone, 40)}", text=turn.stands_alone, mode="fast", tags=tags, line=sys.maxsize)
