"""``told_apart``: sources of the same name are told apart in links by their path or address.

Only the sources of a name that came or went are looked at; the others of that name change if it was, or is now, the name of one
source alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from pipeline.text.normalise import one_line
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.output.escaping import host_of
from pipeline.vault.vault_model import SourceNotePlace

_LONGEST = 80  # characters of a path or address


def told_apart(
    places: Mapping[str, SourceNotePlace | None], before: Mapping[str, SourceNotePlace], catalogue: Catalogue
) -> dict[str, SourceNotePlace]:
    """Return the places that are shown otherwise than ``places`` and the catalogue say, by address.

    ``places`` are assigned in this build, None where a source is gone; ``before`` are the same sources at the last build.
    """
    names = {place.name for place in (*places.values(), *before.values()) if place}
    found: dict[str, SourceNotePlace] = {}
    for name in sorted(names):
        known = {url: place for url, place in places.items() if place and place.name == name}
        others = [url for url in catalogue.named(name) if url not in places]
        is_shared = len(known) + len(others) > 1
        was_shared = len(others) + sum(place.name == name for place in before.values()) > 1
        if is_shared != was_shared:
            known |= {url: place for url in others if (place := catalogue.place(url))}
        for url, place in known.items():
            shown = replace(place, where=_where(url) if is_shared else "")
            if shown != place:
                found[url] = shown
    return found


def _where(url: str) -> str:
    """Return the path of a document, or the address of a web page without its scheme."""
    scheme, _, path = url.partition(":")
    if not host_of(url):
        return one_line(path if scheme == "corpus" and path else url, _LONGEST)
    parts = urlsplit(url)
    return one_line(f"{host_of(url)}{parts.path}{'?' + parts.query if parts.query else ''}", _LONGEST)
