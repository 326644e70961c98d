"""The home note: one screen with what changed last night first; older questions are a list of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.vault.notes.night_note import NightView, night_view
from pipeline.vault.notes.note_parts import best_link, night_link, properties_of, topic_link
from pipeline.vault.notes.thirty_nights import legend
from pipeline.vault.notes.topic_note import latest, of_questions, topic_title, topics_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.paths import HOME
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

MOST_OLDER, MOST_ATTENTION, MOST_TOPICS, MOST_IMPORTS = 20, 10, 20, 8


@dataclass(frozen=True, slots=True)
class Attention:
    """A question whose latest session failed, is unfinished, or waits for its plan to be approved."""

    session: Link
    outcome: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class HomeView:
    """What ``home.md.j2`` is given. ``night`` is the last night, None before the first; ``picture`` says what its colours mean.

    ``older`` are links to the latest reports on other questions, newest first, ``not_found`` those of them without an answer;
    ``more_…`` count what is not listed.
    """

    title: str
    night: NightView | None
    night_link: Link | None
    picture: str
    attention: tuple[Attention, ...]
    more_attention: int
    older: tuple[Link, ...]
    not_found: tuple[Link, ...]
    more_older: int
    topics: tuple[Link, ...]
    more_topics: int
    imports: tuple[Link, ...]
    more_imports: int
    reports: int
    sources: int


def home_note(model: VaultModel, cards: Sequence[Card], imports: Sequence[Link] = ()) -> Note:
    """Return the home note; ``cards`` of all sessions in order of their start, ``imports`` links to imports, latest first."""
    last = model.nights[-1] if model.nights else None
    worked = {entry.query_id for entry in last.ended} if last else set()
    questions = [same for same in of_questions(cards) if same[-1].query_id not in worked or not same[-1].query_id]
    unanswered = [same[-1] for same in questions if not same[-1].has_note and same[-1].query_id not in model.archived]
    older = [card for same in questions if (card := latest(same)).has_note]
    topics = topics_of(cards)
    named = sorted(topics, key=lambda topic: (-len(of_questions(topics[topic])), topic))
    view = HomeView(
        title="Research",
        night=night_view(model, last) if last else None,
        night_link=night_link(last.date) if last else None,
        picture=legend(model),
        attention=tuple(map(_attention, unanswered[:MOST_ATTENTION])),
        more_attention=max(0, len(unanswered) - MOST_ATTENTION),
        older=tuple(map(best_link, older[:MOST_OLDER])),
        not_found=tuple(best_link(card) for card in older[:MOST_OLDER] if card.outcome == "not-found"),
        more_older=max(0, len(older) - MOST_OLDER),
        topics=tuple(topic_link(topic_title(topic, topics[topic])) for topic in named[:MOST_TOPICS]),
        more_topics=max(0, len(named) - MOST_TOPICS),
        imports=tuple(imports[:MOST_IMPORTS]),
        more_imports=max(0, len(imports) - MOST_IMPORTS),
        reports=sum(card.answered for card in cards),
        sources=len(model.sources),
    )
    own = {"reports": view.reports, "sessions": len(cards), "sources": view.sources}
    return Note(HOME, "home", properties_of("home", view.title, own), view)


def _attention(card: Card) -> Attention:
    outcome = card.status if card.ended else "its plan waits for approval" if card.waiting else "unfinished"
    return Attention(best_link(card), outcome, card.end_reason, card.ended_at or card.started_at)
