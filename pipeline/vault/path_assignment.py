"""Where everything stands and how it is linked, now and at the last build.

A path depends on all that wants the same name, and a source's on who read it first. Both are settled here, from the outlines of
what changed and the catalogue of what did not, so that notes need to be made only where something that they show is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.vault import paths
from pipeline.vault.cache.catalogue import Catalogue, Glance
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.paths import Names
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import SourceNotePlace, VaultModel

_CLASHES = "clashes"


class Clash(Exception):
    """Two notes want one name. Which of them has it depends on all others, so all must be named anew, in their order."""


@dataclass(frozen=True)
class PathAssignment:
    """``library`` as everything is linked now; ``places`` are those looked at again.

    ``before`` is what the last build knew, but only the cards of what changed since, and those places. Of what changed, the
    library's cards know what links need and no more.
    """

    before: VaultModel
    library: VaultModel
    places: Mapping[str, SourceNotePlace | None]

    @property
    def moved(self) -> set[str]:
        """The sources that are linked otherwise than before."""
        return {url for url, place in self.places.items() if place != self.before.sources.get(url)}


def shelve(news: LogChanges, catalogue: Catalogue) -> PathAssignment:
    """Give names and places to what is new, and note them in the catalogue.

    Raises:
        Clash: it cannot be done without naming anew what has a name; begin again with a catalogue that has forgotten all.
    """
    touched = catalogue.sources_of(news.before)
    touched.update(url for opened in news.outlines.values() for url in opened.state.pages)
    known = {url: place for url in touched if (place := catalogue.place(url))}
    _refuse_moves(catalogue, news.renewed | touched)
    catalogue.drop_stems(_paths(news.before.values(), known.values()))
    taken = Names(catalogue.has_stem)
    fresh = {name: opened.card(taken) for name, opened in news.outlines.items()}
    places = _placed(news, catalogue, touched, taken)
    news.outlines.clear()
    _note_clashes(catalogue, taken.clashes, news.first)
    _note(catalogue, news, fresh, places)
    return PathAssignment(VaultModel(news.before, {}, {}, known, news.batches_before), catalogue.library(), places)


def _note_clashes(catalogue: Catalogue, clashes: set[str], first: bool) -> None:
    if clashes and not first:
        raise Clash
    if clashes:
        catalogue.keep(_CLASHES, json.dumps(sorted(clashes)))


def _note(
    catalogue: Catalogue, news: LogChanges, fresh: Mapping[str, Card], places: Mapping[str, SourceNotePlace | None]
) -> None:
    catalogue.drop_streams(news.dropped)
    for name, card in fresh.items():
        catalogue.put_card(name, news.marks[name], card)
    catalogue.put_places(places)
    catalogue.put_stems(_paths(fresh.values(), filter(None, places.values())))


def _refuse_moves(catalogue: Catalogue, renewed: set[str]) -> None:
    """A name that two wanted may be free again, or wanted by another first."""
    clashes = json.loads(catalogue.recall(_CLASHES) or "[]")
    if any(key in renewed or key.partition("/")[0] in renewed for key in clashes):
        raise Clash


def _paths(cards: Iterable[Card], places: Iterable[SourceNotePlace]) -> list[str]:
    """Where the sessions' notes and those of the sources stand."""
    paths = [path for card in cards for path in (*card.paths, *(worker.path for worker in card.workers))]
    return [*paths, *(place.path for place in places)]


def _placed(news: LogChanges, catalogue: Catalogue, touched: Iterable[str], taken: Names) -> dict[str, SourceNotePlace | None]:
    """Each touched source's place, in the order of their first reading; None where no reading is left."""
    found = {url: [glance for glance in catalogue.glances(url) if glance.session not in news.renewed] for url in touched}
    for name, opened in news.outlines.items():
        for page in opened.state.pages.values():
            found[page.url].append(Glance(name, page.at, page.title))
    for glances in found.values():
        glances.sort(key=lambda glance: (glance.at, glance.session))
    read = sorted((url for url in found if found[url]), key=lambda url: (found[url][0].at, url))
    return dict.fromkeys(found) | {url: _place(url, found[url], taken) for url in read}


def _place(url: str, glances: list[Glance], taken: Names) -> SourceNotePlace:
    path = taken.claim(f"sources/{paths.in_month(glances[0].at)}", paths.source_stem(url), url)
    return SourceNotePlace(path, next((glance.title for glance in glances if glance.title.strip()), url))
