"""Which notes show something that is new. Each rule here names what a kind of note shows of the rest of the vault.

A session's notes are its own, its report's, its workers' and its drawings.
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


def sessions(news: LogChanges, shelves: PathAssignment, catalogue: Catalogue) -> set[str]:
    """Return the sessions whose own notes show something new.

    A session's notes show: itself; links to the session before and the one after it on the same question, to the nights that
    worked on it, and to the sources that it or the session before it read; and whether its query is gone from the queue.
    """
    now, relinked = shelves.library, _relinked(news, shelves)
    found = set(news.changed) | _with_other_nights(news, shelves) | catalogue.following(relinked)
    found |= {card.previous_session for card in _both(shelves, relinked)}
    if news.other_batches:
        found |= catalogue.sessions_on(shelves.before.archived ^ now.archived)
    if moved := shelves.moved:
        readers = catalogue.readers_of(moved)
        found |= readers | catalogue.following(readers) | catalogue.orphans()
    return {name for name in found if name in now.by_id}


def _relinked(news: LogChanges, shelves: PathAssignment) -> set[str]:
    """The sessions that are linked otherwise than before, new and gone ones too."""
    before, now = shelves.before.links.by_id, shelves.library.links.by_id
    return {name for name in news.renewed if before.get(name) != now.get(name)}


def _both(shelves: PathAssignment, names: Iterable[str]) -> Iterator[Card]:
    """The cards of sessions as they were and as they are."""
    for library in (shelves.before, shelves.library):
        yield from (library.by_id[name] for name in names if name in library.by_id)


def _with_other_nights(news: LogChanges, shelves: PathAssignment) -> set[str]:
    return _differing(_dates(shelves.before), _dates(shelves.library)) if news.other_batches else set()


def _dates(library: VaultModel) -> dict[str, tuple[str, ...]]:
    return {session: tuple(night.date for night in nights) for session, nights in library.nights_of.items()}


def _differing(before: Mapping[T, object], now: Mapping[T, object]) -> set[T]:
    found = {key for key, value in now.items() if (old := before.get(key)) is not value and old != value}
    return found | (before.keys() - now.keys())


def sources(news: LogChanges, shelves: PathAssignment, catalogue: Catalogue) -> set[str]:
    """Return the addresses of the sources whose notes show something new.

    A source's note shows: its readings; links to the sessions that read it, their nights, and to the sources of further quotes,
    which those sessions read as well.
    """
    readers = _relinked(news, shelves) | _with_other_nights(news, shelves)
    readers |= catalogue.readers_of(shelves.moved)
    found = shelves.places.keys() | catalogue.sources_of(readers)
    return {url for url in found if url in shelves.library.sources}


def nights(news: LogChanges, before: VaultModel, now: VaultModel) -> set[str]:
    """Return the dates of the nights whose notes show something new; ``now`` holds whole cards.

    A night's note shows: its batches; the cards of the sessions that it worked on, and of the questions that it left out; what
    its sessions had cost before; links to the nights beside it.
    """
    if not news.renewed and not news.other_batches:
        return set()
    changed = _changed(news, now)
    queries = {card.query_id for library in (before, now) for name in changed if (card := library.by_id.get(name))}
    was, is_ = ({night.date: night for night in library.nights} for library in (before, now))
    other = _differing(was, is_)
    worked = {entry.session for date in other for nights in (was, is_) if date in nights for entry in nights[date].ended}
    found = set(other) | _differing(_beside(before), _beside(now))
    for night in now.nights:
        skipped = {entry.query_id for batch in night.batches for entry in batch.skipped}
        if not skipped.isdisjoint(queries) or not {entry.session for entry in night.ended}.isdisjoint(changed | worked):
            found.add(night.date)
    return found & is_.keys()


def _beside(library: VaultModel) -> dict[str, tuple[str, str]]:
    dates = ["", *(night.date for night in library.nights), ""]
    return {date: (dates[place - 1], dates[place + 1]) for place, date in enumerate(dates) if date}


def _changed(news: LogChanges, now: VaultModel) -> set[str]:
    """The sessions of which other notes show something new, new and gone ones too."""
    return {name for name in news.renewed if news.before.get(name) != now.by_id.get(name)}


def topics(news: LogChanges, shelves: PathAssignment, now: VaultModel, catalogue: Catalogue) -> set[str]:
    """Return the slugs of the topics whose notes show something new, gone ones too; ``now`` holds whole cards.

    A topic's note shows: the cards of its sessions, and links to the sources that they draw on.
    """
    changed = _changed(news, now)
    cards = [card for library in (shelves.before, now) for name in changed if (card := library.by_id.get(name))]
    if moved := shelves.moved & shelves.before.sources.keys():
        cards += [card for card in catalogue.cards() if any(drawn.url in moved for drawn in card.drawn)]
    return {topic_of(tag) for card in cards for tag in card.tags}
