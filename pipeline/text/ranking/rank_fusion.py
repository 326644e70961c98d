"""Rankings made one: reciprocal rank fusion, and a fair share of the places for one's own documents and for the web. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

Origin = Literal["own", "web"]
T = TypeVar("T")

_K = 60  # Cormack, Clarke, Büttcher 2009
_SHARE = 3  # each side gets at least one place in so many


def page_origin(url: str) -> Origin:
    """Return whose page an address names: ``own`` for a document of the folder, ``web`` for all others."""
    return "own" if url.startswith("corpus:") else "web"


def rank_score(rank: int) -> float:
    """Return what the place ``rank`` (from 1) in one ranking adds to a score."""
    return 1.0 / (_K + rank)


def fused(own: Sequence[T], web: Sequence[T], limit: int, address: Callable[[T], str]) -> tuple[T, ...]:
    """Return at most ``limit`` of both rankings, best first; each keeps its own order. Ties: own first, then by address.

    The rankings must have no address in common.
    """
    sides = enumerate((own, web))
    entries = [(-rank_score(rank), side, address(one), one) for side, ranked in sides for rank, one in enumerate(ranked, start=1)]
    ranked = [entry[3] for entry in sorted(entries, key=lambda entry: entry[:3])]
    return with_shares(ranked, limit, lambda one: page_origin(address(one)))


def with_shares(ranked: Sequence[T], limit: int, origin: Callable[[T], Origin]) -> tuple[T, ...]:
    """Return the first ``limit`` of ``ranked`` in their order, but of each origin a third of the places at least.

    An origin that has fewer leaves its places to the other. A single place goes to the first.
    """
    least = -(-limit // _SHARE) if limit > 1 else 0
    places = range(len(ranked))
    certain = {place for side in ("own", "web") for place in [at for at in places if origin(ranked[at]) == side][:least]}
    others = [place for place in places if place not in certain]
    chosen = certain | set(others[: max(0, limit - len(certain))])
    return tuple(ranked[place] for place in sorted(chosen))
