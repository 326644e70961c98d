"""``assign_paths``: gives each new note its path, and returns the links of the whole vault before and after this build.

A path depends on all notes that want the same name, and a source's path also on the session that read it first. This module
decides both before anything is rendered, from the outlines of changed sessions and the catalogue of the others. So only notes
whose links changed have to be rendered again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.vault import paths
from pipeline.vault.cache.catalogue import Catalogue, ReadingSummary
from pipeline.vault.citations.same_titles import told_apart
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.paths import Names, Workers
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import SourceNotePlace, VaultModel

_CLASHES = "clashes"


class NameClash(Exception):
    """Two notes want one name. Which of them gets it depends on all others, so all must be named again, in order."""


@dataclass(frozen=True)
class PathAssignment:
    """``model`` has all links as they are now; ``places`` are the sources whose path was assigned again, None if no longer read.

    ``before`` has the links at the last build, but only the cards of sessions that changed since, and those places. The cards of
    changed sessions in ``model`` contain only what links need.
    """

    before: VaultModel
    model: VaultModel
    places: Mapping[str, SourceNotePlace | None]

    @property
    def moved(self) -> set[str]:
        """The sources whose path or title changed."""
        return {url for url, place in self.places.items() if place != self.before.sources.get(url)}


def assign_paths(changes: LogChanges, catalogue: Catalogue, workers: Workers = "notes") -> PathAssignment:
    """Assign paths to new notes, and store them in the catalogue. ``workers``: notes of their own, or folded.

    Raises:
        NameClash: notes that have a path would need another one; call again with a catalogue that has forgotten all paths.
    """
    touched = catalogue.sources_of(changes.cards_before)
    touched.update(url for opened in changes.outlines.values() for url in opened.state.pages)
    known = {url: place for url in touched if (place := catalogue.place(url))}
    _check_old_clashes(catalogue, changes.affected | touched)
    catalogue.drop_stems(_paths(changes.cards_before.values(), known.values()))
    taken = Names(catalogue.has_stem)
    fresh = {name: opened.named(taken, workers) for name, opened in changes.outlines.items()}
    places = _places(changes, catalogue, touched, taken)
    same = told_apart(places, known, catalogue)
    changes.outlines.clear()
    _store_clashes(catalogue, taken.clashes, changes.first_build)
    known |= {url: place for url in same if url not in known and (place := catalogue.place(url))}
    places |= same
    _store(catalogue, changes, fresh, places)
    return PathAssignment(VaultModel(changes.cards_before, {}, {}, known, changes.batches_before), catalogue.model(), places)


def _store_clashes(catalogue: Catalogue, clashes: set[str], first: bool) -> None:
    if clashes and not first:
        raise NameClash
    if clashes:
        catalogue.keep(_CLASHES, json.dumps(sorted(clashes)))


def _store(
    catalogue: Catalogue, changes: LogChanges, fresh: Mapping[str, Card], places: Mapping[str, SourceNotePlace | None]
) -> None:
    catalogue.drop_streams(changes.forgotten)
    for name, card in fresh.items():
        catalogue.put_card(name, changes.marks[name], card)
    catalogue.put_places(places)
    catalogue.put_stems(_paths(fresh.values(), filter(None, places.values())))


def _check_old_clashes(catalogue: Catalogue, renewed: set[str]) -> None:
    """Raise if a name that two notes wanted may be free again, or may go to another note."""
    clashes = json.loads(catalogue.recall(_CLASHES) or "[]")
    if any(key in renewed or key.partition("/")[0] in renewed for key in clashes):
        raise NameClash


def _paths(cards: Iterable[Card], places: Iterable[SourceNotePlace]) -> list[str]:
    """The paths of the notes of sessions, reports, workers and sources."""
    paths = [path for card in cards for path in (*card.paths, *(worker.path for worker in card.workers))]
    return [*paths, *(place.path for place in places)]


def _places(changes: LogChanges, catalogue: Catalogue, touched: Iterable[str], taken: Names) -> dict[str, SourceNotePlace | None]:
    """The place of each touched source, assigned in the order of first reading; None if no reading is left."""
    found = {
        url: [reading for reading in catalogue.reading_summaries(url) if reading.session not in changes.affected]
        for url in touched
    }
    for name, opened in changes.outlines.items():
        for page in opened.state.pages.values():
            found[page.url].append(ReadingSummary(name, page.at, page.title))
    for readings in found.values():
        readings.sort(key=lambda reading: (reading.at, reading.session))
    read = sorted((url for url in found if found[url]), key=lambda url: (found[url][0].at, url))
    names = {name: opened.state.names for name, opened in changes.outlines.items()}

    def names_of(session: str) -> str:
        card = None if session in names else catalogue.card(session)
        return names.setdefault(session, card.names if card else "latin")

    return dict.fromkeys(found) | {url: _place(url, found[url], names_of(found[url][0].session), taken) for url in read}


def _place(url: str, readings: list[ReadingSummary], names: str, taken: Names) -> SourceNotePlace:
    path = taken.claim(f"sources/{paths.in_month(readings[0].at)}", paths.source_stem(url, names), url)
    return SourceNotePlace(path, next((reading.title for reading in readings if reading.title.strip()), url))
