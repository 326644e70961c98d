"""What commands do with memory: consolidate after a run, whose outcome a failure never changes, and recall before one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.cli.command_parts import read_sessions
from pipeline.errors import UsageError
from pipeline.ops.console_output import PRINTED, Console

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.batch.memory import Consolidated
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.config.keys import Keys
    from pipeline.config.settings import Workspace
    from pipeline.domain import Summary
    from pipeline.domain.values import Cost
    from pipeline.engine.run_context import RunContext

_log = logging.getLogger("pipeline.cli.memory_workflow")
_HINT = "no session is lost; research consolidate tries it again"


def consolidate_after_run(
    env: RunEnvironment, spent: Cost | None = None, deadline: datetime | None = None, *, asks_model: bool = True
) -> None:
    """Consolidate what ended, unless the settings say no. A failure is printed and logged, and raised never.

    With ``memory: model`` the model of the settings is asked, until the ``deadline`` of the run at the latest, unless
    ``asks_model`` is false; ``spent`` is what the run has cost so far.
    """
    if env.workspace.queue.settings.memory == "off":
        return
    try:
        print_failures(env.console, consolidate_now(env, spent, deadline, asks_model=asks_model))
    except Exception as error:  # noqa: BLE001 - the research is done, whatever becomes of its memory
        env.console.say(f"the sessions were not consolidated: {error}\n  → {_HINT}", always=True, fg="yellow")
        _log.error("the sessions were not consolidated", exc_info=error, extra=PRINTED)


def consolidate_now(
    env: RunEnvironment, spent: Cost | None = None, deadline: datetime | None = None, *, asks_model: bool = True
) -> Consolidated:
    """Consolidate the ended sessions that changed since they were consolidated last; return the outcome. Values as above.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    import asyncio

    from pipeline.batch.memory import consolidate
    from pipeline.domain.values import Cost
    from pipeline.wiring import workspace_adapters

    context = replace(workspace_adapters.context_of(env.workspace, lambda _event, _state: None), deadline=deadline)
    sessions, model = read_sessions(env.console, env.store, again=True).sessions, ""
    if asks_model and env.workspace.queue.settings.memory == "model":
        model, problem = _model_of(env.workspace, env.keys)
        if problem:
            return replace(consolidate(env.store, context, sessions), problems=(problem,))
    if not model:
        return consolidate(env.store, context, sessions)
    return asyncio.run(_with_model(env, context, sessions, model, spent or Cost()))


def _model_of(workspace: Workspace, keys: Keys) -> tuple[str, str]:
    """Return the model that the settings name ("" if none), and why it cannot be asked."""
    from pipeline.domain.values import EXTRACTIVE
    from pipeline.wiring.talk_adapters import talk_reasoner

    try:
        name = talk_reasoner(workspace, keys)
    except UsageError as error:
        return "", f"no model was asked for memory: {error.message}"
    return ("" if name == EXTRACTIVE else name), ""


async def _with_model(
    env: RunEnvironment, context: RunContext, sessions: Sequence[Summary], model: str, spent: Cost
) -> Consolidated:
    from pipeline.batch.memory import consolidate_with_model
    from pipeline.wiring.session_adapters import AdapterFactory

    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        reasoner = factory.memory_model(model, env.workspace.queue.settings.query_limits.cost_usd, spent)
        return await consolidate_with_model(env.store, context, sessions, reasoner)
    finally:
        await factory.aclose()


def print_failures(console: Console, done: Consolidated) -> None:
    """Print which sessions could not be consolidated, what a model failed to do, and what it cost."""
    for problem in done.problems:
        console.say(f"{problem}\n  → what the rules found is kept", always=True, fg="yellow")
        _log.warning("%s", problem, extra=PRINTED)
    if done.cost.calls or done.cost.usd:
        from pipeline.cli.presentation import price

        console.say(f"memory: {price(done.cost)}", dim=True)
    for name, reason in done.failed.items():
        console.say(f"{name} was not consolidated: {reason}\n  → research verify", always=True, fg="yellow")
