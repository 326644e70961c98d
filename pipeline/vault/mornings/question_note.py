"""The note of a question with several reports: the latest two side by side, and what each of them found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.vault import paths
from pipeline.vault.memory.timeline import Told
from pipeline.vault.mornings.entries import Entry, entry_of, news_words, standing_words
from pipeline.vault.mornings.history import SessionRow, Sums, rows_of, sums_of
from pipeline.vault.mornings.learnt import Learnt, News
from pipeline.vault.notes.note_parts import Cited, cited, properties_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.session_card import Brief, Card
from pipeline.vault.vault_model import VaultModel

MOST_REPORTS = 60


@dataclass(frozen=True, slots=True)
class Statement:
    """What one report states and the other does not: ``before`` is "" for what is new, ``now`` None for what is gone."""

    before: str
    now: Cited | None


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What ``question.md.j2`` is given. ``latest`` and ``before`` are the last two reports; ``reports`` all, the newest first.

    ``statements`` are the first few in which the two differ, ``more_statements`` counts the others. ``sessions`` are all of them,
    those without a report too, the newest first; ``sums`` what they took together. ``differing`` names what differs between the
    last two reports: ``answer``, ``standing``, ``sources``, ``disagreement`` and ``open``. ``episodes`` is what a model said of
    each session, ``asked`` leads to what was asked since.
    """

    title: str
    latest: Entry
    before: Entry
    words: tuple[int, int]
    facts: tuple[int, int]
    changed: str
    differing: tuple[str, ...]
    statements: tuple[Statement, ...]
    more_statements: int
    reports: tuple[Entry, ...]
    older_reports: int
    sessions: tuple[SessionRow, ...]
    sums: Sums
    episodes: tuple[Told, ...] = ()
    asked: tuple[Link, ...] = ()


def questions_of(briefs: Iterable[Brief]) -> dict[str, tuple[Brief, ...]]:
    """Return the reports of each query that has two or more, in order of their sessions' start."""
    found: dict[str, list[Brief]] = {}
    for brief in briefs:
        if brief.reported and brief.query_id:
            found.setdefault(brief.query_id, []).append(brief)
    return {query_id: tuple(same) for query_id, same in found.items() if len(same) > 1}


def question_note(
    model: VaultModel,
    query_id: str,
    cards: Sequence[Card],
    asked: tuple[Link, ...] = (),
    episodes: tuple[Told, ...] = (),
) -> Note:
    """Return the note of a query; ``cards`` are those of its reports, two at least, in order of their sessions' start.

    ``asked`` leads to the talks about them, and to what those had researched. ``episodes`` are a model's sentences on them.
    """
    *_, before, latest = cards
    view = replace(_view(model, cards, before, latest), asked=asked, episodes=episodes)
    own = {
        "reports": len(cards),
        "sessions": view.sums.sessions,
        "sources": view.latest.sources,
        "cost_usd": round(view.sums.usd, 6),
        "duration_s": round(view.sums.seconds, 3),
    }
    title = f"{view.title} – all reports"
    properties = properties_of("question", title, own, topics=latest.tags, created=latest.reported_at)
    return Note(paths.question_path(query_id), "question", properties, view)


def _view(model: VaultModel, cards: Sequence[Card], before: Card, latest: Card) -> QuestionView:
    tries = model.of_query[latest.query_id]
    news = latest.learnt.news if latest.learnt and latest.previous_session == before.id else None
    statements = tuple(_statements(model, news)) if news else ()
    in_all = news.added_in_all + news.changed_in_all + news.gone_in_all if news else 0
    shown = cards[-MOST_REPORTS:]
    return QuestionView(
        title=latest.query,
        latest=entry_of(model, latest),
        before=entry_of(model, before),
        words=(before.words, latest.words),
        facts=(before.facts, latest.facts),
        changed=news_words(news) if news else "",
        differing=tuple(_differing(before, latest)),
        statements=statements,
        more_statements=max(0, in_all - len(statements)),
        reports=tuple(entry_of(model, card) for card in reversed(shown)),
        older_reports=len(cards) - len(shown),
        sessions=rows_of(tries),
        sums=sums_of(tries),
    )


def _differing(before: Card, latest: Card) -> Iterator[str]:
    """Yield the names of what differs between two reports, as a reader sees it."""
    one, other = before.learnt, latest.learnt
    if _said(one) != _said(other):
        yield "answer"
    if (standing_words(one) if one else "") != (standing_words(other) if other else ""):
        yield "standing"
    if {source.url for source in before.drawn} != {source.url for source in latest.drawn}:
        yield "sources"
    if (before.disagreements, one and one.dispute) != (latest.disagreements, other and other.dispute):
        yield "disagreement"
    if before.open != latest.open:
        yield "open"


def _said(learnt: Learnt | None) -> str:
    return learnt.answer.text if learnt and learnt.answer else ""


def _statements(model: VaultModel, news: News) -> Iterator[Statement]:
    """Replaced statements, then new ones, then those that are gone."""
    yield from (Statement(before, cited(model, after)) for before, after in news.changed)
    yield from (Statement("", cited(model, text)) for text in news.added)
    yield from (Statement(text, None) for text in news.gone)
