"""The commands on one session: ``resume``, ``cancel`` and ``approve``. Only commands print or exit."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import bring_up_to_date, say_missed, session_named, show_session
from pipeline.cli.param_types import Length, SessionName
from pipeline.errors import NOT_FOUND
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from pipeline.cli.run_workflow import RunEnvironment
    from pipeline.domain.session import ResearchSession
    from pipeline.domain.state import SessionState
    from pipeline.engine.run_context import RunContext
    from pipeline.ops.unattended import UnattendedRun


@click.command()
@click.argument("session", type=SessionName())
@click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait for another run to end, so long at most: 30s, 10m.")
@click.pass_obj
def resume(console: Console, session: str, lock_wait: timedelta | None) -> None:
    """Go on with SESSION where it stopped; a failed or cancelled one is reopened. SESSION: its id, or its query's id."""
    from pipeline.batch import session_actions
    from pipeline.cli.run_workflow import Request, context_of, place_of
    from pipeline.ops.unattended import on_shift

    place = place_of(console, Request())
    name = session_named(console.folder, place.store, session)
    with on_shift(console, "research resume") as shift:
        with shift.locked(lock_wait):
            context = context_of(place, lambda _event, _state: None, shift)
            opened = session_actions.reopened(place.store, name, context)
            state = shift.awaited(_resumed(place, shift, opened))
            missed = _vault_and_site(place)
        show_session(console, state, None)
        shift.last_word = f"{name} is {state.status}"
        end(_exit_code(state, shift) or missed)


def _exit_code(state: SessionState, shift: UnattendedRun) -> int:
    if state.status == "complete" or state.waiting:
        return 0
    if state.status == "not-found":
        return NOT_FOUND
    return 1 if state.ended else shift.stop.exit_code or 3


async def _resumed(place: RunEnvironment, shift: UnattendedRun, session: ResearchSession) -> SessionState:
    from pipeline.cli.progress import progress_on
    from pipeline.cli.run_workflow import context_of, prepare
    from pipeline.config.settings import environment
    from pipeline.engine.loop import run_session
    from pipeline.engine.stopping import ending_at
    from pipeline.wiring.session_adapters import AdapterFactory

    desks = AdapterFactory(place.workspace, place.store, place.keys)
    try:
        prepare(place.console, place.workspace, desks, {session.state.config.search})
        with progress_on(place.console, 1, environment().get("TERM", "")) as progress:
            context = context_of(place, progress.listen, shift)
            async with ending_at(context.deadline, context.now, context.stop):
                return await run_session(session, place.store, desks(session.state), context)
    finally:
        await desks.aclose()


@click.command()
@click.argument("session", type=SessionName())
@click.option("--reason", default="", metavar="TEXT", help="Why; it stands in the log and in the session's note.")
@click.pass_obj
def cancel(console: Console, session: str, reason: str) -> None:
    """End SESSION without a report, for good: no night goes on with it. research retry or resume takes it up again."""
    from pipeline.batch import session_actions

    name, place, context = _by_hand(console, session)
    state = session_actions.cancelled(place.store, name, context, reason).state
    console.data([f"{name} is cancelled"], {"session": name, "status": state.status, "reason": state.end_reason})
    end(_vault_and_site(place))


@click.command()
@click.argument("session", type=SessionName())
@click.option(
    "--edit",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Research from the perspectives in FILE instead, a list of {name, focus, questions} as YAML or JSON.",
)
@click.option(
    "--perspective", "lines", multiple=True, metavar='"NAME: QUESTION | …"', help="Or from these; may be given several times."
)
@click.pass_obj
def approve(console: Console, session: str, file: Path | None, lines: tuple[str, ...]) -> None:
    """Approve the plan of SESSION, which research show prints; the next run carries it out."""
    from pipeline.batch import session_actions
    from pipeline.config.queries.perspectives import perspectives_in, perspectives_of

    views = perspectives_in(file) if file else ()
    views += perspectives_of(lines)
    name, place, context = _by_hand(console, session)
    state = session_actions.plan_approved(place.store, name, context, views).state
    perspectives = [view.name for view in state.perspectives.values()]
    told = [f"approved: {name}", *(f"  {title}" for title in perspectives), "next: research run"]
    console.data(told, {"session": name, "approved": True, "perspectives": perspectives})
    end(_vault_and_site(place))


def _vault_and_site(place: RunEnvironment) -> int:
    """Bring both up to date; return the exit code of what was not made, 0 for nothing."""
    return say_missed(place.console, bring_up_to_date(place.console, place.workspace.queue.settings.site_url))


def _by_hand(console: Console, session: str) -> tuple[str, RunEnvironment, RunContext]:
    """Return the session that is meant, what it lies in, and the context of what is done to it by hand."""
    from pipeline.cli.run_workflow import Request, place_of
    from pipeline.wiring import workspace_adapters

    place = place_of(console, Request())
    name = session_named(console.folder, place.store, session)
    return name, place, workspace_adapters.context_of(place.workspace, lambda _event, _state: None)
