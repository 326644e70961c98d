"""The digest of a night as plain text, for a terminal and for mail: what was found, what was not, what failed.

It is read from the log alone: the vault need not be built.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text import labels
from pipeline.text.normalise import clean
from pipeline.vault.model import Card, Night, batch_of, folded, named, nights_from, summarised
from pipeline.vault.note import Names
from pipeline.vault.notes.mornings import Group, ended_as, group_of, news_words, outcome_words, standing_words
from pipeline.vault.output.escaping import duration, money, sentence

WIDTH = 72  # characters of a line, as mail readers like it


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a night: how it ended, why (""), and its session's card, None if its log cannot be read."""

    query: str
    status: str
    reason: str
    card: Card | None


@dataclass(frozen=True, slots=True)
class Digest:
    """A night's questions as their last run left them. ``left_out`` counts skipped ones, ``unread`` names streams not read."""

    date: str
    seconds: float
    usd: float
    questions: tuple[Question, ...]
    left_out: int
    not_made: tuple[str, ...]
    unread: tuple[str, ...]

    def of(self, group: Group) -> list[Question]:
        """The questions of a group, such as those that changed."""
        return [one for one in self.questions if group_of(one.status, one.card) == group]


def nights_in(store: EventStore) -> tuple[tuple[Night, ...], tuple[str, ...]]:
    """Return the nights of a log, the latest last, and the streams of nights that cannot be read."""
    batches, unread = [], []
    for name in sorted(name for name in store.marks() if name.startswith("batch-")):
        try:
            batches.append(batch_of(store, name))
        except LogError as error:
            unread.append(f"{name}: {error.message}")
    return nights_from(filter(None, batches)), tuple(unread)


def digest_of(store: EventStore, night: Night, unread: Iterable[str] = ()) -> Digest:
    """Return the digest of a night; a session that cannot be read is named, not left out."""
    last = night.last
    left_out = {entry.query_id for batch in night.batches for entry in batch.skipped} - last.keys()
    questions = []
    for entry in last.values():
        card = None
        with suppress(LogError):
            state, events = folded(entry.session, (record.data for record in store.load(entry.session)))
            card = named(summarised(state, events), Names()) if state.query else None
        questions.append(Question(entry.query, entry.status, entry.reason, card))
    return Digest(
        date=night.date,
        seconds=sum(batch.end.duration_s for batch in night.batches if batch.end),
        usd=sum(batch.end.cost.charged_usd for batch in night.batches if batch.end),
        questions=tuple(questions),
        left_out=len(left_out),
        not_made=tuple(dict.fromkeys(text for batch in night.batches for text in batch.not_made)),
        unread=(*unread, *(f"{one.query}: its log cannot be read" for one in questions if one.card is None)),
    )


def heading_of(digest: Digest) -> str:
    """Return the night in a line, as a mail's subject: ``Night of 21 November 2026: 3 answered, 1 failed``."""
    words = outcome_words(ended_as(one.status, one.card) for one in digest.questions)
    return f"Night of {labels.day(digest.date)}: {words or 'nothing was due'}"


def _summary(digest: Digest) -> str:
    cost = f", {money(digest.usd)}" if digest.usd else ""
    left_out = f"; {labels.count(digest.left_out, 'question')} left out" if digest.left_out else ""
    return f"{heading_of(digest)} ({duration(digest.seconds)}{cost}{left_out})"


_GROUPS: dict[Group, str] = {
    "changed": "What changed",
    "answered": "Answered",
    "passages": "Passages",
    "not-found": "Not found",
    "failed": "Failed",
    "open": "Unfinished",
}
_REPORTED = ("changed", "answered", "passages")  # of the others there is no report to show


def text_of(digest: Digest, place_of: Callable[[Card], str]) -> list[str]:
    """Return a digest as lines of at most ``WIDTH`` characters, addresses aside; ``place_of`` says where a report is."""
    lines = _wrapped(_summary(digest))
    for group, title in _GROUPS.items():
        found = digest.of(group)
        lines += ["", title] if found else []
        for one in found:
            if group not in _REPORTED:
                lines += _wrapped(_without_answer(one), "  - ", "    ")
                continue
            lines += ["", *_wrapped(one.query), *(line for text in _report(one.card) for line in _wrapped(text, "  ", "  "))]
            lines += [f"  {clean(place_of(one.card))}"] if one.card else []
    quiet, problems = digest.of("quiet"), (*digest.not_made, *digest.unread)
    lines += ["", *_wrapped(f"Nothing new: {'; '.join(one.query for one in quiet)}")] if quiet else []
    lines += ["", "Problems"] if problems else []
    return [line.rstrip() for line in (*lines, *(line for text in problems for line in _wrapped(text, "  - ", "    ")))]


def html_of(digest: Digest, place_of: Callable[[Card], str]) -> str:
    """Return a digest as a page for mail: without styles, scripts and images; what changed comes first."""
    title = escape(heading_of(digest))
    head = f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{title}</title></head><body>'
    parts = [head, f"<h1>{title}</h1>", f"<p>{escape(_summary(digest))}</p>"]
    for group, name in _GROUPS.items():
        found = digest.of(group)
        parts += [f"<h2>{name}</h2>"] if found else []
        for one in found:
            if group not in _REPORTED:
                parts.append(f"<p>{escape(_without_answer(one))}</p>")
                continue
            place, query = escape(place_of(one.card)) if one.card else "", escape(one.query)
            query = f'<a href="{place}">{query}</a>' if place.startswith(("https://", "http://")) else query
            parts.append(f"<h3>{query}</h3>" + "".join(f"<p>{escape(clean(text))}</p>" for text in _report(one.card)))
    if quiet := digest.of("quiet"):
        parts.append(f"<p>Nothing new: {escape('; '.join(one.query for one in quiet))}</p>")
    parts += [f"<p>Problem: {escape(text)}</p>" for text in (*digest.not_made, *digest.unread)]
    return "\n".join([*parts, "</body></html>"])


def _report(card: Card | None) -> Iterator[str]:
    """What a report says in short: what is new first, the answer, how sure it is, who disagrees, what is open."""
    if card is None or not card.has_report:
        return
    if card.news:
        yield from (f"new: {text}" for text in card.news.first)
    if card.answer:
        yield card.answer.text
    if sure := "; ".join(filter(None, (standing_words(card), news_words(card.news) if card.news else ""))):
        yield sentence(sure)
    if card.open:
        yield f"Still open: {card.open[0]}"


def _without_answer(one: Question) -> str:
    status = " (cancelled)" if one.status == "cancelled" else ""
    return f"{one.query}{status}{f': {sentence(one.reason)}' if one.reason else ''}"


def _wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    line = " ".join(clean(text).split())
    return textwrap.wrap(
        line, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
