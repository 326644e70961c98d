"""What a person called useful or wrong, folded from the events under ``events/vault/``. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.vault_events import NoteRated


@dataclass(frozen=True, slots=True)
class Rated:
    """What counts for one question: the ids of useful and of wrong passages, and the addresses of useful and of wrong sources.

    A wrong passage is not used again, and its source comes last; a useful one comes first.
    """

    useful: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    useful_urls: frozenset[str] = frozenset()
    wrong_urls: frozenset[str] = frozenset()


@dataclass(slots=True)
class Ratings:
    """The latest rating of each passage by the question's id and the passage's (or the source's address)."""

    latest: dict[tuple[str, str], NoteRated] = field(default_factory=dict)

    def apply(self, event: EventBase) -> None:
        """Take in one event, later than all before it."""
        if isinstance(event, NoteRated):
            self.latest[event.query_id, event.fact or event.url] = event

    def of(self, query_id: str, fact: str) -> str:
        """Return the rating of a passage for a question; "" for none."""
        found = self.latest.get((query_id, fact))
        return found.rating if found else ""

    def about(self, query_id: str) -> Rated:
        """Return what counts for a question."""
        mine = [event for event in self.latest.values() if event.query_id == query_id or not event.query_id]
        named = {rating: [event for event in mine if event.rating == rating] for rating in ("useful", "wrong")}
        facts = (frozenset(event.fact for event in found if event.fact) for found in named.values())
        urls = (frozenset(event.url for event in found if event.url) for found in named.values())
        return Rated(*facts, *urls)
