"""The command ``forget``: one session for good, or by age what is no longer needed, which was ``prune`` once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.param_types import Length, SessionName
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.ops.pruning.forget import Forgetting
    from pipeline.ops.pruning.selection import Ages, Known, PrunePlan

KINDS = ("exchanges", "pages", "sessions", "originals")


@click.command()
@click.argument("session", type=SessionName(), required=False)
@click.option("--older-than", type=Length(), metavar="TIME", help="Without SESSION: forget what is older than this, such as 90d.")
@click.option("--only", "kind", type=click.Choice(KINDS), help="Of what is old, only this kind.")
@click.option("--by-settings", is_flag=True, help="Forget what is older than `keep` in queries.yaml says.")
@click.option("--dry-run", is_flag=True, help="Print what would go by age, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before SESSION goes.")
@click.pass_obj
def forget(
    console: Console,
    session: str | None,
    older_than: timedelta | None,
    kind: str | None,
    by_settings: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove SESSION or an import for good: its log and notes, what only it uses, and what nights, memory, talks say of it.

    Or remove by age: prompts and replies of models, pages that no report cites, logs of sessions, originals of imports. Reports
    stay. Nothing goes that is not consolidated, of a session that has not ended or is the latest on a recurring question.
    """
    from pipeline.errors import UsageError

    by_age = older_than is not None or by_settings
    if (session is None) != by_age or (by_age and yes) or (older_than is not None and by_settings):
        hint = "research forget SESSION, research forget --older-than 90d, or research forget --by-settings"
        raise UsageError("name one session, or an age", hint=hint)
    if session is None:
        _by_age(console, kind, older_than, dry_run=dry_run)
    elif kind or dry_run:
        raise UsageError("--only and --dry-run are for what goes by age", hint=f"research forget {session} asks first")
    else:
        _one(console, session, asks=not yes)


@click.command(hidden=True)
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option("--older-than", type=Length(), metavar="TIME", help="What is older than this, whatever `keep` says: 90d.")
@click.option("--dry-run", is_flag=True, help="Print what would go and change nothing.")
@click.pass_obj
def prune(console: Console, kind: str | None, older_than: timedelta | None, dry_run: bool) -> None:
    """Forget by age; the name of `research forget --older-than` and `--by-settings` in earlier versions."""
    from pipeline.errors import UsageError

    if older_than is not None and not kind:
        raise UsageError("--older-than needs a kind", hint="for example: research forget --older-than 90d --only exchanges")
    _by_age(console, kind, older_than, dry_run=dry_run)


def _by_age(console: Console, kind: str | None, older_than: timedelta | None, *, dry_run: bool) -> None:
    """Forget what is old: of one kind or all, by one age or by those of the settings."""
    from datetime import UTC, datetime

    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.config.queries.model import FOREVER
    from pipeline.ops.pruning.forget import finish_forgetting
    from pipeline.ops.pruning.prune import finish
    from pipeline.ops.pruning.prune import prune as prune_now
    from pipeline.ops.pruning.selection import Ages
    from pipeline.text.normalise import counted
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    keep = env.workspace.queue.settings.keep
    rule = {name: None if (age := getattr(keep, name)) == FOREVER else age for name in KINDS}
    if older_than is not None:
        rule = dict.fromkeys(KINDS, older_than)
    ages = Ages(**{name: age if kind in (None, name) else None for name, age in rule.items()})
    if dry_run:
        _print_plan(env, *_chosen(env, ages, datetime.now(UTC)))
        return
    with workspace_adapters.lock_of(console.folder, "research forget"):
        context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
        finish_forgetting(env.store)
        finished = finish(env.store, context)
        known, chosen = _chosen(env, ages, datetime.now(UTC))
        done = prune_now(env.store, context, chosen, known.usage)
        words = [counted(len(done.sessions), "session"), counted(done.pages, "page"), counted(done.exchanges, "exchange")]
        words += [counted(done.originals, "original of an import", "originals of imports")] if done.originals else []
        some = done.sessions or done.pages or done.exchanges or done.originals
        checked = f"{_megabytes(done.bytes)} freed, {counted(done.quotes, 'quote')} checked before"
        line = f"forgotten by age: {', '.join(words)}; {checked}"
        lines = ["what an interrupted run of this began was finished"] if finished else []
        lines += [line if some else "nothing is old enough", *_kept_lines(chosen)]
        lines += [f"  left: {name}: {why}" for name, why in done.left.items()]
        value: dict[str, Any] = {name: getattr(done, name) for name in (*KINDS, "bytes", "quotes", "left")}
        console.data(lines, value | {"kept": dict(chosen.kept), "finished": finished})
        end(_build(env) or (1 if done.left else 0))


