"""The commands on one session: ``cancel`` and ``approve``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pipeline.batch import session_lifecycle
from pipeline.cli.arguments_and_builds import bring_up_to_date, session_named
from pipeline.cli.run_inputs import environment_of
from pipeline.config.queue_file import contents, invalid
from pipeline.config.yaml_to_dataclasses import Fault, Faults, fault_at, listing, nodes, record
from pipeline.domain.events.session_events import ResearchCancelled
from pipeline.domain.research_values import Perspective
from pipeline.ops.console_output import Console, end
from pipeline.text.cleaning import slug
from pipeline.wiring.run_context_and_note_ratings import context_of


@click.command()
@click.argument("session")
@click.option("--reason", default="", metavar="TEXT", help="The reason, for log and note.")
@click.pass_obj
def cancel(console: Console, session: str, reason: str) -> None:
    """End SESSION without a report. No later run continues it; research retry or resume does."""
    env = environment_of(console)
    name, context = session_named(console.folder, env.store, session), context_of(env.workspace)
    state = session_lifecycle.record_wish(env.store, name, context, ResearchCancelled(reason=reason)).state
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
            root, _, faults = nodes(contents(file))
            if faults or root is None:
                raise Faults(faults or [Fault(1, 1, "an empty file where the list of perspectives belongs", wanted)])
            views = listing(lambda node: record(_View, node), wanted, some=True)(root)
            names = {view.name for view in views}
            if len(views) > 20 or len(names) < len(views) or not all(view.questions for view in views):
                raise fault_at(root, "perspectives need names of their own and questions; 20 are the most", wanted)
        except Faults as error:
            raise invalid(error.found, file.name) from None
    env = environment_of(console)
    name, context = session_named(console.folder, env.store, session), context_of(env.workspace)
    chosen = tuple(
        Perspective(id=slug(view.id or view.name), name=view.name, focus=view.focus or view.name, questions=view.questions)
        for view in views
    )
    state = session_lifecycle.approve_plan(env.store, name, context, chosen).state
    perspectives = [view.name for view in state.perspectives.values()]
    output = [f"approved: {name}", *(f"  {title}" for title in perspectives), "next: research run"]
    console.data(output, {"session": name, "approved": True, "perspectives": perspectives})
    end(bring_up_to_date(console, env.workspace))
