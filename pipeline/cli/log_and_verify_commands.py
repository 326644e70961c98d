"""The commands on the event log: ``log`` prints it, ``verify`` checks it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from pipeline.cli.arguments_and_builds import import_named, latest_session, session_named, workspace_store
from pipeline.cli.presentation import log_line, repair_lines
from pipeline.domain.events.json_codec import decode, decode_all, encode, refuse_unknown_types
from pipeline.domain.events.stream_records import KINDS, Record, kind_of
from pipeline.domain.session import state_of
from pipeline.domain.talk import talk_of
from pipeline.errors import LOG_TROUBLE, ExitCode, LogError, StoreUnreachable, most_urgent
from pipeline.ops.change_watching import Feed
from pipeline.ops.citation_audit import Checked, Unsupported, check, check_talk
from pipeline.ops.console_output import Console, end
from pipeline.ports import EventStore
from pipeline.text.humanize import counted
from pipeline.wiring.store_adapters import repair_log, undecodable, verify_log

LOOK_EVERY_S = 0.5
ENDINGS = frozenset({"research.completed", "research.failed", "research.cancelled"})


@click.command()
@click.argument("session", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on with new events until SESSION ends; without SESSION, of all.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type (repeatable): page.read, or worker for all of worker.*.",
)
@click.pass_obj
def log(console: Console, session: str | None, follow: bool, types: tuple[str, ...]) -> None:
    """Print all events of SESSION (default: the latest), one per line; with --json as stored. Works during a run."""
    store = workspace_store(console.folder)
    refuse_unknown_types(types)
    imported = import_named(store, session or "")
    name = imported or (session_named(console.folder, store, session) if session else "")

    def is_wanted(kind: str) -> bool:
        return not types or any(f"{kind}.".startswith(f"{wanted}.") for wanted in types)

    if imported or not follow:
        name = name or latest_session(console.folder, store)
        records = [record for record in store.load(name) if is_wanted(record.type)]
        lines = [log_line(event) for event in decode_all(record.data for record in records)]
        if types and not records:
            console.say(f"{name} has no event of the type {' or '.join(types)}", always=True, fg="yellow")
        console.data(lines, [json.loads(record.data) for record in records])
        return
    # A record that is being written looks like one that a crash cut off.
    logging.getLogger("pipeline.store").setLevel(logging.ERROR)
    feed, after, is_cut_off = None if name else Feed(store), 0, False
    try:
        while True:
            found: Sequence[Record] = ()
            try:
                found, is_cut_off = feed.read() if feed else store.load(name, after=after), False
            except StoreUnreachable as error:
                if not is_cut_off:
                    console.say(f"{error.message}; what is recorded meanwhile follows when it is back", always=True, fg="yellow")
                is_cut_off = True
            for event in (decode(record.data) for record in found):
                after = event.version
                if is_wanted(event.type):
                    line = log_line(event) if name else f"{event.session_id:<40}  {log_line(event)}"
                    click.echo(encode(event).decode() if console.as_json else line)
            if name and found and found[-1].type in ENDINGS:
                return
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        end(ExitCode.INTERRUPTED)


@click.command()
@click.option("--repair", is_flag=True, help="Keep the sound part of damaged files, and a copy; write off missing sessions.")
@click.pass_obj
def verify(console: Console, repair: bool) -> None:
    """Check the whole log: every record's hash, the chain, every stored page, and that each quote is in its page."""
    store = workspace_store(console.folder)
    findings, audit = _check_log(console, store)
    lines = [*map(str, findings), *map(str, audit.unsupported)]
    value: dict[str, Any] = {"findings": [str(finding) for finding in findings]}
    if repair and findings:
        done = repair_log(console.folder)
        findings, audit = _check_log(console, store)
        left = [*map(str, findings), *map(str, audit.unsupported)]
        lines += [line for one in done for line in repair_lines(one)] + [f"remaining: {line}" for line in left]
        value |= {"repairs": [asdict(one) for one in done], "left": left}
    bad = [one.kind for one in findings if one.kind not in ("torn", "fork", "leftover")]  # the next run joins branches
    bad += ["unsupported"] * len(audit.unsupported)
    code = most_urgent({LOG_TROUBLE.get(kind, ExitCode.DAMAGED) for kind in bad})
    hint = "; research verify --repair keeps the intact part" if code == ExitCode.DAMAGED and not repair else ""
    verdict = f"{counted(len(bad), 'problem')}{hint}" if bad else "no problem"
    stones = store.tombstones()
    removed = [counted(len(stones.sessions), "log"), counted(len(stones.objects), "page or exchange", "pages and exchanges")]
    removed.insert(1, counted(len(stones.forgotten), "forgotten session or talk", "forgotten sessions and talks"))
    pruned = [f"removed on purpose: {', '.join(removed)}"] if stones.sessions or stones.forgotten or stones.objects else []
    checked = f"{audit.quotes} quotes and {audit.citations} citations checked against stored pages: {verdict}"
    counts = {"quotes": audit.quotes, "citations": audit.citations, "unsupported": len(audit.unsupported)}
    console.data([*lines, *pruned, checked], value | {"pruned": pruned, **counts})
    end(code)


def _check_log(console: Console, store: EventStore) -> tuple[list[Any], Checked]:
    """Check the files; then check the quotes of every readable session and talk against its stored pages."""
    findings: list[Any] = [*verify_log(console.folder)]
    quotes, citations, unsupported = 0, 0, list[Unsupported]()
    for name in store.marks(KINDS):
        try:
            records = store.load(name)
        except LogError:
            continue  # the files' findings name it
        try:
            events = list(decode_all(record.data for record in records))
            if (kind := kind_of(name)) not in ("session", "talk"):  # others have no quotes
                continue
            is_session = kind == "session"
            found = check(state_of(name, events), store) if is_session else check_talk(talk_of(name, events), store)
        except LogError as error:
            findings.append(undecodable(name, error))
            continue
        quotes, citations = quotes + found.quotes, citations + found.citations
        unsupported += found.unsupported
    return findings, Checked(quotes, citations, tuple(unsupported))
