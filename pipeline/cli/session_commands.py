"""The commands on one session: ``resume``, ``cancel`` and ``approve``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click

from pipeline.batch import session_actions
from pipeline.batch.session_pool import reason_of
from pipeline.cli.command_parts import (
    bring_up_to_date,
    length,
    session_named,
)
from pipeline.cli.memory_commands import consolidate_after_run
from pipeline.cli.reading_commands import show_session
from pipeline.cli.run_environment import RunEnvironment, environment_of
from pipeline.cli.running_sessions import Lines, config_of, context_of, in_its_night, prepare, run_async
from pipeline.config.queue_file import contents, invalid
from pipeline.config.yaml_reading import Fault, Faults, decoded, listing, nodes, record
from pipeline.domain.events.session_events import ResearchCancelled
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.domain.values import Perspective
from pipeline.engine.loop import run_session
from pipeline.engine.run_context import RunContext, ending_at
from pipeline.errors import NOT_FOUND, StepError
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import unattended_run
from pipeline.text.normalise import slug
from pipeline.wiring import recording
from pipeline.wiring.session_adapters import AdapterFactory


@click.command()
@click.argument("session")
@click.option("--lock-wait", type=length, metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m.")
@click.pass_obj
def resume(console: Console, session: str, lock_wait: timedelta | None) -> None:
    """Continue SESSION where it stopped. A failed or cancelled session is reopened. SESSION: its id, or its query's id."""
    env = environment_of(console)
    name = session_named(console.folder, env.store, session)
    with unattended_run(console, "research resume") as run:
        with run.lock(lock_wait):
            env = in_its_night(env)
            context = context_of(env, Lines(console).listen, run)
            opened = session_actions.reopen_session(env.store, name, context)
            session_actions.accept_handoff(opened, env.store, context)
            query = next((one for one in env.workspace.queue.queries if one.id == opened.state.query_id), None)
            if query is not None:  # it goes on with tonight's settings; one whose query is gone from the file keeps its own
                session_actions.adopt_settings(opened, config_of(env, query), env.store, context)
                if query.within != opened.state.config.within:
                    where = f"it goes on in {opened.state.config.within or 'all folders'}, as it began"
                    console.say(f"{where}; `in` is another now: research retry {query.id} begins a new session", always=True)
            state = run_async(run, _go_on(env, opened, context))
            session_actions.complete_handoff(opened, env.store, context)
            consolidate_after_run(env)
            problems = bring_up_to_date(console, env.workspace)
        show_session(console, state, None)
        run.summary_line = f"{name} is {state.status}"
        code = 0 if state.status == "complete" or state.waiting else NOT_FOUND if state.status == "not-found" else 1
        end((code if state.ended or state.waiting else run.stop.exit_code or 3) or problems)


async def _go_on(env: RunEnvironment, session: ResearchSession, context: RunContext) -> SessionState:
    """Research the session, and return its state; a spent budget or an outage leaves it open."""
    factory = AdapterFactory(env.workspace, env.store, env.keys, night=env.night)
    try:
        prepare(env.console, env.workspace, factory, {session.state.config.search})
        async with ending_at(context.deadline, context.now, context.stop):
            state = await run_session(session, env.store, factory(session.state), context)
        why = "" if state.ended else factory.spent_out()
    except StepError as error:
        if error.outage is None:
            raise
        state, why = ResearchSession.open(env.store, session.id).state, reason_of(error)
    finally:
        await factory.aclose()
    if why:
        env.console.say(f"{why}; the session stays open", always=True, fg="yellow")
    return state


@click.command()
@click.argument("session")
@click.option("--reason", default="", metavar="TEXT", help="The reason; the log and the session's note show it.")
@click.pass_obj
def cancel(console: Console, session: str, reason: str) -> None:
    """End SESSION without a report. No later run continues it; research retry or resume does."""
    env = environment_of(console)
    name, context = session_named(console.folder, env.store, session), recording.context_of(env.workspace)
    state = session_actions.record_wish(env.store, name, context, ResearchCancelled(reason=reason)).state
    console.data([f"{name} is cancelled"], {"session": name, "status": state.status, "reason": state.end_reason})
    end(bring_up_to_date(console, env.workspace))


@dataclass(frozen=True, slots=True)
class _View:
    """A perspective as a file has it."""

    name: str
    questions: tuple[str, ...]
    focus: str = ""
    id: str = ""


@click.command()
@click.argument("session")
@click.option(
    "--edit",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Use the perspectives in FILE instead: a list of {name, focus, questions} as YAML or JSON.",
)
@click.pass_obj
def approve(console: Console, session: str, file: Path | None) -> None:
    """Approve the plan of SESSION, which research show prints; the next run carries it out."""
    views: Sequence[_View] = ()
    if file:
        wanted = "start each perspective with `- name:` and give it questions: [..]"
        try:
            root, faults = nodes(decoded(contents(file)))
            if faults or root is None:
                raise Faults(faults or [Fault(1, 1, "an empty file where the list of perspectives belongs", wanted)])
            views = listing(lambda node: record(_View, node), wanted, some=True)(root)
            names = {view.name for view in views}
            if len(views) > 20 or len(names) < len(views) or not all(view.questions for view in views):
                raise root.fault("perspectives need names of their own and questions; 20 are the most", wanted)
        except Faults as error:
            raise invalid(error.found, file.name) from None
    env = environment_of(console)
    name, context = session_named(console.folder, env.store, session), recording.context_of(env.workspace)
    chosen = tuple(
        Perspective(id=slug(view.id or view.name), name=view.name, focus=view.focus or view.name, questions=view.questions)
        for view in views
    )
    state = session_actions.approve_plan(env.store, name, context, chosen).state
    perspectives = [view.name for view in state.perspectives.values()]
    output = [f"approved: {name}", *(f"  {title}" for title in perspectives), "next: research run"]
    console.data(output, {"session": name, "approved": True, "perspectives": perspectives})
    end(bring_up_to_date(console, env.workspace))
