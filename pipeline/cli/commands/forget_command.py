"""The command ``forget``: one session for good, or by age what is no longer needed, which was ``prune`` once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import Length, SessionName
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from datetime import timedelta

    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.ops.forgetting import Known, PrunePlan

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
    _by_age(console, kind, older_than, dry_run=dry_run)


def _by_age(console: Console, kind: str | None, older_than: timedelta | None, *, dry_run: bool) -> None:
    """Forget what is old: of one kind or all, by one age or by those of the settings."""
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.ops import forgetting as f
    from pipeline.text.normalise import counted
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    if dry_run:
        _print_plan(env, *_chosen(env, kind, older_than))
        return
    with workspace_adapters.lock_of(console.folder, "research forget"):
        context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
        finished = f.finish(env.store, context)
        known, chosen = _chosen(env, kind, older_than)
        done = f.prune(env.store, context, chosen, known.usage)
        words = [counted(len(done.sessions), "session"), counted(done.pages, "page"), counted(done.exchanges, "exchange")]
        words += [counted(done.originals, "original of an import", "originals of imports")] if done.originals else []
        some = done.sessions or done.pages or done.exchanges or done.originals
        checked = f"{done.bytes / 1e6:.1f} MB freed, {counted(done.quotes, 'quote')} checked before"
        lines = ["what an interrupted run of this began was finished"] if finished else []
        lines += [f"forgotten by age: {', '.join(words)}; {checked}" if some else "nothing is old enough", *_kept_lines(chosen)]
        lines += [f"  left: {name}: {why}" for name, why in done.left.items()]
        value: dict[str, Any] = {name: getattr(done, name) for name in (*KINDS, "bytes", "quotes", "left")}
        console.data(lines, value | {"kept": dict(chosen.kept), "finished": finished})
        end(_build(env) or (1 if done.left else 0))


def _chosen(env: RunEnvironment, kind: str | None, older_than: timedelta | None) -> tuple[Known, PrunePlan]:
    """Return what the selection depends on, and what may go."""
    from datetime import UTC, datetime

    from pipeline.batch.memory import read_memory
    from pipeline.cli.command_parts import read_sessions
    from pipeline.config.values import FOREVER
    from pipeline.ops import forgetting as f

    keep = env.workspace.queue.settings.keep
    rule = {name: older_than or (None if getattr(keep, name) == FOREVER else getattr(keep, name)) for name in f.PRUNABLE}
    consolidated = {name: one.up_to for name, one in read_memory(env.store).sessions.items()}
    recurring = {query.id for query in env.workspace.queue.queries if query.every is not None}
    summaries, stones = read_sessions(env.console, env.store).sessions, env.store.tombstones()
    known = f.Known(summaries, consolidated, recurring, f.read_usage(env.store), stones.sessions)
    return known, f.plan(known, {name: age for name, age in rule.items() if kind in (None, name)}, datetime.now(UTC))


def _print_plan(env: RunEnvironment, known: Known, chosen: PrunePlan) -> None:
    from pipeline.text.normalise import counted

    objects = {name: [x for x in getattr(chosen, name) if env.store.object_size(x)] for name in KINDS if name != "sessions"}
    size = sum(map(env.store.size_of, chosen.sessions))
    size += sum(env.store.object_size(digest) for found in objects.values() for digest in found)
    words = [counted(len(chosen.sessions), "session"), *(counted(len(found), name[:-1]) for name, found in objects.items())]
    lines = [f"would go: {', '.join(words)} ({size / 1e6:.1f} MB, and what only those sessions use)"]
    lines += [f"  {name}" for name in chosen.sessions] + _kept_lines(chosen)
    if known.usage.unreadable:
        names = ", ".join(sorted(known.usage.unreadable)[:3])
        lines.append(f"  no page or exchange goes while a log cannot be read: {names}; research verify")
    value = {"sessions": chosen.sessions, **objects, "bytes": size, "kept": dict(chosen.kept)}
    env.console.data(lines, {"dry_run": True, **value})


def _kept_lines(chosen: PrunePlan) -> list[str]:
    from pipeline.ops.forgetting import UNCONSOLIDATED

    hints = {UNCONSOLIDATED: ": research consolidate"}
    return [f"  kept although old enough: {number}, {why}{hints.get(why, '')}" for why, number in sorted(chosen.kept.items())]


def _build(env: RunEnvironment) -> int:
    from pipeline.cli.command_parts import bring_up_to_date, report_build_problems

    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))


def _one(console: Console, session: str, *, asks: bool) -> None:
    """Forget one session or import for good; what an interrupted command left of it is taken away."""
    from pipeline.cli.command_parts import import_named, session_named
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.domain.events.records import id_digest
    from pipeline.domain.session import ResearchSession
    from pipeline.errors import UsageError
    from pipeline.ops import forgetting as f
    from pipeline.text.normalise import counted
    from pipeline.wiring import workspace_adapters
    from pipeline.wiring.talk_adapters import remove_text_caches

    env = environment_of(console, Request())
    with workspace_adapters.lock_of(console.folder, "research forget"):
        context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
        f.finish(env.store, context)
        if at := env.store.tombstones().forgotten.get(id_digest(session)):
            lines, value = [f"forgotten on {at[:10]}; what was left of it is removed now"], {"forgotten": True, "at": at}
        else:
            if name := import_named(env.store, session):
                what = f.forgetting(env.store, name)
            else:
                state = ResearchSession.open(env.store, session_named(console.folder, env.store, session)).state
                what = f.forgetting(env.store, state.id, state.query, state.query_id)
            size = f"{what.bytes / 1e6:.1f} MB"
            followers = [
                f"  {name} follows it, and its log repeats some of its facts: research forget {name}" for name in what.builds_on
            ]
            if asks:
                if not console.terminal or console.as_json:
                    raise UsageError("forget asks first, and there is no terminal", hint=f"research forget {what.session} --yes")
                objects = counted(len(what.objects), "page or exchange", "pages and exchanges")
                asked = (
                    f"  its log, {objects}, {counted(len(what.talks), 'talk')} and what nights and memory say of it go for good"
                )
                for line in (f"{what.session}: {what.query}", f"{asked}: {size}", *followers):
                    console.say(line, always=True)
                click.confirm("Forget it?", abort=True, err=True)
            f.forget(env.store, context, what)
            queued = any(query.id == what.query_id for query in env.workspace.queue.queries)
            again = f"no night researches it, until you say: research run {what.query_id}"
            lines = [f"forgotten: {size} freed; the notes and pages about it are removed with this build", *followers]
            lines += [f"  {what.query_id} is still in queries.yaml; {again}"] if queued else []
            lines.append("  copies in backups, in git's history and in vault/attic are not touched")
            value = {"forgotten": True, "bytes": what.bytes, "queued": queued}
        try:
            remove_text_caches(console.folder)
        except OSError as error:
            local = f"caches in events/local still hold its texts ({error.strerror}): delete that folder"
            console.say(local, always=True, fg="yellow")
        console.data(lines, value)
        end(_build(env))
