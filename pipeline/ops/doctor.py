"""``research doctor``: a list of checks of settings, keys, services, files, clock and log. Findings are values.

``examine`` runs all that need no network; it prints and changes nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from jinja2 import Environment, TemplateSyntaxError

from pipeline.config.keys import ENV_FILE, Keys
from pipeline.config.network import pages_route, services_route
from pipeline.config.service_selection import (
    LOCAL,
    OPENAI,
    OPENROUTER,
    SEARCHES,
    ModelServer,
    embedding_server,
    reasoner_for,
    reranking_server,
    search_access,
    searches_for,
)
from pipeline.config.settings import QUEUE_FILE, Workspace, store_address
from pipeline.config.values import Settings
from pipeline.domain.events.json_codec import decode
from pipeline.errors import CorpusUnusable, LogError, ResearchError, UsageError
from pipeline.search.folders import Corpus
from pipeline.search.local_model import files_of, missing_packages
from pipeline.system.files import read_bytes
from pipeline.text.normalise import counted
from pipeline.text.redaction import SHORTEST
from pipeline.text.times import moment_of
from pipeline.wiring import workspace_adapters as w
from pipeline.wiring.search_adapters import local_model, thin_documents
from pipeline.wiring.store_adapters import file_store, refuse_missing_log, require_psycopg, store_of

_KEY_NAMES = (OPENROUTER.key_name, OPENAI.key_name, *(one.key_name for one in SEARCHES.values() if one.key_name))
_LEAST_FREE, _LITTLE_FREE = 50_000_000, 500_000_000  # bytes
_NEWEST = 200  # sessions that are read
_SLACK = timedelta(minutes=5)
_EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_APART_S = 5.0  # events of several machines are ordered by their clocks wherever one list shows them all
_ROLES = "research store init --print-roles prints the SQL that grants what is needed"


@dataclass(frozen=True, slots=True)
class Finding:
    """``ok`` needs no action, a ``note`` is worth knowing, a ``problem`` must be fixed: ``todo`` says how.

    ``exit_code`` is the command's exit code for a problem.
    """

    about: str
    level: Literal["ok", "note", "problem"]
    text: str
    todo: str = ""
    exit_code: int = 0


def ok(about: str, text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(about, "ok", text)


def note(about: str, text: str, todo: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(about, "note", text, todo)


def problem(about: str, text: str, todo: str, exit_code: int = 2) -> Finding:
    """Return a finding that must be fixed."""
    return Finding(about, "problem", text, todo, exit_code)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code of all findings: 20 (damaged log) first, then 2 (settings), 12 (system), 4 (refusal), 1."""
    codes = {finding.exit_code for finding in findings}
    return next((code for code in (20, 2, 12, 4, 1) if code in codes), 0)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is examined. ``now`` is the current time, with its zone."""

    workspace: Workspace
    keys: Keys
    now: datetime

    @property
    def settings(self) -> Settings:
        """The settings of the workspace."""
        return self.workspace.queue.settings

    @property
    def folder(self) -> Path:
        """The workspace's folder."""
        return self.workspace.folder


def examine(workspace: Workspace, keys: Keys, now: datetime) -> list[Finding]:
    """Run all checks that need no network. An error that a check meets is its finding."""
    queries = workspace.queue.queries
    findings = [ok("queue", f"queries.yaml is valid: {counted(len(queries), 'question')}")]
    subject = Subject(workspace, keys, now)
    for about, check in CHECKS:
        store = next((one for one in findings if one.about == "store"), None)
        if about in ("machines", "log") and store and store.level == "problem":
            continue
        try:
            findings += check(subject)
        except ResearchError as error:
            findings.append(problem(about, error.message, error.hint, error.exit_code))
    return findings


def answers_with_a_model(workspace: Workspace, keys: Keys) -> bool:
    """Return whether a model is set up, or is meant to be; then no other one is looked for."""
    try:
        return reasoner_for(workspace.queue.settings, keys).server is not None
    except UsageError:
        return True


def _keys(subject: Subject) -> Iterator[Finding]:
    for line, fault in subject.keys.faults.items():
        yield problem("keys", f"{ENV_FILE}:{line}: {fault}", "write NAME=value, one on a line")
    for name in _KEY_NAMES:
        try:
            found = subject.keys.find(name)
        except UsageError as error:
            yield problem("keys", error.message, error.hint)
            continue
        if found is not None:
            yield ok("keys", f"{name} is set, from {found.source}")
            if len(found.secret.reveal()) < SHORTEST:
                text = f"{name} could be mistaken for ordinary text, it is so short"
                yield note("keys", text, "it will not be removed from messages")


def _unencrypted(about: str, what: str, url: str, setting: str) -> Iterator[Finding]:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        yield problem(about, f"{what} goes to {url} unencrypted", f"write https:// in {setting}")


