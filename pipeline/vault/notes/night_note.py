"""The note of a night: what changed, what was answered, passages, not found, failed, unfinished, left out; its runs and cost."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.events import stream_events as n
from pipeline.text import labels
from pipeline.text.words import language_code
from pipeline.vault.mornings.entries import Entry, Group, ended_as, entry_of, group_of, outcome_words
from pipeline.vault.notes.note_parts import best_link, night_link, night_path, properties_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import Batch, Night, VaultModel


@dataclass(frozen=True, slots=True)
class Ended:
    """A question without a report to show: the link to its note, else the bare question, and why."""

    link: Link | str
    outcome: str
    reason: str


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
    """What ``night.md.j2`` is given. ``words`` counts the outcomes; ``quiet`` are links to reports with nothing new."""

    title: str
    date: str
    words: str
    changed: tuple[Entry, ...]
    answered: tuple[Entry, ...]
    passages: tuple[Entry, ...]
    quiet: tuple[Link, ...]
    not_found: tuple[Ended, ...]
    failed: tuple[Ended, ...]
    open: tuple[Ended, ...]
    skipped: tuple[Skipped, ...]
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
    languages = {language_code(entry.query) for entry in night.ended}
    language = languages.pop() if len(languages) == 1 else labels.ENGLISH
    view = night_view(model, night, language)
    own = {
        "done": len(view.changed) + len(view.answered) + len(view.passages) + len(view.quiet),
        "not_found": len(view.not_found),
        "failed": len(view.failed),
        "skipped": sum(len(group.queries) for group in view.skipped),
        "cost_usd": round(view.usd, 6),
        "duration_s": round(view.seconds, 3),
    }
    properties = properties_of("night", view.title, own, created=night.batches[0].started_at, language=language)
    return Note(night_path(night.date), "night", properties, view)


def night_view(model: VaultModel, night: Night, language: str = labels.ENGLISH) -> NightView:
    """Return what a night's note says; a query counts once, as its last run of the night left it."""
    last = {entry.query_id: entry for entry in night.ended}
    cards = {name: model.by_id.get(entry.session) for name, entry in last.items()}
    groups: dict[Group, list[tuple[n.QueryEnded, Card | None]]] = {}
    for name, entry in last.items():
        groups.setdefault(group_of(entry.status, cards[name]), []).append((entry, cards[name]))

    def entries(group: Group) -> tuple[Entry, ...]:
        return tuple(entry_of(model, card) for _, card in groups.get(group, ()) if card)

    def ended(group: Group) -> tuple[Ended, ...]:
        return tuple(
            Ended(best_link(card) if card else entry.query, "cancelled" if entry.status == "cancelled" else "", entry.reason)
            for entry, card in groups.get(group, ())
        )

    batches = tuple(_batch(model, batch) for batch in night.batches)
    place = model.nights.index(night)
    return NightView(
        title=labels.label("Night of {day}", language, day=labels.day(night.date, language)),
        date=night.date,
        words=outcome_words(ended_as(entry.status, cards[name]) for name, entry in last.items()) or "nothing was due",
        changed=entries("changed"),
        answered=entries("answered"),
        passages=entries("passages"),
        quiet=tuple(best_link(card) for _, card in groups.get("quiet", ()) if card),
        not_found=ended("not-found"),
        failed=ended("failed"),
        open=ended("open"),
        skipped=_skipped(model, night, set(last)),
        not_made=tuple(dict.fromkeys(text for batch in night.batches for text in batch.not_made)),
        batches=batches,
        seconds=sum(batch.seconds for batch in batches),
        usd=sum(batch.usd for batch in batches),
        unknown_usd=sum(model.unknown[entry.id][0] for entry in night.ended),
        likely_usd=sum(model.unknown[entry.id][1] for entry in night.ended),
        earlier=night_link(model.nights[place - 1].date, language) if place else None,
        later=night_link(model.nights[place + 1].date, language) if place + 1 < len(model.nights) else None,
    )


def _skipped(model: VaultModel, night: Night, worked: set[str]) -> tuple[Skipped, ...]:
    """The queries that no run of the night worked on, by reason, with what was known of each by that night."""
    reasons: dict[str, dict[str, Link | str]] = {}
    for entry in (entry for batch in night.batches for entry in batch.skipped):
        if entry.query_id not in worked:
            known = [card for card in model.of_query.get(entry.query_id, ()) if card.started_at[:10] <= night.date]
            link = best_link(known[-1]) if known else entry.query
            reasons.setdefault(_reason(entry.reason), {})[entry.query_id] = link
    return tuple(Skipped(reason, tuple(queries.values())) for reason, queries in reasons.items())


def _reason(text: str) -> str:
    """The reason; an earlier outcome is marked as earlier, because it is not this night's."""
    outcome, colon, why = text.partition(": ")
    return f"{outcome} earlier: {why}" if colon and outcome in {"not found", "failed", "cancelled"} else text


def _batch(model: VaultModel, batch: Batch) -> BatchRow:
    spent = [model.spent[entry.id] for entry in batch.ended]
    seconds = batch.end.duration_s if batch.end else sum(seconds for _, seconds in spent)
    return BatchRow(batch.started_at, batch.end.at if batch.end else "", len(batch.due), seconds, sum(usd for usd, _ in spent))
