"""Counts, sums of money and lengths of time in words; lists of which only the first few are named."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 5  # of what may be many


def first_few(lines: Sequence[str], rest: str) -> list[str]:
    """Return the first five lines, and one that counts the others; ``rest`` says what is to be said of those."""
    more = len(lines) - MOST_NAMED
    return [*lines[:MOST_NAMED], f"… and {more:,} more{rest}"] if more > 0 else list(lines)


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 fact`` or ``7 facts``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Return seconds as ``under a second``, ``42 s``, ``3 min 12 s``, ``1 h 4 min``."""
    whole = int(seconds + 0.5)
    if whole < 1:
        return "under a second"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def money(usd: float) -> str:
    """Return an amount as ``0``, ``$0.0042``, ``$1.25``."""
    if usd <= 0:
        return "0"
    return f"${usd:,.2f}" if usd >= 0.01 else f"${usd:.4f}"


def bill(charged: float, unknown: float = 0.0, likely: float = 0.0) -> str:
    """Return an amount, "" for nothing; what calls of ``unknown`` cost may have cost at most, and probably, is said apart."""
    if unknown <= 0:
        return money(charged) if charged > 0 else ""
    return f"{money(charged)} charged, up to {money(unknown)} not accounted for (about {money(likely)})"
