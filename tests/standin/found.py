"""What all search services draw on: the documents for a query, and the poisoned ones when the server serves them."""

from __future__ import annotations

import hashlib

from tests.standin import world
from tests.standin.options import State
from tests.standin.poison import POISONED, poisoned_document
from tests.standin.world import Document


def found(query: str, limit: int, state: State, offset: int = 0) -> tuple[Document, ...]:
    """Return the documents for a query; with ``poisoned``, every second one carries an injection."""
    honest = world.find(query, limit, offset)
    if not state.options.poisoned or not honest:
        return honest
    first = int(hashlib.sha256(query.encode()).hexdigest(), 16)
    bad = [poisoned_document((first + at) % POISONED + 1) for at in range((len(honest) + 1) // 2)]
    mixed = [one for pair in zip(bad, honest, strict=False) for one in pair]
    return tuple(mixed[:limit])


def address(document: Document, state: State) -> str:
    """Return where a document stands."""
    return state.base(document.host) + document.path
