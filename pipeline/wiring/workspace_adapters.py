"""Builds the adapters of a workspace from its settings: store, HTTP, search, vault, site. Imports heavy modules on first use."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline import __version__
from pipeline.config import workspace_files
from pipeline.config.keys import Keys
from pipeline.config.network import services_route
from pipeline.config.service_selection import Documents, agent_of, own_servers, requests_at_once, search_access
from pipeline.config.settings import Workspace, environment
from pipeline.config.values import Settings
from pipeline.errors import CorpusUnusable, SystemRefused, TemplateInvalid, UsageError
from pipeline.store.caches import Summaries
from pipeline.system import files
from pipeline.text.normalise import one_line
from pipeline.wiring.store_adapters import (
    copy_log,
    lock_of,
    refuse_missing_log,
    repair_log,
    store_of,
    undecodable,
    verify_log,
)

if TYPE_CHECKING:
    from pipeline.documents.extractor import Extractor
    from pipeline.domain.events.session_events import EventBase, RunStarted
    from pipeline.engine.run_context import Listener, RunContext
    from pipeline.net.client import HttpClient
    from pipeline.ports.distribution import SharedPace
    from pipeline.search.model_servers import Reranker
    from pipeline.search.passage_search import PassageSearch
    from pipeline.search.several import FallbackChain, Member
    from pipeline.search.vectors import Meaning
    from pipeline.site.files import SiteReport
    from pipeline.site.serve import Server
    from pipeline.vault import BuildReport
    from pipeline.vault.build import Mode
    from pipeline.vault.identity.said import AskedLine
    from pipeline.vault.kept import KnownNote
    from pipeline.vault.paths import Workers

R = TypeVar("R")
_log = logging.getLogger("pipeline.wiring")

__all__ = [  # what is built elsewhere and belongs to a workspace too
    "copy_log",
    "lock_of",
    "refuse_missing_log",
    "repair_log",
    "store_of",
    "undecodable",
    "verify_log",
]

MACHINE = "RESEARCH_MACHINE"  # the variable that holds the name by which others know this machine


def summaries_of(folder: Path, *, writable: bool = True) -> Summaries:
    """Return the cache of session summaries."""
    return Summaries(folder / "events" / "local" / "summaries.sqlite", writable=writable)


def remember_run(folder: Path, account: Mapping[str, Any]) -> None:
    """Write the outcome of the last run to ``events/local/last-run.json`` for monitors, atomically.

    Raises:
        OSError: the disk refuses.
    """
    local = folder / "events" / "local"
    files.replace(local / "last-run.json", f"{json.dumps(account, ensure_ascii=False, indent=2)}\n".encode(), local / "tmp")


def last_run(folder: Path) -> dict[str, Any]:
    """Return what ``remember_run`` put there, empty if that cannot be read."""
    try:
        found = json.loads(files.read_bytes(folder / "events" / "local" / "last-run.json"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def documents_of(
    workspace: Workspace,
    meaning: Meaning | None = None,
    extractor: Extractor | None = None,
    reranker: Reranker | None = None,
) -> PassageSearch:
    """Return the search over the workspace's own documents."""
    from pipeline.search.passage_search import PassageSearch

    file = index_file(workspace.folder)
    return PassageSearch(file, workspace.corpora, meaning=meaning, reranker=reranker, extractor=extractor)


def index_file(folder: Path) -> Path:
    """Return the path of a workspace's index of passages."""
    from pipeline.search.index import FILE

    return folder / "events" / "local" / FILE


def http_of(settings: Settings, keys: Keys) -> HttpClient:
    """Return the client for models and providers; what the user named may lie in a private network. Close it when done."""
    from pipeline.net.client import SERVICES, HttpClient
    from pipeline.net.guard import AddressGuard

    return HttpClient(
        SERVICES,
        at_once=settings.limits.concurrency,
        at_once_at=requests_at_once(settings, keys),
        guard=AddressGuard(own_servers(settings, keys)),
        route=services_route(settings, keys),
    )


