"""Checks of files and folders: permissions, keys that git tracks, disk space, documents and templates."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipeline.config.keys import ENV_FILE, Keys
from pipeline.config.service_selection import LOCAL, searches_for
from pipeline.config.settings import QUEUE_FILE, Workspace
from pipeline.errors import CorpusUnusable, UsageError
from pipeline.ops.doctor.finding import Finding, note, ok, problem
from pipeline.system.files import read_bytes
from pipeline.text.normalise import counted

LEAST_FREE = 50_000_000
LITTLE_FREE = 500_000_000


def file_findings(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    """Yield the findings on the workspace's files and folders."""
    secret_files = _secret_files(keys)
    for path in secret_files:
        yield from _secrecy(path)
    yield from _writable(workspace.folder)
    yield from _git(workspace.folder, secret_files)
    yield from _space(workspace.folder)
    yield from _corpus(workspace, keys)
    yield from _templates(workspace.folder)


def _secret_files(keys: Keys) -> list[Path]:
    found = {keys.folder / ENV_FILE}
    for name in keys.names():
        try:
            key = keys.find(name)
        except UsageError:
            continue
        if key is not None and key.path is not None:
            found.add(key.path)
    return sorted(path for path in found if path.is_file())


def _secrecy(path: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield problem("keys", f"{path} can be read or written by others (mode {mode:03o})", f"chmod 600 {path}")
    else:
        yield ok("keys", f"{path} is readable by you alone")


def _writable(folder: Path) -> Iterator[Finding]:
    """Anyone who can write settings, templates or the log controls what runs and where keys are sent."""
    names = (".", QUEUE_FILE, ENV_FILE, "templates", "templates/vault", "templates/prompts", "events", "events/sessions")
    open_ = [path for name in names if (path := folder / name).exists() and path.stat().st_mode & stat.S_IWOTH]
    for path in open_:
        yield problem("permissions", f"{path} can be written by everybody", f"chmod o-w {path}")
    if not open_:
        yield ok("permissions", "settings, templates and log are written by you alone")


def _real(path: Path) -> Path:
    """The path without links. ``Path.resolve`` raises at a link that leads to itself, before Python 3.13; this does not."""
    return Path(os.path.realpath(path))


def _git(folder: Path, secret_files: list[Path]) -> Iterator[Finding]:
    inside = [path for path in secret_files if _real(path).is_relative_to(_real(folder))]
    if not inside or _git_says(folder, "rev-parse", "--is-inside-work-tree") != 0:
        return
    for path in inside:
        if _git_says(folder, "ls-files", "--error-unmatch", "--", str(_real(path))) == 0:
            todo = f"git rm --cached {path.name}, list it in .gitignore, and get new keys: the old ones are in the history"
            yield problem("keys", f"{path} is tracked by git", todo)
        elif _git_says(folder, "check-ignore", "-q", "--", str(_real(path))) != 0:
            yield problem(
                "keys", f"{path} is not ignored by git and would be added with the rest", f"list {path.name} in .gitignore"
            )


def _git_says(folder: Path, *arguments: str) -> int:
    program = shutil.which("git")
    if program is None:
        return 127
    command = [program, "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode  # noqa: S603 - fixed words and a path


def _space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB are free on the disk"
    if free < LEAST_FREE:
        yield problem("disk", text, "free space: a run needs some tens of MB, and stops when it cannot record an event", 1)
    else:
        yield note("disk", text, "free space soon") if free < LITTLE_FREE else ok("disk", text)


def _corpus(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    from pipeline.wiring.workspace_adapters import corpus_files, documents_in, thin_documents, unusable_folders

    settings = workspace.queue.settings
    try:
        wanted = LOCAL in searches_for(settings.search, settings, keys, documents_in(workspace)).names
    except UsageError:
        wanted = False
    wanted = wanted or any(LOCAL in (query.search or ()) for query in workspace.queue.queries)
    try:
        found, skipped = corpus_files(workspace)
    except CorpusUnusable as error:
        yield problem("documents", error.message, error.hint) if wanted else note("documents", "there is no folder of documents")
        return
    for missing in unusable_folders(workspace):
        yield problem("documents", missing.message, missing.hint) if wanted else note("documents", missing.message)
    text = f"{counted(found, 'file')} in {', '.join(settings.corpus)}" + (f", {skipped} skipped" if skipped else "")
    if wanted and not found:
        yield problem("documents", text, "put documents there, or name another folder under settings: corpus:")
    else:
        yield ok("documents", text + ("" if wanted else "; not searched"))
    for thin in thin_documents(workspace):
        yield note("documents", thin)


def _templates(folder: Path) -> Iterator[Finding]:
    from jinja2 import Environment, TemplateSyntaxError

    from pipeline.wiring.workspace_adapters import prompts_of, templates_of

    paths = [path for root in (templates_of(folder), prompts_of(folder)) for path in sorted(root.glob("*.j2"))]
    faults = 0
    for path in paths:
        try:
            Environment(autoescape=True).parse(read_bytes(path).decode())
        except (TemplateSyntaxError, OSError, UnicodeDecodeError) as error:
            faults += 1
            place = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
            yield problem(
                "templates", f"{path}{place}: {error}", "correct it; templates/README.md lists the variables of each template"
            )
    if not faults:
        yield ok("templates", f"{len(paths)} templates can be parsed")
