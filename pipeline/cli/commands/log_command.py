"""The commands ``log`` (what happened, and what happens while one looks on) and ``verify``. Only commands print or exit."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import latest_session, require_workspace, session_named
from pipeline.cli.param_types import SessionName
from pipeline.ops.console_output import Console, end, put

if TYPE_CHECKING:
    from pipeline.domain.events.session_events import EventBase
    from pipeline.ops.citation_audit import Unsupported
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


@dataclass
class _Checked:
    """What a check of the whole log found."""

    findings: list[Any]
    quotes: int = 0
    citations: int = 0
    unsupported: list[Unsupported] = field(default_factory=list)

    @property
    def bad(self) -> list[Any]:
        return [finding for finding in self.findings if finding.kind != "torn"]

    @property
    def lines(self) -> list[str]:
        return [*map(str, self.findings), *(f"{entry.session}: {entry.where}: {entry.why}" for entry in self.unsupported)]

    @property
    def exit_code(self) -> int:
        """Damage first; then what a permission hides, and what a newer program wrote."""
        codes = {{"unreadable": 12, "newer": 2}.get(finding.kind, 20) for finding in self.bad} | {20 for _ in self.unsupported}
        return next((code for code in (20, 12, 2) if code in codes), 0)


@click.command()
@click.option(
    "--repair", is_flag=True, help="Keep the sound part of damaged files and a copy of the whole; write off what is missing."
)
@click.pass_obj
def verify(console: Console, repair: bool) -> None:
    """Check the whole log: every record's hash, the chain, every stored page, and that each quote stands in its page."""
    from pipeline.cli.presentation import repair_lines
    from pipeline.text.normalise import counted
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    checked = _checked(console)
    lines = checked.lines
    value: dict[str, Any] = {"findings": [str(finding) for finding in checked.findings]}
    if repair and checked.findings:
        done = workspace_adapters.repair_log(console.folder)
        checked = _checked(console)
        lines += [line for one in done for line in repair_lines(one)] + [f"still there: {line}" for line in checked.lines]
        value |= {"repairs": [asdict(one) for one in done], "left": checked.lines}
    hint = "; research verify --repair keeps what is sound" if checked.exit_code == 20 and not repair else ""
    faults = len(checked.bad) + len(checked.unsupported)
    verdict = f"{counted(faults, 'fault')}{hint}" if faults else "sound"
    lines.append(f"{checked.quotes} quotes and {checked.citations} citations checked against stored pages: {verdict}")
    more = {"quotes": checked.quotes, "citations": checked.citations, "unsupported": len(checked.unsupported)}
    console.data(lines, value | more)
    end(checked.exit_code)


def _checked(console: Console) -> _Checked:
    """Check the files; then hold every session that can be read against its pages."""
    from pipeline.domain.events.json_codec import decode_all
    from pipeline.domain.session import state_of
    from pipeline.errors import LogError
    from pipeline.ops import citation_audit
    from pipeline.wiring import workspace_adapters

    store = workspace_adapters.store_of(console.folder)
    checked = _Checked(workspace_adapters.verify_log(console.folder))
    for name in store.marks():
        try:
            records = store.load(name)
        except LogError:
            continue  # the files' findings name it
        try:
            events = list(decode_all(record.data for record in records))
            found = (
                citation_audit.check(state_of(name, events), store) if not name.startswith("batch-") else citation_audit.NOTHING
            )
        except LogError as error:
            checked.findings.append(workspace_adapters.undecodable(name, error))
            continue
        checked.quotes, checked.citations = checked.quotes + found.quotes, checked.citations + found.citations
        checked.unsupported += found.unsupported
    return checked
