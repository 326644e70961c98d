"""The commands ``why`` (what a sentence of a report rests on) and ``graph`` (all that led to a report)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import require_workspace, session_named
from pipeline.cli.param_types import SessionName
from pipeline.ops.console_output import Console, put

if TYPE_CHECKING:
    from pipeline.domain.provenance import Evidence, Origin, Why
    from pipeline.domain.state import SessionState
    from pipeline.domain.values import Fact

_AT = click.option("--at", "version", type=click.IntRange(min=1), metavar="VERSION", help="As of the event with this version.")
_MOST_ORIGINS = 3


@click.command()
@click.argument("session", type=SessionName())
@click.argument("words")
@_AT
@click.pass_obj
def why(console: Console, session: str, words: str, version: int | None) -> None:
    """Show what a sentence of SESSION's report rests on. WORDS are some words of it, or a fact's id.

    From the sentence to its facts, their quotes, the pages, the searches that found them, and the thoughts and perspectives
    behind them; and what speaks against it.
    """
    from pipeline.domain.provenance import graph_of, value_of
    from pipeline.domain.provenance import why as why_of
    from pipeline.errors import UsageError

    require_workspace(console.folder)
    state = _state(console, session, version)
    found = why_of(state, graph_of(state), words)
    if found is None:
        what = "has no report yet" if state.report is None else "has no sentence like that"
        hint = "take some words of a sentence, or the id of a fact: research graph SESSION --kinds sentence,fact lists both"
        raise UsageError(f"{state.id} {what}", hint=hint)
    console.data(list(_lines(found)), value_of(found))


def _state(console: Console, session: str, version: int | None) -> SessionState:
    from pipeline.domain.session import ResearchSession, state_at
    from pipeline.errors import UsageError
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    store = workspace_adapters.store_of(console.folder)
    name = session_named(console.folder, store, session)
    newest = ResearchSession.open(store, name).state
    if version and version > newest.version:
        raise UsageError(f"{name} has no version {version}", hint=f"it has the versions 1 to {newest.version}")
    return state_at(store, name, version) if version else newest


def _lines(found: Why) -> Iterator[str]:
    if found.sentence:
        yield f"“{found.sentence.text}”"
        yield f"  in the section “{found.sentence.title}”" + (f"; it was cut: {found.sentence.cut}" if found.sentence.cut else "")
        if not found.evidence:
            yield "  it cites no fact"
    for one in found.evidence:
        yield from _evidence_lines(one)
    yield from _against_lines(found)


def _evidence_lines(one: Evidence) -> Iterator[str]:
    disputed = " (disputed)" if one.standing == "disputed" else ""
    yield f"  fact {one.fact.id}{disputed}: “{' '.join(one.fact.quote.split())}”"
    address = f"{one.fact.url}#{one.fact.anchor}" if one.fact.anchor else one.fact.url
    yield f"    quoted from {' › '.join(one.fact.path) or address}  {address}"
    for origin in one.origins[:_MOST_ORIGINS]:
        yield from _origin_lines(origin)
    if len(one.origins) > _MOST_ORIGINS:
        yield f"      and {len(one.origins) - _MOST_ORIGINS} more searches found the page; research graph shows them all"


def _origin_lines(origin: Origin) -> Iterator[str]:
    yield f"      found by the search “{origin.search.label}”, hit {origin.rank}"
    if origin.thought is None:
        yield "        the first search, on the question itself"
        return
    yield f"        because: {origin.thought.label}  ({origin.thought.note})"
    if origin.perspective:
        yield f"        from the perspective “{origin.perspective.label}”" + (
            f": {origin.perspective.note}" if origin.perspective.note else ""
        )


def _against_lines(found: Why) -> Iterator[str]:
    against = [pair for one in found.evidence for pair in one.against]
    yield "speaks against it:" if against else "nothing that was found speaks against it"
    for fact, explanation in against:
        yield f"  {explanation}"
        yield f"    {_short(fact)}"


def _short(fact: Fact) -> str:
    return f"fact {fact.id} in {fact.path[0] if fact.path else fact.url}: “{' '.join(fact.quote.split())}”"


@click.command()
@click.argument("session", type=SessionName())
@_AT
@click.option("--kinds", metavar="KIND,…", help="Only nodes of these kinds, separated by commas: fact,page,sentence.")
@click.pass_obj
def graph(console: Console, session: str, version: int | None, kinds: str | None) -> None:
    """Print all that led to SESSION's report as JSON: searches, pages, facts, sentences, decisions, and what led to what."""
    from pipeline.domain.provenance import KINDS, as_json, graph_of
    from pipeline.errors import UsageError

    wanted = [name.strip() for name in (kinds or "").split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(KINDS)):
        raise UsageError(f"unknown kinds: {', '.join(unknown)}", hint=f"the kinds are {', '.join(KINDS)}")
    whole = graph_of(_state(console, session, version))
    put(as_json(whole.limited_to(wanted) if wanted else whole))


__all__ = ["graph", "why"]