def _reasoner(subject: Subject) -> Iterator[Finding]:
    """Only OpenRouter reports costs; for other servers, caps in USD need prices in the settings. One without a key is free."""
    settings = subject.settings
    choice = reasoner_for(settings, subject.keys)
    server = choice.server
    yield ok("reasoner", f"{choice.name}{f' at {server.base_url}' if server else ''} ({choice.why})")
    if server is None or server.key is None:
        return
    yield from _unencrypted("reasoner", "the key", server.base_url, "base_url")
    if (settings.limits.cost_usd or settings.query_limits.cost_usd) is None:
        yield note("budget", "no cap in USD is set", "write limits: {cost_usd: 2.00} under settings")
    named = {server.model, *server.choice.fallback, *dict(server.choice.roles).values()}
    if server.name != OPENROUTER.name and (unpriced := named - dict(settings.prices).keys()):
        todo = "write prices: {model: {input: …, output: …}} under settings, in USD"
        yield note("budget", f"no price is known for {', '.join(sorted(unpriced))}", todo)


def _search(subject: Subject) -> Iterator[Finding]:
    settings = subject.settings
    choice = searches_for(settings.search, settings, subject.keys, w.documents_in(subject.workspace))
    yield ok("search", f"{choice.words} ({choice.why})")
    if settings.search == "auto" and LOCAL in choice.names and len(choice.names) > 1:
        web = ", ".join(name for name in choice.names if name != LOCAL)
        todo = f"to separate them, write search: [{LOCAL}] or search: [{web}], under settings or for single questions"
        yield note("search", "text of your documents can become part of web searches, nearly word for word", todo)
    for name in choice.names:
        access = search_access(name, settings, subject.keys)
        if access and access.key:
            yield from _unencrypted("search", f"the key of {name}", access.url, "search_urls")
    if not settings.contact and not {"wikipedia", "arxiv", "openalex"}.isdisjoint(choice.names):
        yield note("search", "requests name no contact address", "write contact: you@example.org under settings")


def _embeddings(subject: Subject) -> Iterator[Finding]:
    """What a hosted model is sent leaves this machine: the finding says where to."""
    settings = subject.settings
    server = embedding_server(settings, subject.keys)
    if server is None:
        model = local_model(settings, subject.keys, subject.folder)
        if model is None:
            missing = missing_packages() if settings.embeddings == "auto" else ""
            yield ok("embeddings", f"documents are searched by words only{f': {missing} is not installed' if missing else ''}")
            return
        files_of(model)
        text = f"{model.model} in this process: documents are searched by meaning too, and nothing is sent anywhere"
        yield ok("embeddings", text)
        return
    yield ok("embeddings", f"{server.model} at {server.base_url}; the text of your documents and stored pages is sent there")
    if server.key:
        yield from _unencrypted("embeddings", "the key", server.base_url, "base_url")
        if server.model not in dict(settings.prices):
            todo = f"write prices: {{{server.model}: {{input: …, output: 0}}}} under settings, in USD for a million tokens"
            yield note("embeddings", f"no price is known for {server.model}, so its cost is an assumption", todo)


def _reranker(subject: Subject) -> Iterator[Finding]:
    server: ModelServer | None = reranking_server(subject.settings, subject.keys)
    if server:
        yield ok("reranker", f"{server.model} at {server.base_url}; each search and its 50 best passages are sent there")


def _network(subject: Subject) -> Iterator[Finding]:
    services, pages = services_route(subject.settings, subject.keys), pages_route(subject.settings, subject.keys)
    for proxy in dict.fromkeys(services.proxies.values()):
        whose = "models, searches and pages" if pages.proxies else "models and searches"
        yield ok("network", f"{whose} are asked through the proxy {proxy.place}, from {proxy.source}")
    if services.unused:
        yield note("network", f"models and searches are asked without {services.unused}", "write http://HOST:PORT, or unset it")
    if pages.unused:
        todo = "if pages can be read no other way, write proxy: http://HOST:PORT under settings"
        yield note("network", f"pages are read without {pages.unused}", todo)
    if services.ca_file:
        yield ok("network", f"the authorities in {services.ca_file} vouch for servers too")


def _queries(subject: Subject) -> Iterator[Finding]:
    for query in subject.workspace.queue.queries:
        try:
            if query.model is not None:
                reasoner_for(subject.settings, subject.keys, query.model)
            if query.search is not None:
                searches_for(query.search, subject.settings, subject.keys)
        except UsageError as error:
            yield problem(f"query {query.id}", error.message, error.hint)


