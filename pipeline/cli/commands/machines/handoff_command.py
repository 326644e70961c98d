"""The command ``handoff``: let another machine go on with a session."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from pipeline.cli.command_parts import Length, SessionName, bring_up_to_date, report_build_problems, session_named
from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import one_line
from pipeline.text.times import since, timestamp


class Until(Length):
    """A moment to come: a duration from now, a date, or a date with a time."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # type: ignore[override]
        """Return in ``2d``, ``2026-11-25`` or ``2026-11-25T06:30`` as a moment; without a zone it is local time."""
        now = datetime.now(UTC)
        moment = since(str(value), now)
        if moment is not None and str(value).strip()[-1:] in "smhd":
            moment = now + (now - moment)
        if moment is None or moment <= now:
            self.fail(f"{value!r} is no moment to come; write 2d (from now), 2026-11-25 or 2026-11-25T06:30", param, ctx)
        return moment


@click.command()
@click.argument("session", type=SessionName())
@click.option("--to", "machine", required=True, metavar="NAME", help="The machine that goes on with it.")
@click.option("--why", default="", metavar="TEXT", help="The reason; the log shows it.")
@click.option("--until", type=Until(), metavar="WHEN", help="After that, any may: 2d, 2026-11-25, 2026-11-25T06:30.")
@click.pass_obj
def handoff(console: Console, session: str, machine: str, why: str, until: datetime | None) -> None:
    """Hand SESSION over: only runs of the machine NAME go on with it. Hand it over to this machine to take it back."""
    from pipeline.batch import session_actions
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.domain.events.session_events import HandoffInitiated
    from pipeline.errors import UsageError
    from pipeline.wiring import workspace_adapters

    name = one_line(machine, 100)
    if not name:
        raise UsageError("--to names no machine", hint="write its RESEARCH_MACHINE, or its host name")
    env = environment_of(console, Request())
    context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
    about = HandoffInitiated(to=name, why=one_line(why, 500), until=timestamp(until) if until else "")
    found = session_named(console.folder, env.store, session)
    session_actions.hand_over(env.store, found, context, about)
    value = {"session": found, "to": name, "until": about.until}
    console.data([f"{found} is handed over to {name}; share the workspace with it, and its next run goes on"], value)
    end(report_build_problems(console, bring_up_to_date(console, env.workspace)))
