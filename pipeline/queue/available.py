"""What this version cannot perform yet: it is read and checked as it will be, then refused, so that nothing is ignored."""

from __future__ import annotations

from pipeline.queue.faults import Faults, Place


def refuse_approval(place: Place, faults: Faults) -> None:
    """Refuse to wait for a person."""
    faults.add(place, "approving a plan is not available in this version", "remove the line; the plan is carried out at once")