def _secret_files(subject: Subject) -> Iterator[Finding]:
    found = {subject.keys.folder / ENV_FILE}
    for name in subject.keys.names():
        try:
            key = subject.keys.find(name)
        except UsageError:
            continue  # the check of keys says so
        found |= {key.path} if key and key.path else set()
    files = sorted(path for path in found if path.is_file())
    for path in files:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield problem("keys", f"{path} can be read or written by others (mode {mode:03o})", f"chmod 600 {path}")
        else:
            yield ok("keys", f"{path} is readable by you alone")
    # Without links; ``Path.resolve`` raises at a link that leads to itself, before Python 3.13.
    real = {path: Path(os.path.realpath(path)) for path in files}
    inside = [path for path in files if real[path].is_relative_to(os.path.realpath(subject.folder))]
    if not inside or _git(subject.folder, "rev-parse", "--is-inside-work-tree") != 0:
        return
    for path in inside:
        if _git(subject.folder, "ls-files", "--error-unmatch", "--", str(real[path])) == 0:
            todo = f"git rm --cached {path.name}, list it in .gitignore, and get new keys: the old ones are in the history"
            yield problem("keys", f"{path} is tracked by git", todo)
        elif _git(subject.folder, "check-ignore", "-q", "--", str(real[path])) != 0:
            text = f"{path} is not ignored by git and would be added with the rest"
            yield problem("keys", text, f"list {path.name} in .gitignore")


