"""The note of a night: questions answered, not found, failed, unfinished and skipped; its runs and its cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.domain.events import batch_events as n
from pipeline.text import labels
from pipeline.text.words import language_code
from pipeline.vault.mornings.entries import Entry, done_words, entry_of
from pipeline.vault.notes.note_parts import best_link, night_link, night_path, properties_of, session_link
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.vault_model import Batch, Night, VaultModel

_OUTCOMES = {"complete": "done", "not-found": "not found", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class Worked:
    """A query that the night worked on. ``link`` leads to the report, else the session, else it is the bare question.

    ``entry`` is what its report says in short, None without one.
    """

    link: Link | str
    session: Link | None
    entry: Entry | None
    outcome: str
    reason: str
    by_model: bool
    sources: int
    facts: int
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """Queries that were skipped for the same reason."""

    reason: str
    queries: tuple[Link | str, ...]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One run over the queue; ``ended_at`` is "" if it was interrupted."""

    started_at: str
    ended_at: str
    due: int
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True)
class NightView:
    """What ``night.md.j2`` is given."""

    title: str
    date: str
    done: tuple[Worked, ...]
    done_words: str
    not_found: tuple[Worked, ...]
    failed: tuple[Worked, ...]
    open: tuple[Worked, ...]
    skipped: tuple[Skipped, ...]
    left_out: int
    not_made: tuple[str, ...]
    batches: tuple[BatchRow, ...]
    seconds: float
    usd: float
    unknown_usd: float
    likely_usd: float
    earlier: Link | None
    later: Link | None


def night_note(model: VaultModel, night: Night) -> Note:
    """Return the note of a night."""
    language = night_language(night)
    view = night_view(model, night, language)
    own = {
        "done": len(view.done),
        "not_found": len(view.not_found),
        "failed": len(view.failed),
        "skipped": view.left_out,
        "cost_usd": round(view.usd, 6),
        "duration_s": round(view.seconds, 3),
    }
    properties = properties_of("night", view.title, own, created=night.batches[0].started_at, language=language)
    return Note(night_path(night.date), "night", properties, view)


def night_language(night: Night) -> str:
    """Return the code of the language that all its questions have, else that of English."""
    languages = {language_code(entry.query) for entry in night.ended}
    return languages.pop() if len(languages) == 1 else labels.ENGLISH


def night_view(model: VaultModel, night: Night, language: str = labels.ENGLISH) -> NightView:
    """Return what a night's note says; a query counts once, as its last run of the night left it."""
    last = {entry.query_id: entry for entry in night.ended}
    worked = [_worked(model, entry, night.ended) for entry in last.values()]
    done = tuple(entry for entry in worked if entry.outcome == "done")
    skipped = _skipped(model, night, set(last))
    batches = tuple(_batch(model, batch) for batch in night.batches)
    place = model.nights.index(night)
    return NightView(
        title=labels.label("Night of {day}", language, day=labels.day(night.date, language)),
        date=night.date,
        done=done,
        done_words=done_words(sum(one.by_model for one in done), len(done)),
        not_found=tuple(entry for entry in worked if entry.outcome == "not found"),
        failed=tuple(entry for entry in worked if entry.outcome == "failed"),
        open=tuple(entry for entry in worked if entry.outcome not in {"done", "not found", "failed"}),
        skipped=skipped,
        left_out=sum(len(group.queries) for group in skipped),
        not_made=tuple(dict.fromkeys(text for batch in night.batches for text in batch.not_made)),
        batches=batches,
        seconds=sum(batch.seconds for batch in batches),
        usd=sum(batch.usd for batch in batches),
        unknown_usd=sum(model.unknown[entry.id][0] for entry in night.ended),
        likely_usd=sum(model.unknown[entry.id][1] for entry in night.ended),
        earlier=night_link(model.nights[place - 1].date, language) if place else None,
        later=night_link(model.nights[place + 1].date, language) if place + 1 < len(model.nights) else None,
    )


def _worked(model: VaultModel, entry: n.QueryEnded, all_ended: Iterable[n.QueryEnded]) -> Worked:
    mine = [model.spent[other.id] for other in all_ended if other.query_id == entry.query_id]
    card = model.by_id.get(entry.session)
    return Worked(
        link=best_link(card) if card else entry.query,
        session=session_link(card, "how") if card and card.report_path else None,
        entry=entry_of(model, card) if card and card.answered else None,
        outcome=_OUTCOMES.get(entry.status, "unfinished"),
        reason=entry.reason,
        by_model=card is None or card.by_model,
        sources=len(card.drawn) if card else 0,
        facts=card.facts if card else 0,
        seconds=sum(seconds for _, seconds in mine),
        usd=sum(usd for usd, _ in mine),
    )


def _skipped(model: VaultModel, night: Night, worked: set[str]) -> tuple[Skipped, ...]:
    """The queries that no run of the night worked on, by reason."""
    reasons: dict[str, dict[str, Link | str]] = {}
    for entry in (entry for batch in night.batches for entry in batch.skipped):
        if entry.query_id not in worked:
            reasons.setdefault(_reason(entry.reason), {})[entry.query_id] = _latest(model, entry, night.date)
    return tuple(Skipped(reason, tuple(queries.values())) for reason, queries in reasons.items())


def _reason(text: str) -> str:
    """The reason; an earlier outcome is marked as earlier, because it is not this night's."""
    outcome, colon, why = text.partition(": ")
    return f"{outcome} earlier ({why})" if colon and outcome in {"not found", "failed", "cancelled"} else text


def _latest(model: VaultModel, entry: n.QuerySkipped, date: str) -> Link | str:
    """The link to what was known of a skipped query by that night, so that the note does not change later."""
    known = [card for card in model.of_query.get(entry.query_id, ()) if card.started_at[:10] <= date]
    return best_link(known[-1]) if known else entry.query


def _batch(model: VaultModel, batch: Batch) -> BatchRow:
    spent = [model.spent[entry.id] for entry in batch.ended]
    seconds = batch.end.duration_s if batch.end else sum(seconds for _, seconds in spent)
    ended_at = batch.end.at if batch.end else ""
    return BatchRow(batch.started_at, ended_at, len(batch.due), seconds, sum(usd for usd, _ in spent))
