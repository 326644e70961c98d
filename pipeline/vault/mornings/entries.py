"""One question as the front page and a night's note show it: the answer, how sure it is, what changed, what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.domain.state import OUTCOME_WORDS
from pipeline.text import labels
from pipeline.text.normalise import one_line
from pipeline.vault.mornings.learnt import CitedText, Dispute, News
from pipeline.vault.notes.note_parts import Cited, best_link, cited, source_link
from pipeline.vault.output import formatting
from pipeline.vault.output.escaping import Link
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

MOST_LOST = 3  # documents that are gone; the rest is counted


@dataclass(frozen=True, slots=True)
class ShortSide:
    """One side of a disagreement in a sentence, and the link to its source, None if the report does not refer to it."""

    said: Cited
    source: Link | None


@dataclass(frozen=True, slots=True)
class ShortDispute:
    """Two statements that cannot both be true."""

    subject: str
    a: ShortSide
    b: ShortSide


Group = Literal["changed", "answered", "passages", "quiet", "not-found", "failed", "open"]


def group_of(status: str, card: Card | None) -> Group:
    """Return where a question stands in the morning, by how its session ended: what changed comes first.

    ``quiet``: it was researched again, and nothing is new.
    """
    if status != "complete":
        return "not-found" if status == "not-found" else "failed" if status == "failed" else "open"
    news = card.learnt.news if card and card.learnt else None
    if news is not None:
        return "quiet" if news.quiet and not news.lost else "changed"
    return "passages" if card and card.outcome == "passages" else "answered"


def outcome_words(outcomes: Iterable[str]) -> str:
    """Return how many questions ended how: ``3 answered, 2 with passages, 1 not found``; "" for none."""
    counts = Counter(outcomes)
    words = {**OUTCOME_WORDS, "passages": "with passages", **_OTHERS}
    return ", ".join(f"{counts[name]:,} {word}" for name, word in words.items() if counts[name])


_OTHERS = {"failed": "failed", "open": "unfinished"}


def ended_as(status: str, card: Card | None) -> str:
    """Return the outcome of a question in a night; ``failed`` or ``open`` without one."""
    if status == "complete":
        return card.outcome if card and card.outcome else "answered"
    return group_of(status, card)


@dataclass(frozen=True, slots=True)
class Entry:
    """The latest report on a question, in short. ``first`` is the answer, ``at`` when the report was finished.

    ``standing`` says how many sources the report cites, ``news`` what changed since the report before ("" for the
    first). ``question`` is one open question, ``more_questions`` counts the others; ``earlier`` counts the earlier reports.
    """

    report: Link
    outcome: str
    at: str
    first: Cited | None
    standing: str
    news: str
    dispute: ShortDispute | None
    more_disputes: int
    question: str
    more_questions: int
    earlier: int


def entry_of(model: VaultModel, card: Card) -> Entry:
    """Return the entry of a report's card."""
    learnt = card.learnt
    before = [one for one in model.of_query.get(card.query_id, ()) if one.has_report and one.started_at < card.started_at]
    return Entry(
        report=best_link(card),
        outcome=OUTCOME_WORDS.get(card.outcome, ""),
        at=card.reported_at,
        first=cited(model, learnt.answer) if learnt and learnt.answer else None,
        standing=standing_words(card),
        news=news_words(learnt.news) if learnt and learnt.news else "",
        dispute=_dispute(model, learnt.dispute) if learnt and learnt.dispute else None,
        more_disputes=max(0, card.disagreements - 1),
        question=next(iter(card.open), ""),
        more_questions=max(0, len(card.open) - 1),
        earlier=len(before) if card.query_id else 0,
    )


def dated_link(card: Card) -> Link:
    """Return the link to a report, shown as its day and what was new: ``21 November 2026: 4 new facts``."""
    news = card.learnt.news if card.learnt else None
    what = news_words(news, dated=False) if news else "first report" if not card.previous_session else ""
    day = labels.day(card.reported_at or card.ended_at or card.started_at)
    return Link(best_link(card).path, f"{day}: {what}" if what else day)


def standing_words(card: Card) -> str:
    """Return how many sources the report cites, and whether one denies the answer: ``3 sources``, ``2 sources, disputed``."""
    words = labels.count(len(card.drawn), "source") if card.drawn else ""
    return f"{words}, disputed" if card.learnt and card.learnt.disputed else words


def news_words(news: News, *, dated: bool = True) -> str:
    """Return what changed: ``4 new facts and 1 gone since 14 November 2026``, ``nothing new since …``.

    Documents of the report before that were deleted or moved come first. ``dated`` False: without the day of that report.
    """
    since = f" since {labels.day(news.since)}" if news.since and dated else ""
    if news.quiet:
        return _lost_words(news.lost) if news.lost else f"nothing new{since}"
    added = [labels.count(news.added_in_all, "new fact")] if news.added_in_all else []
    changed = [f"{news.changed_in_all:,} changed"] if news.changed_in_all else []
    gone = [f"{news.gone_in_all:,} gone"] if news.gone_in_all else []
    before = f"{_lost_words(news.lost)}; " if news.lost else ""
    return f"{before}{formatting.joined([*added, *changed, *gone])}{since}"


def _lost_words(paths: tuple[str, ...]) -> str:
    more = len(paths) - MOST_LOST
    named = ", ".join(one_line(path, 80) for path in paths[:MOST_LOST]) + (f" and {more:,} more" if more > 0 else "")
    return f"a source of the last report is gone: {named}" if len(paths) == 1 else f"sources of the last report are gone: {named}"


def _dispute(model: VaultModel, dispute: Dispute) -> ShortDispute:
    return ShortDispute(dispute.subject, _side(model, dispute.a), _side(model, dispute.b))


def _side(model: VaultModel, text: CitedText) -> ShortSide:
    source = source_link(model.sources[text.cites[0].url]) if text.cites else None
    return ShortSide(cited(model, text), source)