class Searches:
    """The searches that settings and queries name. Each is made once, so that all queries of a night share its pace and fate.

    Belongs to one event loop; ``documents`` is the search called ``local``.
    """

    def __init__(
        self, settings: Settings, keys: Keys, http: HttpClient, documents: PassageSearch, pace: SharedPace | None = None
    ) -> None:
        from pipeline.search.several import Member

        self._settings, self._keys, self._http, self._pace = settings, keys, http, pace
        self._members = {"local": Member(documents)}

    def chain(self, names: Iterable[str]) -> FallbackChain:
        """Return the search that asks ``names`` in order of preference.

        Raises:
            UsageError: one of them needs a key or an address which is not set.
        """
        from pipeline.search.several import FallbackChain

        return FallbackChain([self._member(name) for name in names])

    def _member(self, name: str) -> Member:
        from pipeline.search.providers import web_search
        from pipeline.search.several import Member

        if name not in self._members and (access := search_access(name, self._settings, self._keys)):
            headers = {"user-agent": agent_of(self._settings)}
            search = web_search(name, access.url, access.key, self._http, headers, self._pace)
            self._members[name] = Member(search, price=search.price)
        return self._members[name]


def thin_documents(workspace: Workspace) -> list[str]:
    """Return what lacks much of its text among the documents that are indexed, as the last refresh found them."""
    thin = documents_of(workspace).thin() if index_file(workspace.folder).is_file() else ()
    return [f"{workspace.document_name(one.path)}: {one.reason}" for one in thin]


def corpus_files(workspace: Workspace) -> tuple[int, int]:
    """Count the documents in the workspace's folders, and the files there that are skipped; nothing is indexed.

    Raises:
        CorpusUnusable: no folder can be used: each is missing or cannot be listed.
    """
    from pipeline.search.folders import Corpus, FoundFile

    corpus = Corpus(workspace.corpora)
    files = list(corpus.scan())
    found = sum(isinstance(file, FoundFile) for file in files)
    return found, len(files) - found - len(corpus.unusable())


def unusable_folders(workspace: Workspace) -> list[CorpusUnusable]:
    """Return why folders of documents cannot be used; empty if all can."""
    from pipeline.search.folders import Corpus

    return Corpus(workspace.corpora).unusable()


def documents_in(workspace: Workspace) -> Documents:
    """Return whether the workspace's folder holds documents of the user's own, or only those that ``research init`` copies."""
    from pipeline.search.folders import FoundFile, path_of, scan

    found: Documents = "none"
    try:
        for folder in workspace.corpora:
            for file in scan(folder):
                if isinstance(file, FoundFile):
                    name = path_of(file.url)
                    if not workspace_files.is_sample(name, folder / name):
                        return "own"
                    found = "samples"
    except (CorpusUnusable, OSError):
        return found
    return found


def prompts_of(folder: Path) -> Path:
    """Return the workspace's own prompt templates, or those that came with the program if it has none."""
    return _templates(folder, "prompts")


def supplied_prompts() -> Path:
    """Return the prompt templates that came with the program."""
    return workspace_files.source() / "templates" / "prompts"


def _templates(folder: Path, part: str) -> Path:
    own = folder / "templates" / part
    return own if own.is_dir() else workspace_files.source() / "templates" / part


def context_of(workspace: Workspace, listener: Listener, redact: Callable[[bytes], bytes] = lambda data: data) -> RunContext:
    """Return the context of one run of this process."""
    from pipeline.engine.run_context import RunContext

    run_id, snapshot_every = secrets.token_hex(8), workspace.queue.settings.snapshot_every
    agent = _agent_of(workspace.folder, machine_of(workspace.queue.settings))
    return RunContext(run_id, agent, snapshot_every=snapshot_every, listener=listener, redact=redact)


