"""What several commands have in common: which session is meant, what is due, what is shown, the vault brought up to date."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline.ops.console_output import TOLD, Console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.batch.session_index import SessionIndex
    from pipeline.domain.events.session_events import EventBase
    from pipeline.domain.state import SessionState
    from pipeline.ports import EventStore
    from pipeline.system.folder_fingerprint import Step

_MOST_NAMED = 5  # files that were not made
_log = logging.getLogger("pipeline.cli.command_parts")


def glance(console: Console, store: EventStore, *, look_only: bool = False) -> SessionIndex:
    """Return what the log holds at a glance; say which sessions cannot be read. ``look_only``: nothing is kept of it."""
    from pipeline.batch.session_index import read_all
    from pipeline.wiring import workspace_adapters

    known = read_all(store, workspace_adapters.summaries_of(console.folder, writable=not look_only))
    for error in known.damaged.values():
        console.say(f"cannot be used: {error.message}\n  → {error.hint or 'research verify'}", fg="red")
    return known


def session_named(folder: Path, store: EventStore, name: str) -> str:
    """Return the session that a name means: a session's id, a query's id (its latest session), or how one of them begins."""
    from pipeline.batch.session_index import read_all
    from pipeline.errors import SessionUnknown
    from pipeline.wiring import workspace_adapters

    ids = list(store.session_ids())
    if name in ids:
        return name
    latest = read_all(store, workspace_adapters.summaries_of(folder)).latest()
    found = {summary.id for query, summary in latest.items() if query.startswith(name)}
    found = {latest[name].id} if name in latest else found or {known for known in ids if name in known}
    if len(found) == 1:
        return found.pop()
    meant = f"could be any of: {', '.join(sorted(found)[:5])}" if found else "research list shows what there is"
    raise SessionUnknown(f"no session is called {name!r}" if not found else f"{name!r} is not enough", hint=meant)


def latest_session(folder: Path, store: EventStore) -> str:
    """Return the id of the session that began last.

    Raises:
        SessionUnknown: there is none.
    """
    from pipeline.batch.session_index import read_all
    from pipeline.errors import SessionUnknown
    from pipeline.wiring import workspace_adapters

    known = read_all(store, workspace_adapters.summaries_of(folder)).sessions
    if not known:
        raise SessionUnknown("there is no session yet", hint="research run begins one")
    return max(known, key=lambda summary: (summary.started_at, summary.id)).id


def require_workspace(folder: Path) -> None:
    """Refuse to work where there is no queue.

    Raises:
        NoWorkspace: there is none.
    """
    from pipeline.config.settings import QUEUE_FILE
    from pipeline.errors import NoWorkspace

    if not (folder / QUEUE_FILE).exists():
        raise NoWorkspace(
            f"{folder.absolute()} has no {QUEUE_FILE}", hint="research init makes a workspace; -C names another folder"
        )


def refuse_unprintable(folder: Path) -> None:
    """Refuse a workspace whose path is not UTF-8: neither the index nor a web page could name a file in it.

    Raises:
        UsageError: it is not.
    """
    from pipeline.errors import UsageError

    path = os.fsencode(folder.absolute())
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        shown = path.decode("utf-8", "backslashreplace")
        raise UsageError(f"the path {shown} is not UTF-8", hint="rename the folder, or use another one") from None


def show_session(console: Console, state: SessionState, last: EventBase | None) -> None:
    """Print what ``show`` tells about a session."""
    from pipeline.cli.presentation import show_lines, shown
    from pipeline.wiring import workspace_adapters

    report = workspace_adapters.report_of(console.folder)(state.id)
    console.data(list(show_lines(state, last, console.path(report))), shown(state, report))


class Missed(NamedTuple):
    """A ``part`` that was not made, or not all of it: why, what to do next, and the exit code that this means."""

    part: Literal["vault", "site"]
    reason: str
    hint: str
    exit_code: int = 1


def bring_up_to_date(console: Console, site_url: str) -> list[Missed]:
    """Build the vault, and the site from it; return what was not made. Nothing is raised, and only notices are printed."""
    missed: list[Missed] = []
    report = _tried(missed, "vault", lambda: _vault(console.folder, "new"))
    if report is not None:
        from pipeline.wiring import workspace_adapters

        made = _tried(missed, "site", lambda: workspace_adapters.build_site(console.folder, site_url, steps=report.steps))
        _notice(console, made)
    return missed


def say_missed(console: Console, missed: Iterable[Missed]) -> int:
    """Print and log what was not made; return the exit code that this means, 0 for nothing."""
    codes = []
    for part, reason, hint, code in missed:
        console.say(f"the {part} is not up to date: {reason}\n  → {hint}", always=True, fg="red")
        _log.error("the %s is not up to date: %s", part, reason, extra=TOLD)
        codes.append(code)
    return next(iter(codes), 0)


def _tried(missed: list[Missed], part: Literal["vault", "site"], make: Callable[[], Any]) -> Any:
    """What was made, None if it failed as a whole; what was not made is added to ``missed``."""
    from pipeline.errors import ResearchError

    try:
        report = make()
    except ResearchError as error:
        missed.append(Missed(part, error.message, error.hint or "research build", error.exit_code))
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, the work is done and its account is owed
        _log.error("the %s could not be built", part, exc_info=error, extra=TOLD)
        missed.append(Missed(part, f"{type(error).__name__}: {error}", "research build"))
        return None
    named = list(report.problems[:_MOST_NAMED])
    if more := len(report.problems) - len(named):
        from pipeline.text.normalise import counted

        named.append(f"and {counted(more, 'more file')}, which `research build` names")
    missed += [Missed(part, problem, "put that right, then run `research build`") for problem in named]
    return report


def _vault(folder: Path, mode: Literal["new", "all", "check"]) -> Any:
    from pipeline.batch.session_index import refresh
    from pipeline.wiring import workspace_adapters

    report = workspace_adapters.build(folder, mode)
    refresh(workspace_adapters.store_of(folder), workspace_adapters.summaries_of(folder), report.marks)
    return report


def _notice(console: Console, report: Any) -> None:
    for notice in report.notices if report else ():
        console.say(f"the site: {notice}", fg="yellow")


def bring_vault_up_to_date(console: Console, mode: Literal["new", "all", "check"] = "new") -> Any:
    """Build the vault; name what could not be written; remember the sessions at a glance. Return the vault's report."""
    report = _vault(console.folder, mode)
    for problem in report.problems:
        console.say(f"not written: {problem}", always=True, fg="yellow")
    return report


def bring_site_up_to_date(console: Console, *, everything: bool = False, steps: Mapping[str, Step] | None = None) -> Any:
    """Make the site show the vault; name what was left out. Return the build's report.

    ``steps`` tell what a build of the vault just did in its folders.
    """
    from pipeline.config.settings import load_workspace
    from pipeline.wiring import workspace_adapters

    url = load_workspace(console.folder).queue.settings.site_url
    report = workspace_adapters.build_site(console.folder, url, everything=everything, steps=steps)
    for problem in report.problems:
        console.say(f"left out of the site: {problem}", always=True, fg="yellow")
    _notice(console, report)
    return report
