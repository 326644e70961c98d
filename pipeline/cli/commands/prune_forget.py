"""The commands that remove: ``prune`` by age, and ``forget`` one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.param_types import Length, SessionName
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.ops.pruning.forget import Forgetting
    from pipeline.ops.pruning.prune import Pruned
    from pipeline.ops.pruning.selection import Ages, Known, PrunePlan

KINDS = ("exchanges", "pages", "sessions", "originals")


@click.command()
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option("--older-than", type=Length(), metavar="TIME", help="Prune what is older than this, whatever `keep` says: 90d.")
@click.option("--dry-run", is_flag=True, help="Print what would be pruned and change nothing.")
@click.pass_obj
def prune(console: Console, kind: str | None, older_than: timedelta | None, dry_run: bool) -> None:
    """Remove old exchanges, pages, logs of sessions or originals of imports, as `keep` in queries.yaml says. Reports stay.

    Nothing is pruned that is not consolidated, of a session that has not ended or is the latest on a recurring question, or that
    an unpruned report cites.
    """
    from datetime import UTC, datetime

    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.errors import UsageError
    from pipeline.ops.pruning.selection import plan
    from pipeline.wiring import workspace_adapters

    if older_than is not None and not kind:
        raise UsageError("--older-than needs a kind", hint="for example: research prune --older-than 90d exchanges")
    env = environment_of(console, Request())
    ages = _ages(env, kind, older_than)
    if dry_run:
        known, now = _known(env), datetime.now(UTC)
        _print_plan(env, known, _with_originals(env, known, ages, plan(known, ages, now), now))
        return
    with workspace_adapters.lock_of(console.folder, "research prune"):
        done, chosen, finished = _prune(env, ages)
        _print_done(console, done, chosen, finished)
        end(_build(env) or (1 if done.left else 0))


def _ages(env: RunEnvironment, kind: str | None, older_than: timedelta | None) -> Ages:
    from pipeline.config.queries.model import FOREVER
    from pipeline.ops.pruning.selection import Ages

    keep = env.workspace.queue.settings.keep
    rule = {name: None if (age := getattr(keep, name)) == FOREVER else age for name in KINDS}
    if kind:
        rule = {name: (rule[name] if older_than is None else older_than) if name == kind else None for name in KINDS}
    return Ages(**rule)


def _known(env: RunEnvironment) -> Known:
    """Read what the selection depends on."""
    from pipeline.batch.memory.reading import read_memory
    from pipeline.cli.command_parts import read_sessions
    from pipeline.ops.pruning.selection import Known
    from pipeline.ops.pruning.usage import read_usage

    consolidated = {name: one.up_to for name, one in read_memory(env.store).sessions.items()}
    recurring = {query.id for query in env.workspace.queue.queries if query.every is not None}
    summaries = read_sessions(env.console, env.store).sessions
    return Known(summaries, consolidated, recurring, read_usage(env.store), env.store.tombstones())


def _with_originals(env: RunEnvironment, known: Known, ages: Ages, chosen: PrunePlan, now: datetime) -> PrunePlan:
    """Add the originals of imports to what a prune takes."""
    from dataclasses import replace

    from pipeline.ops.pruning.imported import old_originals

    return replace(chosen, originals=old_originals(env.store, known.usage, ages.originals, now))


def _prune(env: RunEnvironment, ages: Ages) -> tuple[Pruned, PrunePlan, int]:
    from datetime import UTC, datetime

    from pipeline.ops.pruning.forget import finish_forgetting
    from pipeline.ops.pruning.prune import finish, prune
    from pipeline.ops.pruning.selection import plan
    from pipeline.wiring import workspace_adapters

    context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
    finish_forgetting(env.store)
    finished = finish(env.store, context)
    known, now = _known(env), datetime.now(UTC)
    chosen = _with_originals(env, known, ages, plan(known, ages, now), now)
    return prune(env.store, context, chosen, known.usage), chosen, finished


def _print_plan(env: RunEnvironment, known: Known, chosen: PrunePlan) -> None:
    from pipeline.text.normalise import counted

    objects = {
        name: [x for x in getattr(chosen, name) if env.store.object_size(x)] for name in ("pages", "exchanges", "originals")
    }
    size = sum(map(env.store.size_of, chosen.sessions))
    size += sum(env.store.object_size(digest) for found in objects.values() for digest in found)
    words = [counted(len(chosen.sessions), "session"), *(counted(len(objects[x]), x[:-1]) for x in objects)]
    lines = [f"would be pruned: {', '.join(words)} ({_megabytes(size)}, and what only those sessions use)"]
    lines += [f"  {name}" for name in chosen.sessions] + _kept_lines(chosen) + _unreadable_lines(known)
    value = {"sessions": chosen.sessions, **objects, "bytes": size, "kept": dict(chosen.kept)}
    env.console.data(lines, {"dry_run": True, **value})


def _kept_lines(chosen: PrunePlan) -> list[str]:
    from pipeline.ops.pruning.selection import UNCONSOLIDATED

    hints = {UNCONSOLIDATED: ": research consolidate"}
    return [f"  kept although old enough: {number}, {why}{hints.get(why, '')}" for why, number in sorted(chosen.kept.items())]


def _unreadable_lines(known: Known) -> list[str]:
    names = ", ".join(sorted(known.usage.unreadable)[:3])
    return [f"  no page or exchange goes while a log cannot be read: {names}; research verify"] if names else []


def _print_done(console: Console, done: Pruned, chosen: PrunePlan, finished: int) -> None:
    from pipeline.text.normalise import counted

    words = [counted(len(done.sessions), "session"), counted(done.pages, "page"), counted(done.exchanges, "exchange")]
    words += [counted(done.originals, "original of an import", "originals of imports")] if done.originals else []
    some = done.sessions or done.pages or done.exchanges or done.originals
    line = f"pruned: {', '.join(words)}; {_megabytes(done.bytes)} freed, {counted(done.quotes, 'quote')} checked before"
    lines = ["an interrupted prune was finished"] if finished else []
    lines += [line if some else "nothing to prune", *_kept_lines(chosen)]
    lines += [f"  left: {name}: {why}" for name, why in done.left.items()]
    value: dict[str, Any] = {"sessions": done.sessions, "pages": done.pages, "exchanges": done.exchanges, "bytes": done.bytes}
    value["originals"] = done.originals
    console.data(lines, value | {"quotes": done.quotes, "left": done.left, "kept": dict(chosen.kept), "finished": finished})


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _build(env: RunEnvironment) -> int:
    from pipeline.cli.command_parts import bring_up_to_date, report_build_problems

    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))


@click.command()
@click.argument("session", type=SessionName())
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(console: Console, session: str, yes: bool) -> None:
    """Remove SESSION or an import for good: its log and notes, what only it uses, and what nights, memory, talks say of it."""
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.ops.pruning.forget import finish_forgetting
    from pipeline.ops.pruning.forget import forget as forget_session
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    with workspace_adapters.lock_of(console.folder, "research forget"):
        finish_forgetting(env.store)
        _end_if_forgotten(env, session)
        what = _what_goes(env, session)
        if not yes:
            _ask(console, what)
        forget_session(env.store, workspace_adapters.context_of(env.workspace, lambda _event, _state: None), what)
        _remove_text_caches(console)
        queued = any(query.id == what.query_id for query in env.workspace.queue.queries)
        console.data(_forgotten_lines(what, queued), {"forgotten": True, "bytes": what.bytes, "queued": queued})
        end(_build(env))


def _remove_text_caches(console: Console) -> None:
    from pipeline.wiring.talk_adapters import remove_text_caches

    try:
        remove_text_caches(console.folder)
    except OSError as error:
        console.say(
            f"caches in events/local still hold its texts ({error.strerror}): delete that folder", always=True, fg="yellow"
        )


def _what_goes(env: RunEnvironment, session: str) -> Forgetting:
    """Return what forgetting the session or the import of that name takes."""
    from pipeline.cli.command_parts import import_named, session_named
    from pipeline.domain.session import ResearchSession
    from pipeline.ops.pruning.forget import forgetting
    from pipeline.ops.pruning.imported import forgetting_import

    if imported := import_named(env.store, session):
        return forgetting_import(env.store, imported)
    name = session_named(env.console.folder, env.store, session)
    state = ResearchSession.open(env.store, name).state
    return forgetting(env.store, name, state.query, state.query_id)


def _end_if_forgotten(env: RunEnvironment, session: str) -> None:
    """Take away what an interrupted ``forget`` of this session left, in the log and in the vault; then end the program."""
    from pipeline.ops.pruning.prune import finish
    from pipeline.text.normalise import digest_of
    from pipeline.wiring import workspace_adapters

    if at := env.store.tombstones().forgotten.get(digest_of(session.encode("utf-8", "replace"))):
        finish(env.store, workspace_adapters.context_of(env.workspace, lambda _event, _state: None))
        env.console.data([f"forgotten on {at[:10]}; what was left of it is removed now"], {"forgotten": True, "at": at})
        end(_build(env))


def _ask(console: Console, what: Forgetting) -> None:
    """Print what would go, and ask on the terminal.

    Raises:
        UsageError: there is no terminal to ask on.
        click.Abort: the answer is no.
    """
    from pipeline.errors import UsageError
    from pipeline.text.normalise import counted

    if not console.terminal or console.as_json:
        raise UsageError("forget asks first, and there is no terminal", hint=f"research forget {what.session} --yes")
    console.say(f"{what.session}: {what.query}", always=True)
    parts = [counted(len(what.objects), "page or exchange", "pages and exchanges"), counted(len(what.talks), "talk")]
    parts.append(counted(what.records, "record of nights and memory", "records of nights and memory"))
    console.say(f"  its log, {', '.join(parts)} go for good: {_megabytes(what.bytes)}", always=True)
    for name in what.builds_on:
        console.say(f"  {name} follows it, and its log repeats some of its facts; forget it too if they must go", always=True)
    click.confirm("Forget it?", abort=True, err=True)


def _forgotten_lines(what: Forgetting, queued: bool) -> list[str]:
    lines = [f"forgotten: {_megabytes(what.bytes)} freed; the notes and pages about it are removed with this build"]
    lines += [f"  {name} follows it, and its log repeats some of its facts: research forget {name}" for name in what.builds_on]
    if queued:
        lines.append(
            f"  {what.query_id} is still in queries.yaml; no night researches it, until you say: research run {what.query_id}"
        )
    return [*lines, "  copies in backups, in git's history and in vault/attic are not touched"]
