"""What a run works with: the request of its options, the workspace with its keys and log, the decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.batch.due_queries import ANYWHERE, Decision, Selection, archived, decide
from pipeline.cli.arguments_and_builds import read_sessions
from pipeline.config.keys import Keys
from pipeline.config.services import Documents, config_for
from pipeline.config.workspace_settings import Workspace, keys_of, load_workspace, machine_of
from pipeline.domain.events.stream_records import begin_of, is_about, kind_of
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console
from pipeline.ports import EventStore
from pipeline.text.times import moment_of, night_of
from pipeline.wiring import corpus_status
from pipeline.wiring.store_adapters import refuse_missing_log, store_of

if TYPE_CHECKING:
    from pipeline.config.queue_schema import Query
    from pipeline.domain.budget import Budget
    from pipeline.domain.research_values import Cost, ResearchConfig


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of a run ask for: until when, and what it may spend beside the night's cap.

    ``only_again``: only queries that failed or were cancelled.
    ``distribute``: workers research the sessions; the run waits so long for one that can take what is left.
    """

    selection: Selection = field(default_factory=Selection)
    until: datetime | None = None
    cost_usd: float | None = None
    only_again: bool = False
    lock_wait: timedelta | None = None
    distribute: timedelta | None = None


class Decisions(NamedTuple):
    """What to do about each query, and the sorted ids of queries that are in the log but no longer in the file.

    ``branched`` are the streams whose branches the run joins first.
    """

    decisions: tuple[Decision, ...]
    archived: tuple[str, ...]
    branched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What a run works with: the workspace with the run's limits, its keys, its event store, and the kind of its documents.

    ``spent`` is what the night had cost before (None: there is no cap), ``granted_usd`` what this run may spend beside
    the night's cap, ``night`` the budget that all its work is charged to (None: there is no cap).
    """

    console: Console
    workspace: Workspace
    keys: Keys
    store: EventStore
    documents: Callable[[], Documents] = lambda: ""
    spent: Cost | None = None
    granted_usd: float = 0.0
    night: Budget | None = None

    @property
    def machine(self) -> str:
        """The name of this computer in the log."""
        return machine_of(self.workspace.folder)

    def config_of(self, query: Query) -> ResearchConfig:
        """Return the limits that a new session on a query runs under.

        Raises:
            UsageError: it names a model or a provider that is not set up.
        """
        return config_for(query, self.workspace.queue.settings, self.keys, self.documents())

    def decisions_for(self, request: Request, *, read_only: bool = False, again: bool = False) -> Decisions:
        """Return what to do about each query of the request; ``read_only`` and ``again`` as in ``read_sessions``."""
        known = read_sessions(self.console, self.store, read_only=read_only, again=again)
        machine = self.machine if request.distribute is None else ANYWHERE
        decisions = decide(self.workspace.queue, known, datetime.now(UTC), request.selection, machine)
        if request.only_again:
            decisions = tuple(d for d in decisions if d.action == "retry" or not d.due)
        gone = {summary.query_id for summary in archived(self.workspace.queue, known) if summary.query_id}
        return Decisions(decisions, tuple(sorted(gone)), known.branched)


def environment_of(console: Console, request: Request = Request()) -> RunEnvironment:
    """Return what the run works with.

    Raises:
        NoWorkspace, QueueInvalid: there is no valid queue.
        LogDamaged: the whole log is missing.
        UsageError: an id or a tag is unknown; the ``.env`` cannot be read.
    """
    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    refuse_missing_log(console.folder)
    request.selection.refuse_unknown(workspace.queue)
    queue = workspace.queue
    for query in (query for query in queue.queries if query.file):  # a line in a note stops no night
        try:
            config_for(query, queue.settings, keys)
        except UsageError as error:
            said = f"{query.file}:{query.line}: {error.message} → {error.hint} (“{query.text}”)"
            others = tuple(one for one in queue.queries if one is not query)
            queue = replace(queue, queries=others, left_out=(*queue.left_out, said))
    workspace = replace(workspace, queue=queue)
    if len(queue.settings.corpus) > 1:  # of one alone, the search says that it is missing
        why = "this folder of documents is missing or cannot be listed → correct settings: corpus:, or create it"
        missing = tuple(f"{name}: {why}" for name in corpus_status.unusable_folders(workspace))
        workspace = replace(workspace, queue=replace(queue, left_out=(*queue.left_out, *missing)))
    automatic = "auto" in (queue.settings.search, *(query.search for query in queue.queries))
    documents = cache(lambda: corpus_status.documents_in(workspace) if automatic else "")  # all are read: only for work
    if request.cost_usd is not None:
        limits = replace(queue.settings.limits, cost_usd=request.cost_usd)
        settings = replace(queue.settings, limits=limits)
        workspace = replace(workspace, queue=replace(workspace.queue, settings=settings))
    return RunEnvironment(console, workspace, keys, store_of(console.folder), documents)


def is_recorded(env: RunEnvironment, request: Request, decided: Decisions) -> bool:
    """Return whether the latest batch recorded what was removed from the file, and which questions and folders cannot be read.

    Once something was researched, that the whole queue was looked at is recorded too, once a night; that a part was is not.
    """
    known, zone = _latest_batch(env), env.workspace.queue.settings.timezone
    is_whole = not (request.selection.ids or request.selection.tags or request.only_again)
    if not is_whole:  # else the batch would say that nothing was due
        return True
    if known and night_of(moment_of(known["at"]), zone) < night_of(datetime.now(UTC), zone):
        return False
    return [known.get(name, []) for name in ("archived", "unread")] == [[*decided.archived], [*env.workspace.queue.left_out]]


def say_reworded(env: RunEnvironment, decided: Decisions) -> None:
    """Say how a question keeps its history, if one is new and others were removed from the file since the latest batch.

    One that is known in its new words was not removed, and one of the vault's queue can have no such id.
    """
    new = [decision.query.id for decision in decided.decisions if decision.action == "new" and not decision.query.file]
    gone = {*decided.archived} - {*_latest_batch(env).get("archived", [])} if new and decided.archived else set()
    known = [one.session for one in env.decisions_for(Request(), read_only=True, again=True).decisions] if gone else []
    if left := sorted(name for name in gone if not any(is_about(session, name) for session in known)):
        before, now = ", ".join(left[:3]), ", ".join(new[:3])
        words = f"new in the queue: {now}; removed: {before}. A question in other words keeps its history by the id that it had"
        env.console.say(f"{words}: `id: {left[0]}`", fg="yellow")


def _latest_batch(env: RunEnvironment) -> dict[str, Any]:
    """Return what began the latest batch, as stored; nothing before the first."""
    names = [name for name in env.store.marks() if kind_of(name) == "batch"]
    second = max(map(begin_of, names), default="")  # several may share it
    records = [record for name in names if begin_of(name) == second for record in env.store.load(name)]
    started = [record for record in records if record.type == "batch.started"]  # read without the events' models
    return dict(json.loads(max(started, key=lambda record: record.at).data)) if started else {}
