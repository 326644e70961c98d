"""Which notes must be rendered again after a change of the log: one rule for each kind of note.

Each rule lists what that kind of note shows of the rest of the vault. A session's notes are its own,
its report's and its workers'.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.notes.note_parts import topic_of
from pipeline.vault.path_assignment import PathAssignment
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

T = TypeVar("T", bound=Hashable)


def sessions(changes: LogChanges, assigned: PathAssignment, catalogue: Catalogue) -> set[str]:
    """Return the sessions whose notes must be rendered again.

    A session's notes show: itself; links to the session before and the one after it on the same question, to the nights that
    worked on it, to the sources that it or the session before it read, and to the next report in which sources disagree; how many
    reports came before; and whether its query is gone from the queue.
    """
    now, relinked = assigned.model, _relinked(changes, assigned)
    found = set(changes.sessions) | _with_other_nights(changes, assigned) | _following(catalogue, relinked)
    found |= {card.previous_session for card in _both(assigned, relinked)} | _before_a_dispute(changes, assigned)
    if changes.batches_changed:
        found |= catalogue.sessions_on(assigned.before.archived ^ now.archived)
    if moved := assigned.moved:
        readers = catalogue.readers_of(moved)
        found |= readers | catalogue.following(readers) | catalogue.orphans()
    return {name for name in found if name in now.by_id}


def _following(catalogue: Catalogue, sessions: set[str]) -> set[str]:
    """All sessions that follow one of these on the same question, at whatever distance."""
    found: set[str] = set()
    while sessions := catalogue.following(sessions) - found:
        found |= sessions
    return found


def _relinked(changes: LogChanges, assigned: PathAssignment) -> set[str]:
    """The sessions whose links changed, including new and gone ones."""
    before, now = assigned.before.links.by_id, assigned.model.links.by_id
    return {name for name in changes.affected if before.get(name) != now.get(name)}


def _before_a_dispute(changes: LogChanges, assigned: PathAssignment) -> set[str]:
    """The sessions to whose reports a later dispute is new, or is no longer there: those back to the one that has it too."""
    now, found = assigned.model.links.by_id, set[str]()
    for card in _both(assigned, changes.affected):
        before = now.get(card.previous_session)
        while card.disputes and before and not before.disputes and before.id not in found:
            found.add(before.id)
            before = now.get(before.previous_session)
    return found


def _both(assigned: PathAssignment, names: Iterable[str]) -> Iterator[Card]:
    """The cards of sessions before and after."""
    for model in (assigned.before, assigned.model):
        yield from (model.by_id[name] for name in names if name in model.by_id)


def _with_other_nights(changes: LogChanges, assigned: PathAssignment) -> set[str]:
    return _differing(_dates(assigned.before), _dates(assigned.model)) if changes.batches_changed else set()


def _dates(model: VaultModel) -> dict[str, tuple[str, ...]]:
    return {session: tuple(night.date for night in nights) for session, nights in model.nights_of.items()}


def _differing(before: Mapping[T, object], now: Mapping[T, object]) -> set[T]:
    found = {key for key, value in now.items() if (old := before.get(key)) is not value and old != value}
    return found | (before.keys() - now.keys())


def sources(changes: LogChanges, assigned: PathAssignment, catalogue: Catalogue) -> set[str]:
    """Return the addresses of the sources whose notes must be rendered again.

    A source's note shows: its readings; links to the sessions that read it, their nights, and to the sources of further quotes,
    which those sessions read as well.
    """
    readers = _relinked(changes, assigned) | _with_other_nights(changes, assigned)
    readers |= catalogue.readers_of(assigned.moved)
    found = assigned.places.keys() | catalogue.sources_of(readers)
    return {url for url in found if url in assigned.model.sources}


def nights(changes: LogChanges, assigned: PathAssignment, now: VaultModel, catalogue: Catalogue) -> set[str]:
    """Return the dates of the nights whose notes must be rendered again; ``now`` has complete cards.

    A night's note shows: its batches; the cards of the sessions that it worked on, and of the questions that it skipped; what
    its sessions had cost before; links to the sources that their answers cite, and to the nights beside it.
    """
    if not changes.affected and not changes.batches_changed:
        return set()
    before = assigned.before
    changed = _changed(changes, now) | catalogue.readers_of(assigned.moved)
    queries = {card.query_id for model in (before, now) for name in changed if (card := model.by_id.get(name))}
    was, is_ = ({night.date: night for night in model.nights} for model in (before, now))
    other = _differing(was, is_)
    worked = {entry.session for date in other for nights in (was, is_) if date in nights for entry in nights[date].ended}
    found = set(other) | _differing(_beside(before), _beside(now))
    for night in now.nights:
        skipped = {entry.query_id for batch in night.batches for entry in batch.skipped}
        if not skipped.isdisjoint(queries) or not {entry.session for entry in night.ended}.isdisjoint(changed | worked):
            found.add(night.date)
    return found & is_.keys()


def _beside(model: VaultModel) -> dict[str, tuple[str, str]]:
    dates = ["", *(night.date for night in model.nights), ""]
    return {date: (dates[place - 1], dates[place + 1]) for place, date in enumerate(dates) if date}


def _changed(changes: LogChanges, now: VaultModel) -> set[str]:
    """The sessions whose cards changed, including new and gone ones."""
    return {name for name in changes.affected if changes.cards_before.get(name) != now.by_id.get(name)}


def topics(changes: LogChanges, assigned: PathAssignment, now: VaultModel, catalogue: Catalogue) -> set[str]:
    """Return the slugs of the topics whose notes must be rendered again or removed; ``now`` has complete cards.

    A topic's note shows: the cards of its sessions, and links to the sources that their reports cite.
    """
    changed = _changed(changes, now)
    cards = [card for model in (assigned.before, now) for name in changed if (card := model.by_id.get(name))]
    if moved := assigned.moved & assigned.before.sources.keys():
        cards += [card for card in catalogue.cards() if any(drawn.url in moved for drawn in card.drawn)]
    return {topic_of(tag) for card in cards for tag in card.tags}
