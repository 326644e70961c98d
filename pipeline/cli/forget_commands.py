"""The commands on what is kept: ``consolidate``, which runs do at their end, and ``forget``, once ``prune`` in part."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from pipeline.batch.memory_consolidation import due_sessions, read_memory
from pipeline.cli.arguments_and_builds import bring_up_to_date, import_named, length, read_sessions, session_named
from pipeline.cli.batch_end import consolidate_now, print_failures
from pipeline.cli.run_inputs import environment_of
from pipeline.cli.run_setup_and_progress import in_its_night
from pipeline.config.queue_schema import FOREVER
from pipeline.domain.events.stream_records import id_digest
from pipeline.domain.session import ResearchSession
from pipeline.errors import UsageError
from pipeline.ops import forgetting
from pipeline.ops.console_output import Console, end
from pipeline.search.index import remove_index
from pipeline.text.humanize import counted
from pipeline.wiring.run_context_and_note_ratings import context_of
from pipeline.wiring.store_adapters import index_file, lock_of

if TYPE_CHECKING:
    from datetime import timedelta

    from pipeline.cli.run_inputs import RunEnvironment

_KIND = click.Choice(forgetting.PRUNABLE)


@click.command()
@click.pass_obj
def consolidate(console: Console) -> None:
    """Consolidate ended sessions into memory, which later sessions recall; then update the vault. A run does it at its end."""
    env = environment_of(console)
    with lock_of(console.folder, "research consolidate"):
        done = consolidate_now(in_its_night(env))
        problems = bring_up_to_date(console, env.workspace)
    print_failures(console, done)
    line = f"{counted(len(done.sessions), 'session')} consolidated, {counted(done.statements, 'statement')}"
    value = {"stream": done.stream, "sessions": done.sessions, "statements": done.statements, "failed": dict(done.failed)}
    value |= {"cost_usd": done.cost.usd, "tokens": done.cost.total_tokens, "problems": done.problems}
    console.data([line if done.stream else "nothing to consolidate"], value)
    end(problems or (1 if done.failed else 0))


@click.command()
@click.argument("session", required=False)
@click.option("--older-than", type=length, metavar="TIME", help="Without SESSION: forget what is older than this, such as 90d.")
@click.option("--only", "kind", type=_KIND, help="Only this kind of what is old.")
@click.option("--by-settings", is_flag=True, help="Forget what is older than `keep` in queries.yaml says.")
@click.option("--dry-run", is_flag=True, help="Print what would go by age, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before SESSION goes.")
@click.pass_obj
def forget(console: Console, /, session: str | None, older_than: timedelta | None, by_settings: bool, **options: Any) -> None:
    """Remove SESSION or an import for good: its log and notes, what only it uses, and what nights, memory, talks say of it.

    Or what is old, without asking: prompts and replies of models, pages that no report cites, logs of sessions. Reports stay, and
    all of a session that is not consolidated, has not ended, or is the latest on a recurring question.
    """
    kind, dry_run, yes = options["kind"], options["dry_run"], options["yes"]
    by_age = older_than is not None or by_settings
    if (session is None) != by_age or (older_than is not None and by_settings):
        hint = "research forget SESSION, research forget --older-than 90d, or research forget --by-settings"
        raise UsageError("name one session, or an age", hint=hint)
    if session is None:
        _by_age(console, kind, older_than, dry_run=dry_run)
    elif kind or dry_run:
        raise UsageError("--only and --dry-run are for what goes by age", hint=f"research forget {session} asks first")
    else:
        _one(console, session, asks=not yes)


def _by_age(console: Console, kind: str | None, older_than: timedelta | None, *, dry_run: bool) -> None:
    """Forget what is old: of one kind or all, by one age or by those of the settings."""
    env = environment_of(console)
    keep = env.workspace.queue.settings.keep
    ages: dict[forgetting.Prunable, timedelta | None] = {}
    for name in forgetting.PRUNABLE if kind is None else [one for one in forgetting.PRUNABLE if one == kind]:
        age = older_than or getattr(keep, name)
        ages[name] = None if age == FOREVER else age

    def chosen() -> tuple[forgetting.Usage, forgetting.PrunePlan]:
        recurring = {query.id for query in env.workspace.queue.queries if query.every is not None}
        summaries, stones = read_sessions(console, env.store).sessions, env.store.tombstones()
        due = {one.session for one in due_sessions(read_memory(env.store), summaries)}
        known = forgetting.Known(summaries, due, recurring, forgetting.read_usage(env.store), stones.sessions)
        return known.usage, forgetting.plan(known, ages, datetime.now(UTC))

    if dry_run:
        _print_plan(env, *chosen())
        return
    with lock_of(console.folder, "research forget"):
        context = context_of(env.workspace)
        finished = forgetting.finish(env.store, context)
        usage, plan = chosen()
        done = forgetting.prune(env.store, context, plan, usage)
        words = [counted(len(done.sessions), "session"), counted(done.pages, "page"), counted(done.exchanges, "exchange")]
        checked = f"{done.bytes / 1e6:.1f} MB freed, {counted(done.quotes, 'quote')} checked before"
        some = done.sessions or done.pages or done.exchanges
        lines = ["what an interrupted run of this began was finished"] if finished else []
        lines += [f"forgotten by age: {', '.join(words)}; {checked}" if some else "nothing is old enough", *_kept_lines(plan)]
        lines += [f"  left: {name}: {why}" for name, why in done.left.items()]
        value: dict[str, Any] = {name: getattr(done, name) for name in (*forgetting.PRUNABLE, "bytes", "quotes", "left")}
        console.data(lines, value | {"kept": dict(plan.kept), "finished": finished})
        end(bring_up_to_date(console, env.workspace) or (1 if done.left else 0))


def _print_plan(env: RunEnvironment, usage: forgetting.Usage, plan: forgetting.PrunePlan) -> None:
    kinds: list[str] = [name for name in forgetting.PRUNABLE if name != "sessions"]
    objects = {name: [x for x in getattr(plan, name) if env.store.objects.size(x)] for name in kinds}
    size = sum(forgetting.size_of(env.store.load(name)) for name in plan.sessions)
    size += sum(env.store.objects.size(digest) for found in objects.values() for digest in found)
    words = [counted(len(plan.sessions), "session"), *(counted(len(found), name[:-1]) for name, found in objects.items())]
    lines = [f"would go: {', '.join(words)} ({size / 1e6:.1f} MB, and what only those sessions use)"]
    lines += [f"  {name}" for name in plan.sessions] + _kept_lines(plan)
    if usage.unreadable:
        names = ", ".join(sorted(usage.unreadable)[:3])
        lines.append(f"  no page or exchange goes while a log cannot be read: {names}; research verify")
    value: dict[str, Any] = {"sessions": plan.sessions, "bytes": size, "kept": dict(plan.kept)}
    env.console.data(lines, {"dry_run": True, **value, **objects})


def _kept_lines(plan: forgetting.PrunePlan) -> list[str]:
    hints = {forgetting.UNCONSOLIDATED: ": research consolidate"}
    return [f"  kept although old enough: {number}, {why}{hints.get(why, '')}" for why, number in sorted(plan.kept.items())]


def _one(console: Console, session: str, *, asks: bool) -> None:
    """Forget one session or import for good; what an interrupted command left of it is taken away."""
    env = environment_of(console)
    with lock_of(console.folder, "research forget"):
        context = context_of(env.workspace)
        forgetting.finish(env.store, context)
        if at := env.store.tombstones().forgotten.get(id_digest(session)):
            lines, value = [f"forgotten on {at[:10]}; what was left of it is removed now"], {"forgotten": True, "at": at}
        else:
            if name := import_named(env.store, session):
                what = forgetting.forgetting(env.store, name)
            else:
                state = ResearchSession.open(env.store, session_named(console.folder, env.store, session)).state
                latest = read_sessions(console, env.store).latest().get(state.query_id, state)
                # That an earlier one is forgotten does not keep its question from being researched.
                what = forgetting.forgetting(env.store, state.id, state.query, state.query_id if latest.id == state.id else "")
            size, follow = f"{what.bytes / 1e6:.1f} MB", "follows it, and its log repeats some of its facts: research forget"
            followers = [f"  {name} {follow} {name}" for name in what.builds_on]
            if asks:
                if not console.terminal or console.as_json:
                    raise UsageError("forget asks first, and there is no terminal", hint=f"research forget {what.session} --yes")
                objects = counted(len(what.objects), "page or exchange", "pages and exchanges")
                parts = f"its log, {objects}, {counted(len(what.talks), 'talk')} and what nights and memory say of it"
                for line in (f"{what.session}: {what.query}", f"  {parts} go for good: {size}", *followers):
                    console.say(line, always=True)
                click.confirm("Forget it?", abort=True, err=True)
            forgetting.forget(env.store, context, what)
            queued = any(query.id == what.query_id for query in env.workspace.queue.queries)
            lines = [f"forgotten: {size} freed; the notes and pages about it are removed with this build", *followers]
            again = f"no night researches it, until you say: research run {what.query_id}"
            lines += [f"  {what.query_id} is still in queries.yaml; {again}"] if queued else []
            lines.append("  copies in backups, in git's history and in vault/attic are not touched")
            value = {"forgotten": True, "bytes": what.bytes, "queued": queued}
        try:
            remove_index(index_file(console.folder))  # a cache with the texts of all sessions
        except OSError as error:
            local = f"caches in events/local still hold its texts ({error.strerror}): delete that folder"
            console.say(local, always=True, fg="yellow")
        console.data(lines, value)
        end(bring_up_to_date(console, env.workspace))
