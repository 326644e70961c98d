"""The command on memory: ``consolidate``."""

from __future__ import annotations

import click

from pipeline.ops.console_output import Console, end


@click.command()
@click.pass_obj
def consolidate(console: Console) -> None:
    """Consolidate ended sessions into memory, which later sessions recall; then update the vault. A run does it at its end."""
    from pipeline.cli.command_parts import bring_up_to_date, report_build_problems
    from pipeline.cli.memory_workflow import consolidate_now, print_failures
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.text.normalise import counted
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    with workspace_adapters.lock_of(console.folder, "research consolidate"):
        done = consolidate_now(env)
        problems = report_build_problems(console, bring_up_to_date(console, env.workspace))
    print_failures(console, done)
    line = f"{counted(len(done.sessions), 'session')} consolidated, {counted(done.statements, 'statement')}"
    value = {"stream": done.stream, "sessions": done.sessions, "statements": done.statements, "failed": dict(done.failed)}
    value |= {"cost_usd": done.cost.usd, "tokens": done.cost.total_tokens, "problems": done.problems}
    console.data([line if done.stream else "nothing to consolidate"], value)
    end(problems or (1 if done.failed else 0))
