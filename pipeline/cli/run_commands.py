"""The commands that work through the queue, ``run``, ``retry`` and ``resume``: decide what is due, work, print the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.batch.due_queries import ANNOUNCED, UP_TO_DATE, Decision, Selection, states_of_builds
from pipeline.cli import arguments_and_builds
from pipeline.cli.run_inputs import Request, RunEnvironment, environment_of, is_recorded, say_reworded
from pipeline.config.workspace_settings import store_address
from pipeline.errors import LOG_TROUBLE, ExitCode, NoWorkspace, UsageError, WorkspaceLocked
from pipeline.ops.console_output import Console, end
from pipeline.ops.unattended import UnattendedRun, last_run, save_last_run, unattended_run
from pipeline.text.humanize import first_few
from pipeline.text.times import moment_after
from pipeline.vault.output.user_text import asked_lines
from pipeline.wiring.store_adapters import require_queue

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Also all queries with this tag (repeatable)."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Research at most N queries."),
    click.option("--deadline", metavar="TIME", help='End the run at this time: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.'),
    click.option(
        "--max-cost",
        type=arguments_and_builds.amount,
        metavar="USD",
        help="This run may spend so much, whatever the night has spent.",
    ),
    click.option("--distribute", is_flag=True, help="Let workers (research work) on any machine do it; needs PostgreSQL."),
    click.option(
        "--worker-wait",
        type=arguments_and_builds.length,
        default="10m",
        show_default=True,
        metavar="TIME",
        help="With --distribute: give up if no worker can take what is left for so long.",
    ),
    click.option("--dry-run", is_flag=True, help="Only print what the run would do and may cost; contact no service."),
    click.option(
        "--lock-wait",
        type=arguments_and_builds.length,
        metavar="TIME",
        help="Wait up to this long for another run to end: 30s, 10m.",
    ),
    click.option(
        "--ping-url-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Ping the monitor whose address is in FILE at the start and the end.",
    ),
)


def _with_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--retry-failed", is_flag=True, help="Also retry queries that failed.")
@click.option("--again", is_flag=True, help="Research those with the given IDs or tags, done or not.")
@_with_options
@click.pass_obj
def run(console: Console, /, ids: tuple[str, ...], retry_failed: bool, again: bool, **options: Any) -> None:
    """Research all due queries, or those with the given IDs or tags; then update vault and site."""
    if again and not ids and not options["tags"]:
        raise click.UsageError("--again researches and pays for what is done already: name the queries, or give a --tag")
    _run_queue(console, "research run", Selection(ids, options["tags"], retry_failed, options["limit"], again=again), options)


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_with_options
@click.pass_obj
def retry(console: Console, /, ids: tuple[str, ...], **options: Any) -> None:
    """Retry all failed and not-found queries, or those with the given IDs, also cancelled ones. No call is paid for twice."""
    failed = not ids or bool(options["tags"])
    _run_queue(console, "research retry", Selection(ids, options["tags"], failed, options["limit"], failed), options)


@click.command()
@click.argument("session")
@click.option(
    "--lock-wait", type=arguments_and_builds.length, metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m."
)
@click.pass_obj
def resume(console: Console, session: str, lock_wait: timedelta | None) -> None:
    """Continue SESSION where it stopped, as research run does with its query's id. A failed or cancelled one is reopened."""
    from pipeline.domain.session import ResearchSession  # a run with nothing to do does without

    store = arguments_and_builds.workspace_store(console.folder)
    opened = ResearchSession.open(store, arguments_and_builds.session_named(console.folder, store, session))
    _run_queue(console, "research resume", Selection((opened.state.query_id,)), {"lock_wait": lock_wait})


def _run_queue(console: Console, program: str, selection: Selection, options: dict[str, Any]) -> None:
    request = Request(
        selection,
        moment(options.get("deadline")),
        options.get("max_cost"),
        program == "research retry",
        options["lock_wait"],
        options["worker_wait"] if options.get("distribute") else None,
    )
    if options.get("dry_run"):
        from pipeline.cli.dry_run import print_dry_run

        print_dry_run(console, request)
        return
    with unattended_run(console, program, options.get("ping_url_file")) as run:
        try:
            code = _work(run, request)
        except (NoWorkspace, WorkspaceLocked):  # another run, or another folder: the saved outcome is not ours to replace
            raise
        except Exception as error:
            code = getattr(error, "exit_code", ExitCode.FAILED)
            save_last_run(console, {"exit_code": code, "error": str(error) or type(error).__name__})
            raise
        end(code)


