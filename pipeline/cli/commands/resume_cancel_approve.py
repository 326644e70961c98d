"""The commands on one session: ``resume``, ``cancel`` and ``approve``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import bring_up_to_date, report_build_problems, session_named, show_session
from pipeline.cli.memory_workflow import consolidate_after_run
from pipeline.cli.param_types import Length, SessionName
from pipeline.errors import NOT_FOUND, StepError
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.domain.session import ResearchSession
    from pipeline.domain.state import SessionState
    from pipeline.engine.run_context import RunContext
    from pipeline.ops.unattended import UnattendedRun


@click.command()
@click.argument("session", type=SessionName())
@click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m.")
@click.pass_obj
def resume(console: Console, session: str, lock_wait: timedelta | None) -> None:
    """Continue SESSION where it stopped. A failed or cancelled session is reopened. SESSION: its id, or its query's id."""
    from pipeline.batch import session_actions
    from pipeline.cli.run_environment import Request, context_of, environment_of
    from pipeline.ops.unattended import unattended_run

    env = environment_of(console, Request())
    name = session_named(console.folder, env.store, session)
    with unattended_run(console, "research resume") as run:
        with run.lock(lock_wait):
            context = context_of(env, lambda _event, _state: None, run)
            opened = session_actions.reopen_session(env.store, name, context)
            session_actions.accept_handoff(opened, env.store, context)
            _adopt_settings(env, opened, context)
            state = run.run_async(_resume_session(env, run, opened))
            session_actions.complete_handoff(opened, env.store, context)
            consolidate_after_run(env)
            problems = _vault_and_site(env)
        show_session(console, state, None)
        run.summary_line = f"{name} is {state.status}"
        end(_exit_code(state, run) or problems)


def _adopt_settings(env: RunEnvironment, session: ResearchSession, context: RunContext) -> None:
    """Let the session go on with tonight's settings of its query; one whose query is gone from the file keeps its own."""
    from pipeline.batch.session_actions import adopt_settings

    query = next((one for one in env.workspace.queue.queries if one.id == session.state.query_id), None)
    if query is not None:
        adopt_settings(session, env.config_of(query), env.store, context)


def _exit_code(state: SessionState, run: UnattendedRun) -> int:
    if state.status == "complete" or state.waiting:
        return 0
    if state.status == "not-found":
        return NOT_FOUND
    return 1 if state.ended else run.stop.exit_code or 3


async def _resume_session(env: RunEnvironment, run: UnattendedRun, session: ResearchSession) -> SessionState:
    from pipeline.batch.outages import reason_of
    from pipeline.cli.progress import progress_on
    from pipeline.cli.run_environment import context_of, prepare
    from pipeline.config.settings import environment
    from pipeline.domain.session import ResearchSession
    from pipeline.engine.loop import run_session
    from pipeline.engine.stopping import ending_at
    from pipeline.wiring.session_adapters import AdapterFactory

    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        prepare(env.console, env.workspace, factory, {session.state.config.search})
        with progress_on(env.console, 1, environment().get("TERM", "")) as progress:
            context = context_of(env, progress.listen, run)
            async with ending_at(context.deadline, context.now, context.stop):
                return await run_session(session, env.store, factory(session.state), context)
    except StepError as error:
        if error.outage is None:
            raise
        env.console.say(f"{reason_of(error)}; the session stays open", always=True, fg="yellow")
        return ResearchSession.open(env.store, session.id).state
    finally:
        await factory.aclose()


@click.command()
@click.argument("session", type=SessionName())
@click.option("--reason", default="", metavar="TEXT", help="The reason; the log and the session's note show it.")
@click.pass_obj
def cancel(console: Console, session: str, reason: str) -> None:
    """End SESSION without a report. No later run continues it; research retry or resume does."""
    from pipeline.batch import session_actions

    name, env, context = _session_and_context(console, session)
    state = session_actions.cancel_session(env.store, name, context, reason).state
    console.data([f"{name} is cancelled"], {"session": name, "status": state.status, "reason": state.end_reason})
    end(_vault_and_site(env))


@click.command()
@click.argument("session", type=SessionName())
@click.option(
    "--edit",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Use the perspectives in FILE instead: a list of {name, focus, questions} as YAML or JSON.",
)
@click.option(
    "--perspective",
    "lines",
    multiple=True,
    metavar='"NAME: QUESTION | …"',
    help="A perspective to use instead; may be given several times.",
)
@click.pass_obj
def approve(console: Console, session: str, file: Path | None, lines: tuple[str, ...]) -> None:
    """Approve the plan of SESSION, which research show prints; the next run carries it out."""
    from pipeline.batch import session_actions
    from pipeline.config.queries.perspectives import perspectives_in, perspectives_of

    views = perspectives_in(file) if file else ()
    views += perspectives_of(lines)
    name, env, context = _session_and_context(console, session)
    state = session_actions.approve_plan(env.store, name, context, views).state
    perspectives = [view.name for view in state.perspectives.values()]
    output = [f"approved: {name}", *(f"  {title}" for title in perspectives), "next: research run"]
    console.data(output, {"session": name, "approved": True, "perspectives": perspectives})
    end(_vault_and_site(env))


def _vault_and_site(env: RunEnvironment) -> int:
    """Build both; return the exit code of the first problem, or 0."""
    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))


def _session_and_context(console: Console, session: str) -> tuple[str, RunEnvironment, RunContext]:
    """Return the id of the session, its environment, and the context in which the command records its event."""
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    name = session_named(console.folder, env.store, session)
    return name, env, workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
