"""The digest of a night as plain text, for a terminal and for mail: what was found, what was not, what failed.

It is read from the log alone: the vault need not be built.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape

from pipeline.domain.events.night_events import QueryEnded
from pipeline.domain.events.records import kind_of
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text import translations
from pipeline.text.normalise import clean
from pipeline.vault.model import Card, Night, batch_of, nights_from, read_card
from pipeline.vault.notes.mornings import Group, ended_as, groups_of, news_words, outcome_words, standing_words
from pipeline.vault.output.escaping import duration, money, sentence

WIDTH = 72  # characters of a line, as mail readers like it


@dataclass(frozen=True, slots=True)
class Digest:
    """A night's questions as their last run left them, each with its session's card, None if its log cannot be read.

    ``problems`` say what was not built, and which streams cannot be read.
    """

    night: Night
    questions: tuple[tuple[QueryEnded, Card | None], ...]
    problems: tuple[str, ...]

    @property
    def left_out(self) -> int:
        """How many questions were skipped."""
        return len({entry.query_id for entry in self.night.left_out})

    @property
    def usd(self) -> float:
        """What the runs cost that came to their end."""
        return sum(batch.end.cost.charged_usd for batch in self.night.batches if batch.end)


def nights_in(store: EventStore) -> tuple[tuple[Night, ...], tuple[str, ...]]:
    """Return the nights of a log, the latest last, and the streams of nights that cannot be read."""
    batches, unread = [], []
    for name in sorted(name for name in store.marks() if kind_of(name) == "batch"):
        try:
            batches.append(batch_of(store, name))
        except LogError as error:
            unread.append(f"{name}: {error.message}")
    return nights_from(filter(None, batches)), tuple(unread)


def digest_of(store: EventStore, night: Night, unread: Iterable[str] = ()) -> Digest:
    """Return the digest of a night; a session that cannot be read is named, not left out."""
    questions = []
    for entry in night.last.values():
        card = None
        with suppress(LogError):
            card = read_card(store, entry.session)
        questions.append((entry, card))
    lost = (f"{entry.query}: its log cannot be read" for entry, card in questions if card is None)
    return Digest(night, tuple(questions), (*night.not_made, *unread, *lost))


def heading_of(digest: Digest) -> str:
    """Return the night in a line, as a mail's subject: ``Night of 21 November 2026: 3 answered, 1 failed``."""
    words = outcome_words(ended_as(one.status, card) for one, card in digest.questions)
    return f"Night of {translations.day(digest.night.date)}: {words or 'nothing was due'}"


_GROUPS: dict[Group, str] = {
    "changed": "What changed",
    "answered": "Answered",
    "passages": "Passages",
    "not-found": "Not found",
    "failed": "Failed",
    "open": "Unfinished",
    "quiet": "Nothing new",
}
_REPORTED = ("changed", "answered", "passages")  # of the others there is no report to show


_INDENTS = {"said": ("  ", "  "), "item": ("  - ", "    ")}  # of the first line of a text, and of those that follow
_TAGS = {"section": "h2", "question": "h3"}


def text_of(digest: Digest, place_of: Callable[[Card], str]) -> list[str]:
    """Return a digest as lines of at most ``WIDTH`` characters, addresses aside; ``place_of`` says where a report is."""
    shown: list[str] = []
    for kind, text, card in _lines(digest):
        first, others = _INDENTS.get(kind, ("", ""))
        shown += [""] if kind in _TAGS else []
        shown += textwrap.wrap(
            text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
        )
        shown += [f"  {clean(place_of(card))}"] if card else []
    return shown


def html_of(digest: Digest, place_of: Callable[[Card], str]) -> str:
    """Return a digest as a page for mail: without styles, scripts and images."""
    title = escape(heading_of(digest))
    parts = [f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{title}</title></head><body>', f"<h1>{title}</h1>"]
    for kind, text, card in _lines(digest):
        words, place, tag = escape(text), escape(place_of(card)) if card else "", _TAGS.get(kind, "p")
        parts.append(f'<{tag}><a href="{place}">{words}</a></{tag}>' if place.startswith("http") else f"<{tag}>{words}</{tag}>")
    return "\n".join([*parts, "</body></html>"])


def _lines(digest: Digest) -> Iterator[tuple[str, str, Card | None]]:
    """The digest in lines without control characters, what changed first: kind, text, and the card of a report."""
    groups = groups_of(digest.questions)
    cost = f", {money(digest.usd)}" if digest.usd else ""
    left_out = f"; {translations.count(digest.left_out, 'question')} left out" if digest.left_out else ""
    took = duration(digest.night.seconds) if digest.night.seconds else "interrupted"
    lines: list[tuple[str, str, Card | None]] = [("summary", f"{heading_of(digest)} ({took}{cost}{left_out})", None)]
    for group, title in _GROUPS.items():
        found = groups.get(group, [])
        lines += [("section", title, None)] if found else []
        for one, card in found:
            if group in _REPORTED:
                lines += [("question", one.query, card), *(("said", text, None) for text in _report(card))]
            else:
                status = " (cancelled)" if one.status == "cancelled" else ""
                lines.append(("item", f"{one.query}{status}{f': {sentence(one.reason)}' if one.reason else ''}", None))
    if digest.problems:
        lines += [("section", "Problems", None), *(("item", text, None) for text in digest.problems)]
    yield from ((kind, " ".join(clean(text).split()), card) for kind, text, card in lines)


def _report(card: Card | None) -> Iterator[str]:
    """What a report says in short: what is new first, the answer, how sure it is, what is open."""
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
