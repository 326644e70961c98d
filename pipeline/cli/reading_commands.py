"""The commands that read what was found: ``why`` and ``digest``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import date
from typing import Any

import click

from pipeline.cli.command_parts import require_workspace, session_named
from pipeline.config.settings import load_workspace
from pipeline.domain.events.stream_events import NoteRated
from pipeline.domain.provenance import Evidence, Why, value_of
from pipeline.domain.provenance import why as why_of
from pipeline.domain.session import ResearchSession
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console
from pipeline.site.paths import encoded, page_of
from pipeline.vault.digest import Digest, digest_of, heading_of, html_of, nights_in, text_of
from pipeline.vault.identity import read_decisions
from pipeline.vault.model import Card, Night
from pipeline.wiring.store_adapters import store_of

_MOST_ORIGINS = 3


@click.command()
@click.argument("session")
@click.argument("words")
@click.pass_obj
def why(console: Console, session: str, words: str) -> None:
    """Show what a sentence of SESSION's report rests on. WORDS are some words of it, or a fact's id.

    From the sentence to its facts, their quotes, the pages, the searches that found them, and the thoughts and perspectives
    behind them; what speaks against it; and what you called useful or wrong.
    """
    require_workspace(console.folder)
    store = store_of(console.folder)
    state = ResearchSession.open(store, session_named(console.folder, store, session)).state
    found = why_of(state, words)
    if found is None:
        what = "has no report yet" if state.report is None else "has no sentence like that"
        hint = "take some words of a sentence of its report, or the id of a fact"
        raise UsageError(f"{state.id} {what}", hint=hint)
    ratings = read_decisions(store).ratings
    rated = {one.fact.id: event for one in found.evidence if (event := ratings.latest_on(state.query_id, one.fact))}
    value = value_of(found)
    for evidence in value["evidence"]:
        event = rated.get(evidence["fact"]["id"])
        evidence["rating"] = event.rating if event else ""
    console.data(list(_lines(found, rated)), value)


def _lines(found: Why, rated: dict[str, NoteRated]) -> Iterator[str]:
    if found.sentence:
        yield f"“{found.sentence.text}”"
        yield f"  in the section “{found.sentence.title}”" + (f"; it was cut: {found.sentence.cut}" if found.sentence.cut else "")
        if not found.evidence:
            yield "  it cites no fact"
    for one in found.evidence:
        yield from _evidence_lines(one, rated.get(one.fact.id))
    against = [pair for one in found.evidence for pair in one.against]
    yield "speaks against it:" if against else "nothing that was found speaks against it"
    for fact, explanation in against:
        yield f"  {explanation}"
        yield f"    fact {fact.id} in {fact.path[0] if fact.path else fact.url}: “{' '.join(fact.quote.split())}”"


def _evidence_lines(one: Evidence, rated: NoteRated | None) -> Iterator[str]:
    disputed = " (disputed)" if one.against else ""
    yield f"  fact {one.fact.id}{disputed}: “{' '.join(one.fact.quote.split())}”"
    address = f"{one.fact.url}#{one.fact.anchor}" if one.fact.anchor else one.fact.url
    yield f"    quoted from {' › '.join(one.fact.path) or address}  {address}"
    if rated:
        yield f"    you called {'it' if rated.fact else 'its source'} {rated.rating} on {rated.at[:10]}"
    for way in one.origins[:_MOST_ORIGINS]:
        yield f"      found by the search “{way.search}”, hit {way.rank}"
        yield f"        because: {way.thought}  ({way.step})" if way.step else "        the first search, on the question itself"
        if way.perspective:
            yield f"        from the perspective “{way.perspective}”" + (f": {way.focus}" if way.focus else "")
    if len(one.origins) > _MOST_ORIGINS:
        yield f"      and {len(one.origins) - _MOST_ORIGINS} more searches found the page"


@click.command()
@click.option(
    "--night", "day", metavar="DATE", help="The night that began on this day (UTC), such as 2026-11-21.  [default: the last]"
)
@click.option("--html", is_flag=True, help="As a page for mail.")
@click.pass_obj
def digest(console: Console, day: str | None, html: bool) -> None:
    """Print what a night found: what changed first, each answer in a sentence, how sure it is, what failed."""
    require_workspace(console.folder)
    store = store_of(console.folder)
    nights, unread = nights_in(store)
    night = _chosen(nights, day)
    if night is None:
        lines = ["nothing has been researched yet: research run", *(f"cannot be read: {text}" for text in unread)]
        console.data(lines, {"night": None, "unread": unread})
        return
    found = digest_of(store, night, unread)
    where = place_of(console, load_workspace(console.folder).queue.settings.site_url)
    lines = html_of(found, where).split("\n") if html else text_of(found, where)
    console.data(lines, _value(found, heading_of(found), where))


def _chosen(nights: tuple[Night, ...], day: str | None) -> Night | None:
    """The night of a day, or the last one.

    Raises:
        UsageError: ``day`` is no date, or no night began on it.
    """
    if day is None:
        return nights[-1] if nights else None
    try:
        wanted = date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise UsageError(f"--night {day!r} is not a date", hint="write it as 2026-11-21") from error
    for night in nights:
        if night.date == wanted:
            return night
    known = ", ".join(night.date for night in nights[-5:])
    raise UsageError(f"no night began on {wanted}", hint=f"the last nights: {known}" if known else "nothing was researched yet")


def place_of(console: Console, url: str) -> Callable[[Card], str]:
    """Return what says where a report is: on the site, if its address is set, else in the vault."""
    if url:
        return lambda card: f"{url.rstrip('/')}/{encoded(page_of(f'{card.report_path}.md'))}"
    return lambda card: console.path(f"vault/{card.report_path}.md")


def _value(found: Digest, heading: str, place_of: Callable[[Card], str]) -> dict[str, Any]:
    return {
        "night": found.date,
        "heading": heading,
        "seconds": found.seconds,
        "usd": found.usd,
        "left_out": found.left_out,
        "questions": [_question(one, place_of) for one in found.questions],
        "problems": [*found.not_made, *found.unread],
    }


def _question(one: Any, place_of: Callable[[Card], str]) -> dict[str, Any]:
    card = one.card if one.card and one.card.has_report else None
    found = asdict(card) if card else {}
    return {
        "query": one.query,
        "status": one.status,
        "reason": one.reason,
        "report": place_of(card) if card else "",
        "open": one.card.open if one.card else (),
        "found": {name: found[name] for name in ("answer", "disputed", "dispute", "news")} if card else None,
    }