def moment(deadline: str | None) -> datetime | None:
    """Return the next moment that an option such as ``06:30`` means; None without one.

    Raises:
        UsageError: it is no time, or the time has passed.
    """
    if deadline is None:
        return None
    now = datetime.now(UTC)
    found = moment_after(deadline.strip(), now)
    if found is None or found <= now:
        what = "has passed" if found else "is not a time"
        hint = 'write a time of day, 06:30 or "06:30 Europe/Berlin", or a date with a time, 2026-11-22T06:30'
        raise UsageError(f"{deadline!r} {what}", hint=hint)
    return found


def _work(run: UnattendedRun, request: Request) -> int:
    env = environment_of(run.console, request)
    arguments_and_builds.report_left_out(run.console, env.workspace)
    unfinished = _night_is_unfinished(env, distribute=request.distribute is not None)
    decided = env.decisions_for(request)
    say_reworded(env, decided)
    work = unfinished or decided.branched or any(decision.due for decision in decided.decisions)
    if not work and asked_lines(env.workspace.folder / "vault"):  # it reads all notes; a run with work looks at its end
        from pipeline.cli.ask_command import open_note_questions

        work = bool(open_note_questions(env))
    if work or not is_recorded(env, request, decided):
        from pipeline.cli.run_batch import work_through

        if (code := work_through(run, env, request, unfinished=unfinished)) is not None:
            return code
        decided = env.decisions_for(request, again=True)
    return _nothing_to_do(run, env, decided.decisions, request.selection.ids)


def _night_is_unfinished(env: RunEnvironment, *, distribute: bool) -> bool:
    """Return whether a distributed run finds a night that is not over.

    Raises:
        WorkspaceLocked: workers research the sessions that this run would research itself.
        UsageError: there is no database to share.
    """
    if not distribute and not store_address(env.workspace.folder):
        return False
    require_queue(env.workspace.folder)
    from pipeline.wiring.postgres_adapters import nights_of

    nights = nights_of(env.workspace.folder)
    night = nights.unfinished()
    if night and not distribute and any(running for _, running in nights.queue().values()):
        hint = "research run --distribute shows it; or wait until it is over"
        raise WorkspaceLocked(f"workers research the night to {night.day}", hint=hint)
    return distribute and night is not None


def _nothing_to_do(run: UnattendedRun, env: RunEnvironment, decisions: Sequence[Decision], named: Sequence[str]) -> int:
    """Report that no query is due, and build the vault if a stopped run left it out of date; return the exit code."""
    console = env.console
    left = [d for d in decisions if d.action in ANNOUNCED or d.query.id in named]
    announced = [f"  {d.query.id}: {d.said}" for d in left]
    lines = ["nothing to do", *first_few(announced, ": research list --why lists them")]
    again = {"failed": "the failed ones", "not-found": "those not found"}
    found = [words for action, words in again.items() if any(d.action == action for d in left)]
    lines += [f"  to try {' and '.join(found)} again: research retry"] if found else []
    done = [d.query.id for d in left if d.action == "done"]
    lines += [f"  to research what is done once more: research run {' '.join(done)} --again"] if done else []
    causes = {d.cause for d in decisions if d.action == "damaged"}
    code = next((code for cause, code in LOG_TROUBLE.items() if cause in causes), 0)
    if console.as_json or code or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in left]})
    problems = arguments_and_builds.try_builds(console, env.workspace)
    code = code or arguments_and_builds.report_build_problems(console, problems)
    run.summary_line = "nothing to do" if problems else ""
    # ``last-run.json`` is kept if there is one, unless what it says of vault and site is outdated, or it holds an error.
    now = states_of_builds((one.part, one.reason) for one in problems)
    before = last_run(console.folder)
    if before and "error" not in before and all(before.get(part, UP_TO_DATE) == how for part, how in now.items()):
        return code
    return code if save_last_run(console, {"exit_code": code, "nothing_to_do": True, **now}) else code or 1