def _agent_of(folder: Path, machine: str) -> RunStarted:
    """The event that says which process on which machine records what follows."""
    from pipeline.domain.events.session_events import RunStarted

    return RunStarted(
        host=socket.gethostname(),
        process=os.getpid(),
        program=f"night-research {__version__}",
        branch=git_branch(folder),
        agent=machine,
    )


def machine_of(settings: Settings) -> str:
    """Return the name of this computer in the log: from the environment, else from the settings, else its host name."""
    return one_line(environment().get(MACHINE, ""), 100) or settings.machine or socket.gethostname()


def git_branch(folder: Path) -> str:
    """Return the branch that the folder's git checkout is on, or "" (none, or detached)."""
    place = Path(os.path.realpath(folder))
    for parent in (place, *place.parents):
        head = parent / ".git" / "HEAD"
        if head.is_file():
            try:
                name = files.read_bytes(head, 1_000).decode().strip()
            except (OSError, UnicodeDecodeError):
                return ""
            return name.removeprefix("ref: refs/heads/") if name.startswith("ref: ") else ""
    return ""


def templates_of(folder: Path) -> Path:
    """Return the workspace's own templates, or those that came with the program if it has none."""
    return _templates(folder, "vault")


def build(folder: Path, mode: Mode = "new", workers: Workers = "notes", documents: Path | None = None) -> BuildReport:
    """Bring the vault up to date with the events; ``mode``, ``workers`` and ``documents`` as in ``build_vault``.

    Templates of an earlier version of the program give way (``_with_templates_of_now``).

    Raises:
        TemplateInvalid: a template is faulty; no note was changed.
        LogError: a session's log cannot be read.
        SystemRefused: the disk refuses.
        UsageError: the vault is a link into the log.
    """
    from pipeline.vault import build_vault

    refuse_missing_log(folder)
    _refuse_inside_the_log(folder, "vault")
    if mode != "check":
        workspace_files.restore_vault(folder)
    make = partial(
        build_vault,
        store_of(folder),
        templates=templates_of(folder),
        vault=folder / "vault",
        state_dir=folder / "events" / "local",
        mode=mode,
        record=lambda drafts: record_decisions(folder, drafts),
        workers=workers,
        documents=documents,
    )
    return make() if mode == "check" else _with_templates_of_now(folder, make)


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
    from pipeline.config.workspace_files import set_aside, update_templates

    try:
        done = update_templates(folder)
        if changed := [*done.updated, *done.added, *done.removed]:
            _log.info("templates of an earlier version were replaced: %s", ", ".join(changed))
    except SystemRefused as error:  # a folder that may only be read: its templates may fit all the same
        _log.warning("the templates are as they were: %s", error.message)
    while True:
        try:
            return make()
        except TemplateInvalid as error:
            copy = set_aside(folder, error.message)
            if not copy:
                raise
            _log.warning(
                "an edited template of an earlier version no longer fits; it is now templates/%s: %s", copy, error.message
            )


def record_decisions(folder: Path, drafts: Sequence[EventBase]) -> None:
    """Store what a person decided about notes as a stream of its own, so that streams of several machines never conflict.

    Raises:
        LogError: it could not be stored.
    """
    from pipeline.domain.session import record_of, stamped
    from pipeline.text.times import timestamp

    at, run = timestamp(datetime.now(UTC)), secrets.token_hex(8)
    stream = f"vault-{at[:19].replace(':', '').lower()}-{run[:6]}"
    events = enumerate((_agent_of(folder, machine_of(Settings())), *drafts), 1)
    records = [record_of(stamped(event, stream, version, run, secrets.token_hex(8), at)) for version, event in events]
    store = store_of(folder)
    try:
        store.append(stream, records, 0)
    finally:
        store.release(stream)


def notes_of(folder: Path) -> list[KnownNote]:
    """Return the notes of the vault as the last build left them, sorted by id."""
    from pipeline.vault.kept import notes_in

    return notes_in(folder / "events" / "local")


