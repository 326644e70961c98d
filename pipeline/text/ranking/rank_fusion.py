"""Reciprocal rank fusion of search results, with a minimum share for the user's own documents and for web pages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

Origin = Literal["own", "web"]
T = TypeVar("T")

_K = 60  # Cormack, Clarke, Büttcher 2009
_SHARE = 3  # each origin gets at least one place in three


def page_origin(url: str) -> Origin:
    """Return the origin of an address: ``own`` for a document of the user's folder, ``web`` for any other."""
    return "own" if url.startswith("corpus:") else "web"


def rank_score(rank: int) -> float:
    """Return what ``rank`` (from 1) in one ranking adds to a score."""
    return 1.0 / (_K + rank)


def fused_ranking(own: Sequence[T], web: Sequence[T], limit: int, address: Callable[[T], str]) -> tuple[T, ...]:
    """Return at most ``limit`` entries of both rankings, best first, each ranking in its own order.

    On a tie the own document comes first, then the smaller address. The rankings must have no address in common.
    """
    sides = enumerate((own, web))
    entries = [(-rank_score(rank), side, address(one), one) for side, ranked in sides for rank, one in enumerate(ranked, start=1)]
    ranked = [entry[3] for entry in sorted(entries, key=lambda entry: entry[:3])]
    return with_shares(ranked, limit, lambda one: page_origin(address(one)))


def with_shares(ranked: Sequence[T], limit: int, origin: Callable[[T], Origin]) -> tuple[T, ...]:
    """Return ``limit`` entries of ``ranked`` in their order, at least a third of them from each origin.

    An origin with too few entries leaves its places to the other. If ``limit`` is 1, the first entry is returned.
    """
    least = -(-limit // _SHARE) if limit > 1 else 0
    places = range(len(ranked))
    certain = {place for side in ("own", "web") for place in [at for at in places if origin(ranked[at]) == side][:least]}
    others = [place for place in places if place not in certain]
    chosen = certain | set(others[: max(0, limit - len(certain))])
    return tuple(ranked[place] for place in sorted(chosen))
