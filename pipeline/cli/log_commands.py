"""The commands on the event log: ``log`` prints it, ``verify`` checks it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import click

from pipeline.cli.command_parts import import_named, latest_session, require_workspace, session_named
from pipeline.cli.presentation import log_line, repair_lines
from pipeline.domain.events.json_codec import decode_all, encode, refuse_unknown_types
from pipeline.domain.events.records import KINDS, kind_of
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import ObjectsPruned, SessionForgotten, SessionPruned
from pipeline.domain.session import state_of
from pipeline.domain.talk import talk_of
from pipeline.errors import LogError, StoreUnreachable
from pipeline.ops import citation_audit
from pipeline.ops.citation_audit import Checked, Unsupported
from pipeline.ops.console_output import Console, end, put
from pipeline.ops.watching import LogTail, is_over
from pipeline.ports import EventStore
from pipeline.text.normalise import counted
from pipeline.wiring.store_adapters import repair_log, store_of, undecodable, verify_log

LOOK_EVERY_S = 0.5


@click.command()
@click.argument("session", required=False)
@click.option(
    "-f", "--follow", is_flag=True, help="Keep printing new events until SESSION ends; without SESSION, of all sessions."
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type: page.read, or worker for all of worker.*; may be given several times.",
)
@click.pass_obj
def log(console: Console, session: str | None, follow: bool, types: tuple[str, ...]) -> None:
    """Print all events of SESSION (default: the latest), one per line; with --json as stored. Works during a run."""
    require_workspace(console.folder)
    refuse_unknown_types(types)
    store = store_of(console.folder)
    if imported := import_named(store, session or ""):
        _print(console, store, imported, types)
        return
    if follow:
        _follow(console, store, session_named(console.folder, store, session) if session else "", types)
        return
    name = session_named(console.folder, store, session) if session else latest_session(console.folder, store)
    _print(console, store, name, types)


def _is_wanted(kind: str, types: Sequence[str]) -> bool:
    """Return whether an event's type is one of ``types``, or begins with one and a dot."""
    return not types or any(f"{kind}.".startswith(f"{wanted}.") for wanted in types)


def _print(console: Console, store: EventStore, name: str, types: Sequence[str]) -> None:
    records = [record for record in store.load(name) if _is_wanted(record.type, types)]
    lines = [log_line(event) for event in decode_all(record.data for record in records)]
    if types and not records:
        console.say(f"{name} has no event of the type {' or '.join(types)}", always=True, fg="yellow")
    console.data(lines, [json.loads(record.data) for record in records])


def _follow(console: Console, store: EventStore, name: str, types: Sequence[str]) -> None:
    """Print events as they come; with ``--json`` each as one line of JSON."""
    # A record that is being written looks like one that a crash cut off.
    logging.getLogger("pipeline.store").setLevel(logging.ERROR)
    tail = LogTail(store, name)
    try:
        while not (_print_new(console, tail, types) and name and is_over(tail.last)):
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        end(130)


def _print_new(console: Console, tail: LogTail, types: Sequence[str]) -> bool:
    try:
        events = tail.new()
    except StoreUnreachable as error:
        if not tail.is_cut_off:
            console.say(f"{error.message}; what is recorded meanwhile follows when it is back", always=True, fg="yellow")
        tail.is_cut_off = True
        return False
    tail.is_cut_off = False
    for event in events:
        if _is_wanted(event.type, types):
            put(_line(event, as_json=console.as_json, named=not tail.name))
    return bool(events)


def _line(event: EventBase, *, as_json: bool, named: bool) -> str:
    if as_json:
        return encode(event).decode()
    return f"{event.session_id:<40}  {log_line(event)}" if named else log_line(event)


