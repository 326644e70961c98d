"""Builds a workspace's vault and web site from its log and templates. It imports nothing that researches."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from pipeline.batch.session_index import read_all
from pipeline.config import workspace_starter
from pipeline.config.vault_queue import QUEUE_NOTE, linked
from pipeline.config.workspace_settings import Workspace
from pipeline.domain.summary import Summary
from pipeline.errors import SystemRefused, TemplateInvalid, UsageError
from pipeline.site import build_if_changed as site
from pipeline.site.paths import Folders, SiteReport
from pipeline.system.manifest import Obstacle, Tree
from pipeline.text.cleaning import spelling_free
from pipeline.vault import BuildReport, build_vault
from pipeline.vault.build_cache import notes_in, paths_of
from pipeline.vault.build_if_changed import Mode
from pipeline.wiring.store_adapters import refuse_missing_log, store_of, summaries_of

R = TypeVar("R")
_log = logging.getLogger("pipeline.wiring")


def templates_of(folder: Path, part: str = "vault") -> Path:
    """Return the workspace's own templates of a part (``vault``, ``site``, ``prompts``), or those that came with the program."""
    own = folder / "templates" / part
    return own if own.is_dir() else workspace_starter.source() / "templates" / part


def build(folder: Path, mode: Mode = "new", documents: Path | None = None) -> BuildReport:
    """Bring the vault up to date with the events; ``mode`` and ``documents`` as in ``build_vault``.

    Templates of an earlier version of the program give way (``_with_templates_of_now``).

    Raises:
        TemplateInvalid: a template is faulty; no note was changed.
        LogError: a session's log cannot be read.
        SystemRefused: the disk refuses.
        UsageError: the vault is a link into the log.
    """
    refuse_missing_log(folder)
    _refuse_inside_the_log(folder, "vault")
    writes = mode in ("new", "first", "all")
    if writes and not os.path.lexists(folder / "vault" / ".obsidian"):
        workspace_starter.lay_out(folder, "vault")

    def record(drafts: Any) -> None:
        from pipeline.wiring.run_context_and_note_ratings import (
            record_decisions,  # only after a decision: it takes longer than such a build
        )

        record_decisions(folder, drafts)

    make = partial(
        build_vault,
        store_of(folder),
        templates=templates_of(folder),
        vault=folder / "vault",
        state_dir=folder / "events" / "local",
        mode=mode,
        record=record,
        documents=documents,
    )
    return _with_templates_of_now(folder, make) if writes else make()


def link_reports(workspace: Workspace) -> list[str]:
    """Link each question in the vault's queue to its newest report; return what was left alone, and why.

    What to link follows from the log alone, so a run that was killed is made good by the next run or build, and a second pass
    changes nothing. A note that changes meanwhile is left to the next build.
    """
    folder, queries = workspace.folder, workspace.queue.queries
    vault = folder / "vault"
    if workspace.queue.settings.vault_queue == "ignore" or not (vault / QUEUE_NOTE).exists():
        return []
    by_block = {query.id: query for query in queries if query.file}
    by_text = {spelling_free(query.text): query for query in queries}

    @cache
    def reported() -> list[tuple[Summary, str]]:  # with their paths, the latest first; they are read only for the first question
        report, known = report_of(folder), read_all(store_of(folder), summaries_of(folder))
        ended = ((one, report(one.id)) for one in known.sessions if one.outcome)
        found = [(one, path.removeprefix("vault/").removesuffix(".md")) for one, path in ended if path]
        return sorted(found, key=lambda one: (one[0].started_at, one[0].id), reverse=True)

    def find(text: str, identity: str) -> tuple[str, str] | None:
        query = by_block.get(identity) or by_text.get(spelling_free(text))
        latest, path = next((one for one in reported() if query and one[0].query_id == query.id), (None, ""))
        if latest is None or spelling_free(latest.query) != spelling_free(text):
            return None  # edited since: not researched yet
        return path, f"{'Not found' if latest.outcome == 'not-found' else 'Report'}, {latest.started_at[:10]}"

    with closing(Tree(vault)) as tree:
        try:
            data = tree.read(QUEUE_NOTE) or b""
            fresh = linked(data.decode("utf-8"), find).encode()
            if fresh != data and tree.read(QUEUE_NOTE) == data:
                tree.write(QUEUE_NOTE, fresh, durable=True)
        except (Obstacle, OSError, UnicodeDecodeError) as error:
            return [f"{QUEUE_NOTE}: its questions are not linked to their reports: {error}"]
    return []


def _refuse_inside_the_log(folder: Path, made: str) -> None:
    """Check that what is made is not made among the events, through a link: it would be taken for a part of the log.

    Raises:
        UsageError: it would be.
    """
    log, place = (Path(os.path.realpath(folder / name)) for name in ("events", made))
    if place.is_relative_to(log) or log.is_relative_to(place):
        hint = "let it be a folder of its own, or a link to a folder elsewhere"
        raise UsageError(f"{folder / made} leads to {place}, which holds the event log or is in it", hint=hint)


def _with_templates_of_now(folder: Path, make: Callable[[], R]) -> R:
    """Make the notes or pages with the templates of this version.

    Those of an earlier one that nobody edited give way; an edited one of an earlier version that no longer fits is set aside.
    """
    try:
        done = workspace_starter.update_templates(folder)
        if changed := [*done.updated, *done.added, *done.removed]:
            _log.info("templates of an earlier version were replaced: %s", ", ".join(changed))
    except SystemRefused as error:  # a folder that may only be read: its templates may fit all the same
        _log.warning("the templates are as they were: %s", error.message)
    while True:
        try:
            return make()
        except TemplateInvalid as error:
            copy = workspace_starter.set_aside(folder, error.message)
            if not copy:
                raise
            _log.warning(
                "an edited template of an earlier version no longer fits; it is now templates/%s: %s", copy, error.message
            )


def report_of(folder: Path) -> Callable[[str], str]:
    """Return a function from a session to the path of its report in the workspace, "" if there is none."""
    paths = paths_of(folder / "events" / "local", "report")

    def report(session: str) -> str:
        path = f"vault/{paths[session]}.md" if session in paths else ""
        return path if path and (folder / path).exists() else ""

    return report


def source_notes(folder: Path, urls: Iterable[str]) -> dict[str, str]:
    """Return the paths in the workspace of the notes of these sources, by address; those without a note are left out."""
    paths = paths_of(folder / "events" / "local", "source")
    return {url: note for url in urls if url in paths and (folder / (note := f"vault/{paths[url]}.md")).exists()}


def build_site(folder: Path, url: str, vault: BuildReport | None = None, *, everything: bool = False) -> SiteReport:
    """Bring the site up to date with the vault; ``url`` as in ``pipeline.site.build_if_changed.build_site``.

    ``vault`` is the report of the vault's build just before.

    Raises:
        TemplateInvalid: a template is faulty; the site is as it was.
        ResearchError: the disk refuses.
    """
    _refuse_inside_the_log(folder, "site")
    local, found = folder / "events" / "local", vault.found if vault else {}
    folders = Folders(folder / "vault", templates_of(folder, "site"), folder / "site", local, found)
    hidden = {note.id for note in notes_in(local) if not note.path}
    if any(name.startswith("report:") for name in hidden):
        from pipeline.wiring.run_context_and_note_ratings import with_their_sources

        hidden = with_their_sources(folder, hidden)
    make = partial(site.build_site, folders, url=url, everything=everything, hidden=hidden)
    return _with_templates_of_now(folder, make)
