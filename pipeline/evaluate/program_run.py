"""One run of the real program on the questions: writes a workspace with a queue, researches it, reads the outcomes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline.batch.scheduling import decide
from pipeline.batch.session_index import read_all
from pipeline.batch.session_pool import SESSIONS_AT_ONCE, Batch, with_limits
from pipeline.config.service_selection import secrets_of
from pipeline.config.settings import QUEUE_FILE, Keys, Workspace, config_for, keys_of, load_workspace
from pipeline.domain.events.batch_events import QueryEnded
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.state import SessionState
from pipeline.domain.values import Mode, ResearchConfig
from pipeline.errors import UsageError
from pipeline.evaluate.question_set.question_set import Entry
from pipeline.evaluate.scoring.outcome import Outcome, outcome_of
from pipeline.text.normalise import slug
from pipeline.text.redaction import Redaction
from pipeline.wiring import store_adapters, workspace_adapters
from pipeline.wiring.embedding_adapters import vectors_file
from pipeline.wiring.session_adapters import AdapterFactory

OFFLINE: Mapping[str, Any] = {"reasoner": "extractive", "search": ["local"]}
_WORKSPACE_ONLY = ("corpus", "site_url")  # settings of the original workspace that do not apply to an evaluation


@dataclass(frozen=True, slots=True)
class Setup:
    """A configuration: settings as in ``queries.yaml``, API keys, and a folder of custom templates or None.

    ``vectors`` is a cache of embeddings to use, so that a second run pays for none of them.
    """

    settings: Mapping[str, Any] = field(default_factory=lambda: OFFLINE)
    keys: Keys = field(default_factory=Keys)
    templates: Path | None = None
    vectors: Path | None = None


def setup_of(folder: Path, given: Mapping[str, Any], base: Setup | None = None) -> Setup:
    """Return the setup in a folder: the settings of its ``queries.yaml``, its ``.env``, its ``templates``.

    Missing parts come from ``base`` (by default the offline settings); ``given`` settings override those of the file.

    Raises:
        QueueInvalid: its ``queries.yaml`` has errors.
        UsageError: there is a ``.env`` that cannot be read.
    """
    base = base or Setup()
    settings, keys = dict(base.settings), base.keys
    if (folder / QUEUE_FILE).is_file():
        load_workspace(folder)  # reports all errors of the file
        settings, keys = _settings_in(folder / QUEUE_FILE), keys_of(folder)
    templates = folder / "templates"
    vectors = vectors_file(folder) if (folder / QUEUE_FILE).is_file() else base.vectors
    return Setup(settings | dict(given), keys, templates if templates.is_dir() else base.templates, vectors)


def other_setup(folder: Path, base: Setup) -> Setup:
    """Return the setup in a folder that is to be compared with ``base``.

    Raises:
        UsageError: the folder has neither settings nor templates; or as in ``setup_of``.
    """
    if not (folder / QUEUE_FILE).is_file() and not (folder / "templates").is_dir():
        raise UsageError(
            f"{folder} holds neither {QUEUE_FILE} nor templates", hint="name a folder with other settings or templates"
        )
    return setup_of(folder, {}, base)


def _settings_in(path: Path) -> dict[str, Any]:
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings = value.get("settings") if isinstance(value, dict) else None
    return {name: said for name, said in (settings or {}).items() if name not in _WORKSPACE_ONLY}


def write_workspace(folder: Path, setup: Setup, corpus: Path, entries: Iterable[Entry], mode: Mode) -> dict[str, str]:
    """Write a workspace into the new folder; return a mapping from ids in its queue to the questions' ids.

    Raises:
        UsageError: the folder is not empty, or the settings name a model or a provider without a key.
        QueueInvalid: settings and questions do not make a valid queue.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", hint="name a new folder to keep the sessions in")
    folder.mkdir(parents=True, exist_ok=True)
    entries = list(entries)
    names = _queue_ids(entries)
    limits = dict(setup.settings.get("limits") or {}) | {"max_failures": len(entries) + 1}
    settings = {**setup.settings, "corpus": str(corpus), "limits": limits}
    queries = [{"id": name, "query": entry.query, "mode": mode} for name, entry in zip(names, entries, strict=True)]
    # A YAML 1.2 document may be written as JSON.
    document = json.dumps({"settings": settings, "queries": queries}, indent=1, default=str)
    (folder / QUEUE_FILE).write_text(document + "\n", encoding="utf-8")
    if setup.templates:
        shutil.copytree(setup.templates, folder / "templates")
    _configs(load_workspace(folder), setup.keys)
    return {name: entry.id for name, entry in zip(names, entries, strict=True)}


def _configs(workspace: Workspace, keys: Keys) -> dict[str, ResearchConfig]:
    return {query.id: config_for(query, workspace.queue.settings, keys) for query in workspace.queue.queries}


def _queue_ids(entries: list[Entry]) -> list[str]:
    """Return an id of ``[a-z0-9-]`` for each question; a number keeps ids distinct that differ only in other characters."""
    return [f"q{number:05}-{slug(entry.id, 30)}" for number, entry in enumerate(entries, start=1)]


async def research(folder: Path, setup: Setup, ids: Mapping[str, str], ended: Callable[[int], None]) -> dict[str, Outcome]:
    """Research the queue of the workspace; return the outcomes by question id. ``ended`` is called with the number done.

    Raises:
        ResearchError: the queue, the documents or the log cannot be used.
    """
    workspace, keys = load_workspace(folder), setup.keys
    settings = workspace.queue.settings
    store = store_adapters.file_store(folder)  # never the database that the environment names
    redaction = Redaction(secrets_of(settings, keys))
    context = with_limits(workspace_adapters.context_of(workspace, _Counter(ended), redaction.data), settings.limits)
    factory = AdapterFactory(workspace, store, keys, sessions=len(ids), vectors=setup.vectors)
    try:
        configs = _configs(workspace, keys)
        factory.prepare(needed=any("local" in config.search for config in configs.values()))
        at_once = max(SESSIONS_AT_ONCE, settings.limits.concurrency // 2)
        night = Batch(store, workspace.queue, factory, lambda query: configs[query.id], context, at_once, factory.spent_out)
        if any("local" in config.search for config in configs.values()):
            night.embed = factory.embed_documents
        result = await night.work(decide(workspace.queue, read_all(store), context.now()))
    finally:
        await factory.aclose()
    found = {ids[entry.query_id]: _outcome(store, entry) for entry in result.ended}
    left = {ids[entry.query_id]: Outcome("failed", entry.reason) for entry in result.skipped}
    return left | found


def _outcome(store: Any, ended: QueryEnded) -> Outcome:
    return outcome_of(store, ended.session, ended.reason, ended.duration_s) if ended.session else Outcome("failed", ended.reason)


class _Counter:
    """An event listener that reports how many sessions have ended."""

    def __init__(self, ended: Callable[[int], None]) -> None:
        self._ended = ended
        self._done: set[str] = set()

    def __call__(self, _event: EventBase, state: SessionState) -> None:
        if state.ended and state.id not in self._done:
            self._done.add(state.id)
            self._ended(len(self._done))


def given_settings(reasoner: str | None, search: Iterable[str]) -> dict[str, Any]:
    """Return the settings for options of the command line."""
    providers = list(search)
    given: dict[str, Any] = {"search": providers} if providers else {}
    if reasoner:
        given["reasoner"] = reasoner if reasoner in ("auto", "extractive") else {"model": reasoner}
    return given
