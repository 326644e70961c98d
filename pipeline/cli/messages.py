"""What several commands have in common: which session is meant, what is due, what is shown, the vault brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pipeline.ops.terminal import Console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.batch.session_index import SessionIndex
    from pipeline.domain.events.session_events import EventBase
    from pipeline.domain.state import SessionState
    from pipeline.ports import EventStore
    from pipeline.system.folder_fingerprint import Step


def glance(console: Console, store: EventStore, *, look_only: bool = False) -> SessionIndex:
    """Return what the log holds at a glance; say which sessions cannot be read. ``look_only``: nothing is kept of it."""
    from pipeline.batch.session_index import read_all
    from pipeline.wiring import workspace_adapters

    known = read_all(store, workspace_adapters.summaries_of(console.folder, writable=not look_only))
    for error in known.damaged.values():
        console.say(f"damaged: {error.message}", fg="red")
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


def show_session(console: Console, state: SessionState, last: EventBase | None) -> None:
    """Print what ``show`` tells about a session."""
    from pipeline.cli.presentation import show_lines, shown
    from pipeline.wiring import workspace_adapters

    report = workspace_adapters.report_of(console.folder)(state.id)
    console.data(list(show_lines(state, last, console.path(report))), shown(state, report))


def bring_vault_up_to_date(console: Console, mode: Literal["new", "all", "check"] = "new", *, site: bool = True) -> Any:
    """Build the vault, and ``site`` from it; name what could not be written; remember the sessions at a glance.

    Return the vault's report. A site that cannot be made is told of, no more: the notes are there.
    """
    from pipeline.batch.session_index import refresh
    from pipeline.errors import ResearchError
    from pipeline.wiring import workspace_adapters

    report = workspace_adapters.build(console.folder, mode)
    refresh(workspace_adapters.store_of(console.folder), workspace_adapters.summaries_of(console.folder), report.marks)
    for problem in report.problems:
        console.say(f"not written: {problem}", fg="yellow")
    if site:
        try:
            bring_site_up_to_date(console, steps=report.steps)
        except ResearchError as error:
            console.say(f"the site is not up to date: {error.message}\n  → {error.hint or 'research build'}", fg="red")
    return report


def bring_site_up_to_date(console: Console, *, everything: bool = False, steps: Mapping[str, Step] | None = None) -> Any:
    """Make the site show the vault; name what was left out. Return the build's report.

    ``steps`` tell what a build of the vault just did in its folders.
    """
    from pipeline.wiring import workspace_adapters

    report = workspace_adapters.build_site(console.folder, everything=everything, steps=steps)
    for problem in report.problems:
        console.say(f"left out of the site: {problem}", fg="yellow")
    return report
