"""What this version cannot perform yet: it is read and checked as it will be, then refused, so that nothing is ignored."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.queue.faults import Faults, Place

_REASON = "is not available in this version"


def refuse_model(place: Place, faults: Faults) -> None:
    """Refuse a language model."""
    faults.add(place, f"a language model {_REASON}", "remove the line; the built-in extractive reasoner answers")


def refuse_providers(place: Place, names: Iterable[str], faults: Faults) -> None:
    """Refuse every provider but the local folder."""
    for name in names:
        if name != "local":
            faults.add(place, f"the search provider {name} {_REASON}", "write search: auto, or [local]")


def refuse_approval(place: Place, faults: Faults) -> None:
    """Refuse to wait for a person."""
    faults.add(place, f"approving a plan {_REASON}", "remove the line; the plan is carried out at once")
