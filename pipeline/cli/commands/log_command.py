"""The command ``log``: what happened, and what happens while one looks on. Reads without a lock. Only commands print or exit."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from pipeline.cli.messages import latest_session, require_workspace, session_named
from pipeline.cli.param_types import SessionName
from pipeline.ops.terminal import Console, end, put

if TYPE_CHECKING:
    from pipeline.domain.events.session_events import EventBase
    from pipeline.ops.log_tail import LogTail
    from pipeline.ports import EventStore

LOOK_EVERY_S = 0.5


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option(
    "-f", "--follow", is_flag=True, help="Go on printing what comes, until SESSION has ended; without SESSION, all of it."
)
@click.pass_obj
def log(console: Console, session: str | None, follow: bool) -> None:
    """Print all events of SESSION (else of the latest), one a line; with --json as they are stored. Works while a run goes on."""
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    store = workspace_adapters.store_of(console.folder)
    if follow:
        _follow(console, store, session_named(console.folder, store, session) if session else "")
        return
    _print(console, store, session_named(console.folder, store, session) if session else latest_session(console.folder, store))


def _print(console: Console, store: EventStore, name: str) -> None:
    from pipeline.cli.presentation import log_line
    from pipeline.domain.events.json_codec import decode_all

    records = store.load(name)
    lines = [log_line(event) for event in decode_all(record.data for record in records)]
    console.data(lines, [json.loads(record.data) for record in records])


def _follow(console: Console, store: EventStore, name: str) -> None:
    """Print events as they come; with ``--json`` each as one line of JSON."""
    import logging
    from datetime import UTC, datetime

    from pipeline.ops.log_tail import LogTail, is_over
    from pipeline.text.times import timestamp

    # A record that is just being written looks like one that a crash cut off.
    logging.getLogger("pipeline.adapters.store").setLevel(logging.ERROR)
    following = LogTail(store, name, since=timestamp(datetime.now(UTC)))
    try:
        while not (_print_new(console, following) and name and is_over(following.last)):
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        end(130)


def _print_new(console: Console, following: LogTail) -> bool:
    events = following.new()
    for event in events:
        put(_line(event, as_json=console.as_json, named=not following.name))
    return bool(events)


def _line(event: EventBase, *, as_json: bool, named: bool) -> str:
    from pipeline.cli.presentation import log_line
    from pipeline.domain.events.json_codec import encode

    if as_json:
        return encode(event).decode()
    return f"{event.session_id:<40}  {log_line(event)}" if named else log_line(event)