def _chosen(env: RunEnvironment, ages: Ages, now: datetime) -> tuple[Known, PrunePlan]:
    """Return what the selection depends on, and what may go."""
    from dataclasses import replace

    from pipeline.batch.memory.reading import read_memory
    from pipeline.cli.command_parts import read_sessions
    from pipeline.ops.pruning.imported import old_originals
    from pipeline.ops.pruning.selection import Known, plan
    from pipeline.ops.pruning.usage import read_usage

    consolidated = {name: one.up_to for name, one in read_memory(env.store).sessions.items()}
    recurring = {query.id for query in env.workspace.queue.queries if query.every is not None}
    summaries = read_sessions(env.console, env.store).sessions
    known = Known(summaries, consolidated, recurring, read_usage(env.store), env.store.tombstones())
    chosen = plan(known, ages, now)
    return known, replace(chosen, originals=old_originals(env.store, known.usage, ages.originals, now))


def _print_plan(env: RunEnvironment, known: Known, chosen: PrunePlan) -> None:
    from pipeline.text.normalise import counted

    objects = {name: [x for x in getattr(chosen, name) if env.store.object_size(x)] for name in KINDS if name != "sessions"}
    size = sum(map(env.store.size_of, chosen.sessions))
    size += sum(env.store.object_size(digest) for found in objects.values() for digest in found)
    words = [counted(len(chosen.sessions), "session"), *(counted(len(found), name[:-1]) for name, found in objects.items())]
    lines = [f"would go: {', '.join(words)} ({_megabytes(size)}, and what only those sessions use)"]
    lines += [f"  {name}" for name in chosen.sessions] + _kept_lines(chosen)
    if known.usage.unreadable:
        names = ", ".join(sorted(known.usage.unreadable)[:3])
        lines.append(f"  no page or exchange goes while a log cannot be read: {names}; research verify")
    value = {"sessions": chosen.sessions, **objects, "bytes": size, "kept": dict(chosen.kept)}
    env.console.data(lines, {"dry_run": True, **value})


def _kept_lines(chosen: PrunePlan) -> list[str]:
    from pipeline.ops.pruning.selection import UNCONSOLIDATED

    hints = {UNCONSOLIDATED: ": research consolidate"}
    return [f"  kept although old enough: {number}, {why}{hints.get(why, '')}" for why, number in sorted(chosen.kept.items())]


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _build(env: RunEnvironment) -> int:
    from pipeline.cli.command_parts import bring_up_to_date, report_build_problems

    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))


def _one(console: Console, session: str, *, asks: bool) -> None:
    """Forget one session or import for good; what an interrupted command left of it is taken away."""
    from pipeline.cli.command_parts import import_named, session_named
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.domain.session import ResearchSession
    from pipeline.ops.pruning.forget import finish_forgetting, forgetting
    from pipeline.ops.pruning.forget import forget as forget_session
    from pipeline.ops.pruning.imported import forgetting_import
    from pipeline.ops.pruning.prune import finish
    from pipeline.text.normalise import digest_of
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    with workspace_adapters.lock_of(console.folder, "research forget"):
        context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
        finish_forgetting(env.store)
        if at := env.store.tombstones().forgotten.get(digest_of(session.encode("utf-8", "replace"))):
            finish(env.store, context)
            _remove_text_caches(console)
            console.data([f"forgotten on {at[:10]}; what was left of it is removed now"], {"forgotten": True, "at": at})
            end(_build(env))
        if imported := import_named(env.store, session):
            what = forgetting_import(env.store, imported)
        else:
            name = session_named(console.folder, env.store, session)
            state = ResearchSession.open(env.store, name).state
            what = forgetting(env.store, name, state.query, state.query_id)
        if asks:
            _ask(console, what)
        forget_session(env.store, context, what)
        _remove_text_caches(console)
        lines = [f"forgotten: {_megabytes(what.bytes)} freed; the notes and pages about it are removed with this build"]
        lines += [
            f"  {name} follows it, and its log repeats some of its facts: research forget {name}" for name in what.builds_on
        ]
        queued = any(query.id == what.query_id for query in env.workspace.queue.queries)
        again = f"no night researches it, until you say: research run {what.query_id}"
        lines += [f"  {what.query_id} is still in queries.yaml; {again}"] if queued else []
        lines.append("  copies in backups, in git's history and in vault/attic are not touched")
        console.data(lines, {"forgotten": True, "bytes": what.bytes, "queued": queued})
        end(_build(env))


def _remove_text_caches(console: Console) -> None:
    from pipeline.wiring.talk_adapters import remove_text_caches

    try:
        remove_text_caches(console.folder)
    except OSError as error:
        console.say(
            f"caches in events/local still hold its texts ({error.strerror}): delete that folder", always=True, fg="yellow"
        )


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
