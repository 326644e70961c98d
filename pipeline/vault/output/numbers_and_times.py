"""Numbers, times and amounts as text for notes, always with units; times are UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pipeline.text.times import moment_of

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰ"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Return ``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


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


def bill(usd: float, unknown: float = 0.0, likely: float = 0.0) -> str:
    """Return an amount, "" for nothing; what calls of ``unknown`` cost may have cost at most, and probably, is said apart."""
    if unknown <= 0:
        return money(usd) if usd > 0 else ""
    return f"{money(usd)} charged, up to {money(unknown)} not accounted for (about {money(likely)})"


def clock(at: str) -> str:
    """Return the hour and minute of an envelope's time: ``02:15``."""
    return at[11:16]


def moment(at: str) -> datetime:
    """Return an envelope's time as a property holds it: UTC, whole seconds, no zone."""
    return moment_of(at).replace(microsecond=0, tzinfo=None)


def superscript(number: int, place: int = -1) -> str:
    """Return a citation's sign: ``¹²``, with a letter when ``place`` (from 0) is given: ``¹²ᵃ``."""
    letter = _LETTERS[place] if 0 <= place < len(_LETTERS) else ""
    return str(number).translate(_SUPERSCRIPTS) + letter


def sentence(text: str) -> str:
    """Return ``text`` with a capital first and a full stop last."""
    trimmed = text.strip()
    if not trimmed:
        return ""
    ended = trimmed if trimmed[-1] in ".!?…" else trimmed + "."
    return ended[0].upper() + ended[1:]
