"""What several commands share: types of their values, a session by its name, building vault and site and reporting problems."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from pipeline.batch.session_index import SessionIndex, read_all
from pipeline.config.workspace_settings import QUEUE_FILE, Workspace, load_workspace, store_address
from pipeline.domain.events.stream_records import kind_of
from pipeline.errors import ExitCode, NoWorkspace, ResearchError, SessionUnknown
from pipeline.ops.console_output import PRINTED, Console, note_damage
from pipeline.ports import EventStore
from pipeline.text.cleaning import digest_of
from pipeline.text.humanize import first_few
from pipeline.text.times import length_of
from pipeline.vault import BuildReport, Mode
from pipeline.wiring import vault_and_site
from pipeline.wiring.store_adapters import store_of, summaries_of

_log = logging.getLogger("pipeline.cli.arguments_and_builds")


def read_sessions(console: Console, store: EventStore, *, read_only: bool = False, again: bool = False) -> SessionIndex:
    """Return a summary of every session; print which sessions cannot be read, unless they are read ``again``.

    ``read_only``: do not write the summary cache.
    """
    known = read_all(store, summaries_of(console.folder), writable=not read_only)
    note_damage(known.damaged.values())
    for error in () if again else known.damaged.values():
        console.say(f"cannot be read: {error.message}\n  → {error.hint or 'research verify'}", fg="red")
    return known


def session_named(folder: Path, store: EventStore, name: str) -> str:
    """Return the id of the session that a name means: a session's id, a query's id (its latest session), or part of one of them.

    Raises:
        SessionUnknown: no session matches, or several do.
    """
    ids = list(store.ids("session"))
    if name in ids:
        return name
    if imported := import_named(store, name):
        hint = f"no command cites it; research show {imported} and research log {imported} print it"
        raise SessionUnknown(f"{imported} was imported from another program and is not checked", hint=hint)
    if at := store.tombstones().forgotten.get(digest_of(name.encode("utf-8", "replace"))):
        raise SessionUnknown(f"that session was forgotten on {at[:10]}", hint="research list shows all others")
    latest = read_all(store, summaries_of(folder)).latest()
    found = {summary.id for query, summary in latest.items() if query.startswith(name)}
    found = {latest[name].id} if name in latest else found or {known for known in ids if name in known}
    if len(found) == 1:
        return found.pop()
    meant = f"could be any of: {', '.join(sorted(found)[:5])}" if found else "research list shows all sessions"
    raise SessionUnknown(f"there is no session {name!r}" if not found else f"{name!r} is ambiguous", hint=meant)


def reported_session(console: Console, store: EventStore, name: str) -> str:
    """Return the id of the session that a name means; of a question, the latest that has a report or found nothing.

    Print which one it is if a later one is unfinished or failed. Raises as ``session_named``.
    """
    latest = older = session_named(console.folder, store, name)
    known = {} if name == latest else {one.id: one for one in read_all(store, summaries_of(console.folder)).sessions}
    while older in known and known[older].status not in ("complete", "not-found"):
        older = known[older].previous_session
    if older == latest or older not in known:
        return latest
    console.say(f"{latest} has no report yet: this is of {older}")
    return older


def import_named(store: EventStore, name: str) -> str:
    """Return the id of the import that a name means: its id, or a part of one that begins with ``import-``; "" for none."""
    if kind_of(name) != "import":
        return ""
    ids = list(store.ids("import"))
    found = [name] if name in ids else [known for known in ids if name in known]
    return found[0] if len(found) == 1 else ""


def latest_session(folder: Path, store: EventStore) -> str:
    """Return the id of the session that started last.

    Raises:
        SessionUnknown: there is no session.
    """
    known = read_all(store, summaries_of(folder)).sessions
    if not known:
        raise SessionUnknown("there is no session yet", hint="research run starts one")
    return max(known, key=lambda summary: (summary.started_at, summary.id)).id


def require_workspace(folder: Path) -> None:
    """Check that the folder has a ``queries.yaml``.

    Raises:
        NoWorkspace: it has none.
    """
    if not (folder / QUEUE_FILE).exists():
        raise NoWorkspace(folder)


def workspace_store(folder: Path) -> EventStore:
    """Return the store of a workspace's log.

    Raises:
        NoWorkspace: the folder is none.
    """
    require_workspace(folder)
    return store_of(folder)


class BuildProblem(NamedTuple):
    """Why the vault or the site is not up to date, what to do next, and the exit code for it."""

    part: Literal["vault", "site"]
    reason: str
    hint: str
    exit_code: int = ExitCode.FAILED


def bring_up_to_date(console: Console, workspace: Workspace) -> int:
    """Build the vault, and the site from it; report problems. Return the exit code of the first, 0 if there is none."""
    return report_build_problems(console, try_builds(console, workspace))


def try_builds(console: Console, workspace: Workspace) -> list[BuildProblem]:
    """Build the vault, and the site from it; return the problems. Raises nothing, and prints only notices."""
    problems: list[BuildProblem] = []

    def attempt(part: Literal["vault", "site"], make: Callable[[], Any]) -> Any:
        try:
            report = make()
        except ResearchError as error:
            problems.append(BuildProblem(part, error.message, error.hint or "research build", error.exit_code))
            return None
        except Exception as error:  # noqa: BLE001 - the research is done, so its outcome is reported whatever the build does
            _log.error("the %s could not be built", part, exc_info=error, extra=PRINTED)
            code = ExitCode.SYSTEM if isinstance(error, OSError) else ExitCode.FAILED
            problems.append(BuildProblem(part, f"{type(error).__name__}: {error}", "research build", code))
            return None
        named = first_few(report.problems, "; `research build` lists them")
        problems.extend(BuildProblem(part, problem, "fix that, then run `research build`") for problem in named)
        return report

    vault = attempt("vault", lambda: _build_vault(workspace, "new"))
    print_decisions(console, vault)
    if vault is None:
        why = "it is built from the vault, which could not be built"
        return [*problems, BuildProblem("site", why, "research build", problems[0].exit_code)]
    site = attempt("site", lambda: vault_and_site.build_site(workspace.folder, workspace.queue.settings.site_url, vault))
    _print_notices(console, site)
    return problems


def report_left_out(console: Console, workspace: Workspace) -> None:
    """Print which questions of the vault and folders of documents cannot be read, and why; the others are used."""
    for text in workspace.queue.left_out:
        console.say(f"left out: {text}", always=True, fg="yellow")
        _log.warning("left out: %s", text, extra=PRINTED)


def report_build_problems(console: Console, problems: Sequence[BuildProblem]) -> int:
    """Print and log the problems of a build; return the exit code of the first, 0 if there is none."""
    for part, reason, hint, _code in problems:
        console.say(f"the {part} is not up to date: {reason}\n  → {hint}", always=True, fg="red")
        _log.error("the %s is not up to date: %s", part, reason, extra=PRINTED)
    return problems[0].exit_code if problems else 0


def _build_vault(workspace: Workspace, mode: Mode) -> Any:
    folder = workspace.folder
    travels = (folder / ".git").exists() or store_address(folder)  # then notes must be the same on each machine
    documents = None if travels else Path(os.path.realpath(workspace.corpora[0]))  # one name, by whatever link it is reached
    report = vault_and_site.build(folder, mode, documents)
    if report.problems:
        note_damage(read_all(store_of(folder), summaries_of(folder)).damaged.values())
    if mode == "check":
        return report
    return replace(report, left_alone=(*report.left_alone, *vault_and_site.link_reports(workspace)))


def _print_notices(console: Console, report: Any) -> None:
    for notice in report.notices if report else ():
        console.say(f"the site: {notice}", fg="yellow")


def print_decisions(console: Console, report: BuildReport | None) -> None:
    """Print which files a build set aside, which notes it followed to another place, and which it now leaves out."""
    for line, always in decision_lines(report) if report else ():
        console.say(line, always=always, fg="yellow")


def decision_lines(report: BuildReport) -> list[tuple[str, bool]]:
    """Return these lines, each with whether it is printed under ``-q`` too."""
    aside = [(f"set aside, because somebody wrote in it: vault/{path}", True) for path in report.set_aside]
    moved = [(f"followed: vault/{old} is now vault/{new}", False) for old, new in sorted(report.moved.items())]
    gone = [(f"deleted in the vault, so no longer made: {path} (research hide --undo {path})", False) for path in report.hidden]
    words = "united: vault/{} was another copy of vault/{}; copies without the property id, or in vault/my, are yours"
    united = [(words.format(*pair), True) for pair in sorted(report.united.items())]
    alone = [(f"left alone: vault/{text}", True) for text in report.left_alone]
    return [*aside, *united, *moved, *gone, *alone]


def bring_vault_up_to_date(console: Console, mode: Mode = "new") -> Any:
    """Build the vault; print which files could not be written; update the session summaries. Return the vault's report."""
    report = _build_vault(load_workspace(console.folder), mode)
    for problem in report.problems:
        console.say(f"not written: {problem}", always=True, fg="yellow")
    return report


def bring_site_up_to_date(console: Console, vault: BuildReport | None = None, *, everything: bool = False) -> Any:
    """Build the site from the vault, of which ``vault`` is the build just before; print which files were left out."""
    url = load_workspace(console.folder).queue.settings.site_url
    report = vault_and_site.build_site(console.folder, url, vault, everything=everything)
    for problem in report.problems:
        console.say(f"left out of the site: {problem}", always=True, fg="yellow")
    _print_notices(console, report)
    return report


def length(said: str) -> timedelta:
    """Read an option's length of time.

    Raises:
        BadParameter: it is none.
    """
    found = length_of(said.strip())
    if found is None:
        raise click.BadParameter(f"{said!r} is not a duration; write a number with its unit: 30s, 90m, 12h")
    return found


def amount(said: str) -> float:
    """Read an option's sum of money. ``nan`` and ``inf`` are refused: neither can be a cap.

    Raises:
        BadParameter: it is none.
    """
    found = -1.0
    with suppress(ValueError):
        found = float(said)
    if not 0 <= found < float("inf"):
        raise click.BadParameter(f"{said!r} is not a sum of money; write a number, 0 or more: 0.50, 2")
    return found