def report_of(folder: Path) -> Callable[[str], str]:
    """Return a function from a session to the path of its report in the workspace, "" if there is none."""
    from pipeline.vault.kept import report_paths

    paths = report_paths(folder / "events" / "local")

    def report(session: str) -> str:
        path = f"vault/{paths[session]}" if session in paths else ""
        return path if path and (folder / path).exists() else ""

    return report


def source_notes(folder: Path, urls: Iterable[str]) -> dict[str, str]:
    """Return the paths in the workspace of the notes of these sources, by address; those without a note are left out."""
    from pipeline.vault.kept import source_paths

    paths = source_paths(folder / "events" / "local", urls)
    return {url: note for url, path in paths.items() if (folder / (note := f"vault/{path}.md")).exists()}


def questions_in_notes(folder: Path) -> list[AskedLine]:
    """Return the questions that a person wrote into their own blocks of the vault's notes."""
    from pipeline.vault.identity.said import asked_lines

    return asked_lines(folder / "vault")


def build_site(folder: Path, url: str, *, everything: bool = False) -> SiteReport:
    """Bring the site up to date with the vault; ``url`` as in ``pipeline.site.build.build_site``.

    Raises:
        TemplateInvalid: a template is faulty; the site is as it was.
        ResearchError: the disk refuses.
    """
    from pipeline.site.build import build_site
    from pipeline.site.files import Folders

    _refuse_inside_the_log(folder, "site")

    folders = Folders(folder / "vault", _templates(folder, "site"), folder / "site", folder / "events" / "local")
    make = partial(build_site, folders, url=url, everything=everything, hidden=_hidden_notes(folder))
    return _with_templates_of_now(folder, make)


def _hidden_notes(folder: Path) -> set[str]:
    """The ids of the notes that are left out because a person hid a report, with the sources that only hidden reports cite."""
    hidden = {note.id for note in notes_of(folder) if not note.path}
    sessions = {name.removeprefix("report:") for name in hidden if name.startswith("report:")}
    if not sessions:
        return set()
    from pipeline.vault.model import stored_cards
    from pipeline.vault.output.files import note_id

    cards = stored_cards(folder / "events" / "local")
    shown = {one.page.url for card in cards if card.id not in sessions for one in card.read if one.cited}
    read = {one.page.url for card in cards if card.id in sessions for one in card.read}
    return hidden | {note_id(f"source:{url}", "source") for url in read - shown}


def rate(folder: Path, note: str, block: str, rating: str) -> None:
    """Record what a person called useful or wrong: a quote of a report, given by the report's path and the quote's block id.

    Raises:
        UsageError: there is no such report or quote.
    """
    from pipeline.domain.events.stream_events import NoteRated
    from pipeline.vault.model import folded
    from pipeline.vault.paths import block_id

    found = next((one.id for one in notes_of(folder) if one.path == note and one.kind == "report"), "")
    session = found.removeprefix("report:")
    state = folded(session, (record.data for record in store_of(folder).load(session)))[0] if found else None
    fact = next((one for one in state.facts.values() if block_id(one.id) == block), None) if state else None
    if state is None or fact is None:
        raise UsageError(f"{note} has no quote {block}")
    about = {"query_id": state.query_id, "fact": fact.id, "url": fact.url}
    record_decisions(folder, [NoteRated.model_validate({"note": found, "rating": rating, **about})])


def server_of(folder: Path, port: int, host: str = "127.0.0.1") -> Server:
    """Return the server of the workspace's site; on another address than this machine's own it asks for a token.

    Raises:
        UsageError: the port cannot be used.
        QueueInvalid: there is no valid queue.
    """
    from urllib.parse import urlsplit

    from pipeline.config.settings import load_workspace
    from pipeline.site.serve import Server

    base = urlsplit(load_workspace(folder).queue.settings.site_url).path
    return Server(folder / "site", port, base, host, partial(rate, folder))
