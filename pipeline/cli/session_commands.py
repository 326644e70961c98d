"""The commands on one session: ``resume``, ``cancel`` and ``approve``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click

from pipeline.batch import session_actions
from pipeline.batch.session_actions import adopt_settings
from pipeline.batch.session_pool import reason_of
from pipeline.cli.command_parts import (
    Length,
    bring_up_to_date,
    report_build_problems,
    session_named,
)
from pipeline.cli.memory_commands import consolidate_after_run
from pipeline.cli.reading_commands import show_session
from pipeline.cli.researching import config_of, context_of, in_its_night, research_one, run_async
from pipeline.cli.run_environment import Request, RunEnvironment, environment_of
from pipeline.config.queue_file import contents, invalid
from pipeline.config.yaml_reading import Fault, Faults, decoded, listing, nodes, record
from pipeline.domain.events.session_events import ResearchCancelled
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.domain.values import Perspective
from pipeline.engine.run_context import RunContext
from pipeline.errors import NOT_FOUND, NoWorkspace, StepError, UsageError
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import UnattendedRun, unattended_run
from pipeline.text.normalise import slug
from pipeline.wiring import recording


@click.command()
@click.argument("session")
@click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m.")
@click.pass_obj
def resume(console: Console, session: str, lock_wait: timedelta | None) -> None:
    """Continue SESSION where it stopped. A failed or cancelled session is reopened. SESSION: its id, or its query's id."""
    env = environment_of(console, Request())
    name = session_named(console.folder, env.store, session)
    with unattended_run(console, "research resume") as run:
        with run.lock(lock_wait):
            env = in_its_night(env)
            context = context_of(env, lambda _event, _state: None, run)
            opened = session_actions.reopen_session(env.store, name, context)
            session_actions.accept_handoff(opened, env.store, context)
            query = next((one for one in env.workspace.queue.queries if one.id == opened.state.query_id), None)
            if query is not None:  # it goes on with tonight's settings; one whose query is gone from the file keeps its own
                adopt_settings(opened, config_of(env, query), env.store, context)
            state = run_async(run, _resume_session(env, run, opened))
            session_actions.complete_handoff(opened, env.store, context)
            consolidate_after_run(env)
            problems = _vault_and_site(env)
        show_session(console, state, None)
        run.summary_line = f"{name} is {state.status}"
        code = 0 if state.status == "complete" or state.waiting else NOT_FOUND if state.status == "not-found" else 1
        end((code if state.ended or state.waiting else run.stop.exit_code or 3) or problems)


async def _resume_session(env: RunEnvironment, run: UnattendedRun, session: ResearchSession) -> SessionState:
    async def opened(_context: RunContext) -> ResearchSession:
        return session

    try:
        return await research_one(env, run, session.state.config.search, opened)
    except StepError as error:
        if error.outage is None:
            raise
        env.console.say(f"{reason_of(error)}; the session stays open", always=True, fg="yellow")
        return ResearchSession.open(env.store, session.id).state


@click.command()
@click.argument("session")
@click.option("--reason", default="", metavar="TEXT", help="The reason; the log and the session's note show it.")
@click.pass_obj
def cancel(console: Console, session: str, reason: str) -> None:
    """End SESSION without a report. No later run continues it; research retry or resume does."""
    name, env, context = _session_and_context(console, session)
    state = session_actions.record_wish(env.store, name, context, ResearchCancelled(reason=reason)).state
    console.data([f"{name} is cancelled"], {"session": name, "status": state.status, "reason": state.end_reason})
    end(_vault_and_site(env))


@click.command()
@click.argument("session")
@click.option(
    "--edit",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Use the perspectives in FILE instead: a list of {name, focus, questions} as YAML or JSON.",
)
@click.pass_obj
def approve(console: Console, session: str, file: Path | None) -> None:
    """Approve the plan of SESSION, which research show prints; the next run carries it out."""
    views = _perspectives_in(file) if file else ()
    name, env, context = _session_and_context(console, session)
    state = session_actions.approve_plan(env.store, name, context, tuple(views)).state
    perspectives = [view.name for view in state.perspectives.values()]
    output = [f"approved: {name}", *(f"  {title}" for title in perspectives), "next: research run"]
    console.data(output, {"session": name, "approved": True, "perspectives": perspectives})
    end(_vault_and_site(env))


@dataclass(frozen=True, slots=True)
class _View:
    """A perspective as a file has it."""

    name: str
    questions: tuple[str, ...]
    focus: str = ""
    id: str = ""


def _perspectives_in(path: Path) -> list[Perspective]:
    """Return the perspectives in a file of YAML or JSON: a list of ``{name, focus, questions}``.

    Raises:
        UsageError: there is no such file.
        QueueInvalid: it cannot be read or has faults; the message lists them all.
    """
    wanted = "start each perspective with `- name:` and give it questions: [..]"
    try:
        root, faults = nodes(decoded(contents(path)))
        if faults or root is None:
            raise Faults(faults or [Fault(1, 1, "an empty file where the list of perspectives belongs", wanted)])
        views = listing(lambda node: record(_View, node), wanted, some=True)(root)
        names = [view.name for view in views]
        if len(views) > 20 or len(set(names)) < len(names) or not all(view.questions for view in views):
            raise root.fault("perspectives need names of their own and questions; 20 are the most", wanted)
    except NoWorkspace:
        raise UsageError(f"there is no file {path}", hint="name the file that holds the perspectives") from None
    except Faults as error:
        raise invalid(error.found, path.name) from None
    return [
        Perspective(id=slug(view.id or view.name), name=view.name, focus=view.focus or view.name, questions=view.questions)
        for view in views
    ]


def _vault_and_site(env: RunEnvironment) -> int:
    """Build both; return the exit code of the first problem, or 0."""
    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))


def _session_and_context(console: Console, session: str) -> tuple[str, RunEnvironment, RunContext]:
    """Return the id of the session, its environment, and the context in which the command records its event."""
    env = environment_of(console, Request())
    name = session_named(console.folder, env.store, session)
    return name, env, recording.context_of(env.workspace)
