"""The commands that read what was found: ``list``, ``show``, ``why`` and ``digest``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import click
from pydantic import TypeAdapter

from pipeline.batch.due_queries import archived, decide
from pipeline.cli import arguments_and_builds
from pipeline.cli.presentation import list_lines, listed, show_lines, shown
from pipeline.config.workspace_settings import load_workspace, machine_of
from pipeline.domain.events.import_events import NOT_CHECKED, Import, import_of
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.evidence_trail import Why, value_of
from pipeline.domain.evidence_trail import why as why_of
from pipeline.domain.session import ResearchSession
from pipeline.domain.summary import OUTCOME_WORDS, is_tagged
from pipeline.errors import LogError, SessionUnknown, UsageError
from pipeline.ops.console_output import Console
from pipeline.ports import EventStore
from pipeline.site.paths import encoded, page_of
from pipeline.text.addresses import readable
from pipeline.text.humanize import counted
from pipeline.vault.identity import read_decisions
from pipeline.vault.read_model import Card, Night, folded, rated_for
from pipeline.wiring import vault_and_site
from pipeline.wiring.store_adapters import store_of

_MOST_ORIGINS = 3
_FOUND = {"answer", "disputed", "news", "says_more"}  # of what a session found, in a digest's value


@click.command()
@click.argument("session")
@click.argument("words")
@click.pass_obj
def why(console: Console, session: str, words: str) -> None:
    """Show what a sentence of SESSION's report rests on. WORDS are some words of it, or a fact's id.

    Its facts, quotes, pages, searches and perspectives; what speaks against it; what you called useful or wrong.
    """
    store = arguments_and_builds.workspace_store(console.folder)
    state = ResearchSession.open(store, arguments_and_builds.reported_session(console, store, session)).state
    found = why_of(state, words)
    if found is None:
        what, hint = "has no sentence like that", "take some words of a sentence of its report, or the id of a fact"
        if state.report is None:
            what = f"did not find it: {state.end_reason}" if state.status == "not-found" else "has no report yet"
            near = "; ".join(" › ".join(one.path) for one in state.more_places[:3])
            hint = f"what comes nearest: {near}" if near else f"see research show {state.id}"
        raise UsageError(f"{state.id} {what}", hint=hint)
    ratings = read_decisions(store).ratings
    same, about = rated_for(store, ratings, state.query_id).same, (one.fact for one in found.evidence)
    rated = {fact.id: event for fact in about if (event := ratings.latest_on(state.query_id, same(fact), fact.url))}
    value = value_of(found)
    for evidence in value["evidence"]:
        event = rated.get(evidence["fact"]["id"])
        evidence["rating"] = event.rating if event else ""
    console.data(list(_why_lines(found, rated)), value)


def _why_lines(found: Why, rated: dict[str, NoteRated]) -> Iterator[str]:
    if found.sentence:
        yield f"“{found.sentence.text}”"
        cut = f"; it was cut: {found.sentence.reason}" if found.sentence.reason else ""
        yield f"  in the section “{found.sentence.title}”{cut}"
        if not found.evidence:
            yield "  it cites no fact"
    for one in found.evidence:
        disputed = " (disputed)" if one.against else ""
        yield f"  fact {one.fact.id}{disputed}: “{' '.join(one.fact.quote.split())}”"
        address = readable(f"{one.fact.url}#{one.fact.anchor}" if one.fact.anchor else one.fact.url)
        yield f"    quoted from {' › '.join(one.fact.path) or address}  {address}"
        if event := rated.get(one.fact.id):
            yield f"    you called {'it' if event.fact else 'its source'} {event.rating} on {event.at[:10]}"
        for way in one.origins[:_MOST_ORIGINS]:
            yield f"      found by the search “{way.search}”, hit {way.rank}"
            if way.thought or way.is_first:
                yield f"        because: {way.thought}" if way.thought else "        the first search, on the question itself"
            if way.perspective:
                yield f"        from the perspective “{way.perspective}”" + (f": {way.focus}" if way.focus else "")
        if len(one.origins) > _MOST_ORIGINS:
            yield f"      and {len(one.origins) - _MOST_ORIGINS} more searches found the page"
    against = [pair for one in found.evidence for pair in one.against]
    yield "speaks against it:" if against else "nothing that was found speaks against it"
    for fact, explanation in against:
        yield f"  {explanation}"
        yield f"    fact {fact.id} in {fact.path[0] if fact.path else readable(fact.url)}: “{' '.join(fact.quote.split())}”"


@click.command()
@click.option("--night", "day", metavar="DATE", help="The night whose note bears this date: 2026-11-21.  [default: the last]")
@click.option("--html", is_flag=True, help="As a page for mail.")
@click.pass_obj
def digest(console: Console, day: str | None, html: bool) -> None:
    """Print what a night found: what changed first, each answer in a sentence, how sure it is, what failed."""
    from pipeline.vault.notes.nights_and_home import digest_of, text_of  # templates take time to import
    from pipeline.vault.read_model import nights_in

    store = arguments_and_builds.workspace_store(console.folder)
    nights, unread = nights_in(store)
    chosen = _chosen(nights, day)
    if not chosen:
        lines = ["nothing has been researched yet: research run", *(f"cannot be read: {text}" for text in unread)]
        console.data(lines, {"night": None, "unread": unread})
        return
    found = digest_of(store, chosen, unread, "" if day else f"{datetime.now(UTC).astimezone():%Y-%m-%d}")
    night, where = found.night, place_of(console, load_workspace(console.folder).queue.settings.site_url)
    value: dict[str, Any] = {
        "night": night.date,
        "heading": found.heading,
        "next": found.next,
        "seconds": night.seconds,
        "usd": night.cost.charged_usd,
        "left_out": len(night.left_out),
        "questions": [],
        "problems": found.problems,
    }
    for one, known, *_ in found.questions:
        card = known if known and known.reported_at else None
        value["questions"].append(
            {
                "query": one.query,
                "status": one.status,
                "reason": one.reason,
                "report": where(card) if card else "",
                "open": known.open if known else (),
                "found": TypeAdapter(Card).dump_python(card, mode="json", include=_FOUND) if card else None,
            }
        )
    console.data(text_of(found, where, "html" if html else "txt"), value)


def _chosen(nights: tuple[Night, ...], day: str | None) -> list[Night]:
    """The night of a date, or all.

    Raises:
        UsageError: no night has that date.
    """
    found = [night for night in nights if day in (None, night.date)]
    if day and not found:
        known = ", ".join(night.date for night in nights[-5:])
        raise UsageError(f"no night is dated {day}", hint=f"the last nights: {known}" if known else "nothing was researched yet")
    return found


def place_of(console: Console, url: str) -> Callable[[Card], str]:
    """Return what says where a report is: on the site, if its address is set, else in the vault."""
    report = vault_and_site.report_of(console.folder)

    def place(card: Card) -> str:
        path = report(card.id) or f"vault/{card.report_path}.md"
        return f"{url.rstrip('/')}/{encoded(page_of(path.removeprefix('vault/')))}" if url else console.path(path)

    return place


STATUSES = (
    "due", "interrupted", "changed", "done", "waiting", "elsewhere", "not-found", "failed", "cancelled", "damaged", "same",
    "archived", "imported",
)  # fmt: skip


@click.command("list")
@click.option("--why", is_flag=True, help="Also the reason for each status.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(STATUSES),
    help="Only queries with this status; due: all that the next run will research.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only queries with this tag (repeatable).")
@click.pass_obj
def list_(console: Console, why: bool, statuses: tuple[str, ...], tags: tuple[str, ...]) -> None:
    """List the queries with their latest sessions and reports, then sessions of removed queries, then imports."""
    workspace, store = load_workspace(console.folder), store_of(console.folder)
    arguments_and_builds.report_left_out(console, workspace)
    known = arguments_and_builds.read_sessions(console, store)
    path_of = vault_and_site.report_of(console.folder)

    def is_wanted(its_tags: Iterable[str], *words: str) -> bool:
        return (not tags or is_tagged(its_tags, tags)) and (not statuses or not set(words).isdisjoint(statuses))

    of = {summary.id: summary for summary in known.sessions}
    decisions = [
        d
        for d in decide(workspace.queue, known, datetime.now(UTC), machine=machine_of(workspace.folder))
        if is_wanted(d.query.tags, d.word.replace(" ", "-"), "due" if d.due else "")
    ]
    gone = [summary for summary in archived(workspace.queue, known) if is_wanted(summary.tags, "archived")]
    shown = {d.session for d in decisions} | {summary.id for summary in gone}
    sessions = [one for one in known.sessions if is_wanted(one.tags, *statuses) and (one.id in shown or not statuses)]
    imports = [one for one in imports_of(console, store) if is_wanted(one.last.tags, "imported")]
    value = {
        "queries": [
            {"id": d.query.id, "query": d.query.text, "action": d.action, "reason": d.reason, "session": d.session}
            for d in decisions
        ],
        "archived": [summary.id for summary in gone],
        "sessions": [listed(summary, path_of(summary.id)) for summary in sessions],
        "imports": [listed_import(one) for one in imports],
    }
    lines = []
    for d in sorted(decisions, key=lambda decision: (decision.query.file, decision.query.line)):
        latest = of.get(d.session)
        word = OUTCOME_WORDS.get(latest.outcome, d.word) if latest and d.action == "done" else d.word
        report = console.path(path_of(d.session))
        lines += list_lines(word, d.query.id, d.query.text, d.reason if why else "", latest, report)
    for one in gone:
        reason = f"its question is no longer in the queue; {one.status}" if why else ""
        lines += list_lines("archived", one.query_id, one.query, reason, one, console.path(path_of(one.id)))
    for imported in imports:
        lines += [f"{'imported':<11} {imported.last.heading}", f"{'':<11} {imported.id}, not checked"]
    console.data(lines or [_EMPTY_LIST[bool(workspace.queue.queries)]], value)


_EMPTY_LIST = ('the queue is empty: research add "your question"', "no query matches these options")


@click.command()
@click.argument("session")
@click.option(
    "--at", "version", type=click.IntRange(min=1), metavar="VERSION", help="The state after the event with this version."
)
@click.pass_obj
def show(console: Console, session: str, version: int | None) -> None:
    """Show SESSION: its status, next steps, last event, last error, progress and cost. Works during a run."""
    store = arguments_and_builds.workspace_store(console.folder)
    if imported := arguments_and_builds.import_named(store, session):
        print_import(console, store, imported)
        return
    name = arguments_and_builds.session_named(console.folder, store, session)
    state, events = folded(store, name, version)
    if version and version > state.version:
        raise UsageError(f"{name} has no version {version}", hint=f"it has the versions 1 to {state.version}")
    report = vault_and_site.report_of(console.folder)(state.id)
    console.data(show_lines(state, events[-1] if events else None, console.path(report)), shown(state, report))


def imports_of(console: Console, store: EventStore) -> list[Import]:
    """Return all imports, the oldest first; print which cannot be read."""
    found = []
    for name in store.ids("import"):
        try:
            found.append(import_of(name, decode_all(record.data for record in store.load(name))))
        except LogError as error:
            console.say(f"cannot be read: {error.message}\n  → {error.hint or 'research verify'}", fg="red")
    return sorted(filter(None, found), key=lambda one: (one.last.created, one.id))


def listed_import(found: Import) -> dict[str, Any]:
    """Return an import as a value for ``list`` and ``show``."""
    last = found.last
    fields = {"kind", "question", "status", "created", "records", "left_out", "origin", "digest"}
    value = {"id": found.id, "checked": False, "title": last.heading, "imported": last.at, "tags": list(last.tags)}
    return value | last.model_dump(include=fields)


def print_import(console: Console, store: EventStore, name: str) -> None:
    """Print an import as ``research show`` does."""
    found = next((one for one in imports_of(console, store) if one.id == name), None)
    if not found:
        raise SessionUnknown(f"{name} has no records", hint="import it again: research import PATH")
    said = found.last
    lines = [said.heading, f"  ! {NOT_CHECKED}"]
    lines.append(f"  {said.kind}, from {said.origin}; its status there: {said.status or 'unknown'}")
    lines.append(f"  began {said.created[:19] or 'at an unknown time'}, imported {said.at[:19]}")
    lines.append(f"  {counted(said.records, 'record')}; the original is stored as {said.digest[:16]}…")
    lines += [f"  {line}" for line in said.faults]
    console.data(lines, {**listed_import(found), "faults": said.faults, "queue": said.queue})