@dataclass
class _LogCheck:
    """The result of checking the whole log."""

    findings: list[Any]
    quotes: int = 0
    citations: int = 0
    unsupported: list[Unsupported] = field(default_factory=list)

    @property
    def bad(self) -> list[Any]:
        return [
            finding for finding in self.findings if finding.kind not in ("torn", "fork", "leftover")
        ]  # the next run joins branches

    @property
    def lines(self) -> list[str]:
        return [*map(str, self.findings), *(f"{entry.session}: {entry.where}: {entry.why}" for entry in self.unsupported)]

    @property
    def exit_code(self) -> int:
        """20 for damage, else 12 for files without read permission, else 2 for a log of a newer program, else 0."""
        codes = {{"unreadable": 12, "newer": 2}.get(finding.kind, 20) for finding in self.bad} | {20 for _ in self.unsupported}
        return next((code for code in (20, 12, 2) if code in codes), 0)


@click.command()
@click.option(
    "--repair", is_flag=True, help="Keep the intact part of damaged files and a copy of the original; write off missing sessions."
)
@click.pass_obj
def verify(console: Console, repair: bool) -> None:
    """Check the whole log: every record's hash, the chain, every stored page, and that each quote is in its page."""
    require_workspace(console.folder)
    check = _check_log(console)
    lines = check.lines
    value: dict[str, Any] = {"findings": [str(finding) for finding in check.findings]}
    if repair and check.findings:
        done = repair_log(console.folder)
        check = _check_log(console)
        lines += [line for one in done for line in repair_lines(one)] + [f"remaining: {line}" for line in check.lines]
        value |= {"repairs": [asdict(one) for one in done], "left": check.lines}
    hint = "; research verify --repair keeps the intact part" if check.exit_code == 20 and not repair else ""
    problems = len(check.bad) + len(check.unsupported)
    verdict = f"{counted(problems, 'problem')}{hint}" if problems else "no problem"
    pruned = _pruned_lines(store_of(console.folder))
    lines += pruned
    lines.append(f"{check.quotes} quotes and {check.citations} citations checked against stored pages: {verdict}")
    value["pruned"] = pruned
    more = {"quotes": check.quotes, "citations": check.citations, "unsupported": len(check.unsupported)}
    console.data(lines, value | more)
    end(check.exit_code)


def _pruned_lines(store: EventStore) -> list[str]:
    """What was pruned and forgotten, and how many quotes had been checked before: a line for each prune."""
    lines = []
    for name in store.ids("prune"):
        try:
            events = list(decode_all(record.data for record in store.load(name)))
        except LogError:
            continue  # a finding says so
        stones = [event for event in events if isinstance(event, SessionPruned | ObjectsPruned | SessionForgotten)]
        sessions = sum(isinstance(event, SessionPruned) for event in stones)
        forgotten = sum(isinstance(event, SessionForgotten) for event in stones)
        quotes = sum(event.quotes for event in stones if not isinstance(event, SessionForgotten))
        what = [counted(sessions, "session")] if sessions else []
        what += [counted(forgotten, "forgotten session")] if forgotten else []
        what.append(counted(sum(len(event.objects) for event in stones), "page or exchange", "pages and exchanges"))
        if stones:
            lines.append(f"pruned on {stones[0].at[:10]}: {', '.join(what)}; {counted(quotes, 'quote')} had been checked")
    return lines


def _audited(name: str, events: Sequence[EventBase], store: EventStore) -> Checked:
    """Check the quotes and citations of a session or a talk; other streams have none."""
    kind = kind_of(name)
    if kind == "session":
        return citation_audit.check(state_of(name, events), store)
    return citation_audit.check_talk(talk_of(name, events), store) if kind == "talk" else citation_audit.NOTHING_CHECKED


def _check_log(console: Console) -> _LogCheck:
    """Check the files; then check the quotes of every readable session against its stored pages."""
    store = store_of(console.folder)
    check = _LogCheck(verify_log(console.folder))
    for name in store.marks(KINDS):
        try:
            records = store.load(name)
        except LogError:
            continue  # the files' findings name it
        try:
            events = list(decode_all(record.data for record in records))
            found = _audited(name, events, store)
        except LogError as error:
            check.findings.append(undecodable(name, error))
            continue
        check.quotes, check.citations = check.quotes + found.quotes, check.citations + found.citations
        check.unsupported += found.unsupported
    return check