def _git(folder: Path, *arguments: str) -> int:
    program = shutil.which("git")
    if program is None:
        return 127
    command = [program, "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode  # noqa: S603 - fixed words and a path


def _permissions(subject: Subject) -> Iterator[Finding]:
    """Anyone who can write settings, templates or the log controls what runs and where keys are sent."""
    names = (".", QUEUE_FILE, ENV_FILE, "templates", "templates/vault", "templates/prompts", "events", "events/sessions")
    paths = (subject.folder / name for name in names)
    writable = [path for path in paths if path.exists() and path.stat().st_mode & stat.S_IWOTH]
    for path in writable:
        yield problem("permissions", f"{path} can be written by everybody", f"chmod o-w {path}")
    if not writable:
        yield ok("permissions", "settings, templates and log are written by you alone")


def _disk(subject: Subject) -> Iterator[Finding]:
    free = shutil.disk_usage(subject.folder).free
    text = f"{free / 1e9:.1f} GB are free on the disk"
    if free < _LEAST_FREE:
        yield problem("disk", text, "free space: a run needs some tens of MB, and stops when it cannot record an event", 1)
    else:
        yield note("disk", text, "free space soon") if free < _LITTLE_FREE else ok("disk", text)


def _documents(subject: Subject) -> Iterator[Finding]:
    settings, workspace = subject.settings, subject.workspace
    try:
        wanted = LOCAL in searches_for(settings.search, settings, subject.keys, w.documents_in(workspace)).names
    except UsageError:
        wanted = False
    wanted = wanted or any(LOCAL in (query.search or ()) for query in workspace.queue.queries)
    try:
        found, skipped = w.corpus_files(workspace)
    except CorpusUnusable as error:
        yield problem("documents", error.message, error.hint) if wanted else note("documents", "there is no folder of documents")
        return
    for missing in Corpus(workspace.corpora).unusable():
        yield problem("documents", missing.message, missing.hint) if wanted else note("documents", missing.message)
    text = f"{counted(found, 'file')} in {', '.join(settings.corpus)}" + (f", {skipped} skipped" if skipped else "")
    if wanted and not found:
        yield problem("documents", text, "put documents there, or name another folder under settings: corpus:")
    else:
        yield ok("documents", text + ("" if wanted else "; not searched"))
    yield from (note("documents", thin) for thin in thin_documents(workspace))


def _templates(subject: Subject) -> Iterator[Finding]:
    roots = (w.templates_of(subject.folder), w.templates_of(subject.folder, "prompts"))
    paths = [path for root in roots for path in sorted(root.glob("*.j2"))]
    faults = 0
    for path in paths:
        try:
            Environment(autoescape=True).parse(read_bytes(path).decode())
        except (TemplateSyntaxError, OSError, UnicodeDecodeError) as error:
            faults += 1
            place = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
            todo = "correct it; templates/README.md lists the variables of each template"
            yield problem("templates", f"{path}{place}: {error}", todo)
    if not faults:
        yield ok("templates", f"{len(paths)} templates can be parsed")


def _store(subject: Subject) -> Iterator[Finding]:
    if not store_address(subject.folder):
        return
    require_psycopg()
    from pipeline.wiring import queue_adapters

    found, unused = queue_adapters.status_of_store(subject.folder), sum(1 for _ in file_store(subject.folder).ids("session"))
    place = f"database {found.database}, PostgreSQL {found.server}, as {found.role}"
    if found.is_copy:
        yield problem("store", f"{place}: the server is a read-only copy", "name the primary server in `store`", 12)
    elif not found.may_append:
        yield problem("store", f"{place}: the role may not append", _ROLES, 12)
    else:
        yield ok("store", f"{place}, {'which may also remove' if found.may_remove else 'which may append only'}")
        if found.may_remove:
            yield note("store", f"{found.role} can change and delete events", f"let nights run as a role that cannot: {_ROLES}")
    if not found.is_durable:
        todo = "set fsync and synchronous_commit to on"
        yield problem("store", "the server acknowledges before it has written: a power cut can lose events", todo, 12)
    if unused:
        todo = f"research store copy {subject.folder} ADDRESS --check says what the database lacks; then move events/ away"
        yield note("store", f"events/ has {counted(unused, 'session')} in files that are not in use", todo)


def _machines(subject: Subject) -> Iterator[Finding]:
    if not store_address(subject.folder):
        return
    require_psycopg()
    from pipeline.wiring import queue_adapters

    nights = queue_adapters.nights_of(subject.folder)
    try:
        ahead_s, workers, night, queue = nights.seconds_ahead(), nights.workers(), nights.unfinished(), nights.queue()
    finally:
        nights.disconnect()
    yield from machine_findings(ahead_s, workers)
    if night is not None:
        waiting, running = (sum(counts[place] for counts in queue.values()) for place in (0, 1))
        yield ok("machines", f"the night to {night.day} is not over: {counted(waiting, 'job')} waiting, {running} under way")


def machine_findings(ahead_s: float, workers: Sequence[str]) -> Iterator[Finding]:
    """Yield findings on a database's clock, and on the workers that are connected to it."""
    if abs(ahead_s) <= _MOST_APART_S:
        yield ok("machines", "the clocks of this machine and of the database agree")
    else:
        todo = "let both set their clocks by NTP; the times in notes and logs are those of the machine that did the work"
        word = "ahead of" if ahead_s > 0 else "behind"
        yield note("machines", f"the database's clock is {abs(ahead_s):.0f} s {word} this machine's", todo)
    for name, count in Counter(workers).items():
        again = f"{count} workers go by the name {name}; RESEARCH_MACHINE gives a worker another name"
        yield ok("machines", f"a worker on {name}" if count == 1 else again)
    if not workers:
        yield ok("machines", "no worker is connected: research work starts one")


def _log(subject: Subject) -> Iterator[Finding]:
    """Read the newest sessions, but no stored pages (``research verify`` checks all); and compare the clock with them."""
    store = store_of(subject.folder)
    names = sorted(store.ids("session"), reverse=True)
    newest: datetime | None = None
    faults = 0
    try:
        refuse_missing_log(subject.folder)
    except LogError as error:
        faults += 1
        yield problem("log", error.message, error.hint, error.exit_code)
    for name in islice(names, _NEWEST):
        try:
            records = store.load(name)
            for record in (record for record in records if record.type == "run.started"):
                decode(record.data)  # it names the program's schema
            newest = max([*(moment_of(record.at) for record in records[-1:]), *([newest] if newest else [])], default=None)
        except ValueError:
            faults += 1
            yield problem("log", f"{name}: the time of its last record is not valid", "research verify lists all damage", 20)
        except LogError as error:
            faults += 1
            yield problem("log", f"{name}: {error.message}", error.hint or "research verify lists all damage", error.exit_code)
    if not faults:
        read = min(len(names), _NEWEST)
        yield ok("log", f"{read} of {counted(len(names), 'session')} read, none damaged" if names else "no session yet")
    now, file = subject.now, subject.workspace.queue_file
    changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    todo = "set the clock: deadlines, recurrence and the order of events depend on it"
    if now < _EARLIEST:
        yield problem("clock", f"it says {now:%Y-%m-%d}, before this program was written", todo, 1)
    elif newest is not None and newest > now + _SLACK:
        text = f"it says {now:%Y-%m-%d %H:%M} UTC, but the log has an event of {newest:%Y-%m-%d %H:%M} UTC"
        yield problem("clock", text, todo, 1)
    elif changed > now + _SLACK:
        yield note("clock", f"{file.name} was changed in the future, {changed:%Y-%m-%d %H:%M} UTC", todo)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC is plausible")


CHECKS: tuple[tuple[str, Callable[[Subject], Iterator[Finding]]], ...] = (
    ("keys", _keys),
    ("reasoner", _reasoner),
    ("search", _search),
    ("embeddings", _embeddings),
    ("reranker", _reranker),
    ("network", _network),
    ("queue", _queries),
    ("keys", _secret_files),
    ("permissions", _permissions),
    ("disk", _disk),
    ("documents", _documents),
    ("templates", _templates),
    ("store", _store),
    ("machines", _machines),
    ("log", _log),
)
