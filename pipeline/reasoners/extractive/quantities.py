"""Numbers in sentences as what they measure: quantities with bounds and units, dates, versions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pipeline.terms import forms, stem
from pipeline.vocabulary import AUXILIARIES, NUMBER_WORDS, STOP, word_list

Bound = Literal["exact", "about", "upper", "lower"]

_UNITS: dict[str, tuple[str, float]] = {
    name: (dimension, size)
    for dimension, table in (
        ("bytes", {"b": 1.0, "byte": 1.0, "kb": 1024.0, "kib": 1024.0, "kilobyte": 1024.0, "mb": 1024.0**2, "mib": 1024.0**2}),
        (
            "bytes",
            {"megabyte": 1024.0**2, "gb": 1024.0**3, "gib": 1024.0**3, "gigabyte": 1024.0**3, "tb": 1024.0**4, "tib": 1024.0**4},
        ),
        ("bytes", {"terabyte": 1024.0**4}),
        (
            "seconds",
            {"ns": 1e-9, "nanosecond": 1e-9, "µs": 1e-6, "us": 1e-6, "microsecond": 1e-6, "ms": 1e-3, "millisecond": 1e-3},
        ),
        (
            "seconds",
            {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0},
        ),
        ("seconds", {"week": 604800.0, "month": 2629800.0, "year": 31557600.0, "decade": 315576000.0}),
        ("metres", {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1e3, "kilometre": 1e3, "kilometer": 1e3}),
        ("metres", {"millimetre": 1e-3, "centimetre": 1e-2, "mile": 1609.344, "inch": 0.0254, "foot": 0.3048, "feet": 0.3048}),
        ("grams", {"mg": 1e-3, "milligram": 1e-3, "g": 1.0, "gram": 1.0, "kg": 1e3, "kilogram": 1e3, "tonne": 1e6}),
        ("watts", {"mw": 1e6, "kw": 1e3, "w": 1.0, "watt": 1.0, "kilowatt": 1e3, "megawatt": 1e6}),
        ("percent", {"%": 1.0, "percent": 1.0, "per cent": 1.0}),
    )
    for name, size in table.items()
}
_DIMENSIONS = frozenset(dimension for dimension, _ in _UNITS.values())
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"(?:\b\d{{1,2}} )?\b(?:({_MONTHS})(?: \d{{1,2}},?)? )?((?:1[5-9]|20)\d\d)\b(?!-bit|[.,]\d|\s?%)")
_VERSION = re.compile(
    r"(?:\b(?:[Vv]ersions?|[Rr]eleases?|v|[A-Z]\w+) ?)(\d+(?:\.\d+)+)\b(?! ?(?:%|percent|[munµ]?s\b|[KMGT]i?B\b))"
)
_FIGURE = r"\d[\d,]*(?:\.\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w.-])({_FIGURE}|(?:{'|'.join(NUMBER_WORDS)})\b)"
    rf"(?:(?:\s?[-–]\s?| to | and | or )({_FIGURE}|(?:{'|'.join(NUMBER_WORDS)})\b))?"
    r"(?:\s?(%|per cent|[A-Za-zµ]+(?:/[a-z]+)?))?(?:[ -]([a-z]+))?",
    re.IGNORECASE,
)
_UPPER = re.compile(
    r"\b(?:up to|at most|no more than|not more than|less than|fewer than|under|below|within|max|maximum|limit(?:ed)?|exceeds?)\b",
    re.I,
)
_LOWER = re.compile(r"\b(?:at least|no (?:fewer|less) than|more than|over|above|min|minimum|from)\b", re.I)
_ABOUT = re.compile(r"(?:\b(?:about|around|roughly|approximately|approx|nearly|almost|some|circa|typically|average)\b|~)", re.I)
# A number after one of these names a place, it counts nothing; before some of them as well ("3 Python").
_REFERENCES = word_list(
    "section chapter figure table page step pep rfc issue item example part appendix note equation line day no number"
)
_NAMES = word_list("pep rfc no number python iso utf")
_SHARE = re.compile(
    r"\s+of\s+(?:the|all|its|their|these|those)?\s*(?:\w+\s+){0,2}?([a-z]{3,}s)\b(?=\s+(?!of\b)|[.,;])", re.IGNORECASE
)
_SIDE = 28  # characters before a number that may bound it


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured value from ``low`` to ``high`` in the base unit of its dimension; ``unit``: stems of what is counted.

    ``whole``: of a share, the stems of what it is a share of.
    """

    low: float
    high: float
    unit: frozenset[str]
    bound: Bound
    text: str
    whole: frozenset[str] = frozenset()

    def same_measure(self, other: Quantity) -> bool:
        """Tell whether both count the same thing."""
        return bool(self.unit & other.unit) and (not self.whole or not other.whole or bool(self.whole & other.whole))

    def same_value(self, other: Quantity) -> bool:
        """Tell whether both name the same value of the same measure."""
        return (self.low, self.high) == (other.low, other.high) and self.same_measure(other)

    def agrees(self, other: Quantity) -> bool:
        """Tell whether one value can satisfy both."""
        slack = 0.076 if "bytes" in self.unit else 0.02 if self.unit & _DIMENSIONS else 0.0
        (low, high), (other_low, other_high) = self._span(other), other._span(self)
        return low <= other_high * (1 + slack) and other_low <= high * (1 + slack)

    def _span(self, other: Quantity) -> tuple[float, float]:
        if self.bound == "about":
            return self.low * 0.9, self.high * 1.1
        if self.bound == other.bound or self.bound == "exact":
            return self.low, self.high
        return (0.0, self.high) if self.bound == "upper" else (self.low, float("inf"))


@dataclass(frozen=True, slots=True)
class Figures:
    """All the figures of a sentence, and ``rest``: the sentence without them."""

    quantities: tuple[Quantity, ...]
    dates: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    rest: str


def figures(sentence: str) -> Figures:
    """Return the figures of one sentence. A date is a year with a month or ""."""
    text = sentence
    versions = tuple(match[1] for match in _VERSION.finditer(text))
    for version in versions:
        text = text.replace(version, " ", 1)
    dates = tuple((match[2], match[1] or "") for match in _DATE.finditer(text))
    text = _DATE.sub(" ", text)
    found = [(match, quantity) for match in _NUMBER.finditer(text) if (quantity := _quantity(text, match))]
    rest = text
    for match, _ in reversed(found):
        rest = rest[: match.start()] + " " + rest[_end(match) :]
    return Figures(tuple(quantity for _, quantity in found), dates, versions, rest)


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    before = text[max(0, match.start() - _SIDE) : match.start()]
    dimension, size = _dimension(match)
    unit = frozenset({dimension}) if dimension else _counted(match, before)
    if not unit or (match[1].lower() == "one" and not dimension):
        return None
    low = _value(match[1]) * size
    high = _value(match[2]) * size if match[2] else low
    whole = _whole(text[_end(match) :]) if "percent" in unit else frozenset[str]()
    return Quantity(min(low, high), max(low, high), unit, _bound(text, before), _shown(match), whole)


def _whole(after: str) -> frozenset[str]:
    """Return the stems of the last noun of "of the generated sentences", which a share's figure is followed by."""
    found = _SHARE.match(after)
    return frozenset(forms(found[1])[:1]) if found else frozenset()


def _end(match: re.Match[str]) -> int:
    """Return where a figure ends, its unit included when it is a known one."""
    if match[3] and _known(match[3]):
        return match.end(3)
    return match.end(2) if match[2] else match.end(1)


def _shown(match: re.Match[str]) -> str:
    counted = match[3] and match[3].lower() not in STOP and match[3].lower() not in AUXILIARIES
    return match.string[match.start() : match.end(3) if counted else _end(match)].strip()


def _dimension(match: re.Match[str]) -> tuple[str, float]:
    name = (match[3] or "").lower()
    found = _known(name)
    if not found:
        return "", 1.0
    if match[4] == "per" or "/" in name:
        return "", 1.0
    return found


def _known(name: str) -> tuple[str, float] | None:
    lowered = name.lower()
    return _UNITS.get(lowered) or (_UNITS.get(lowered[:-1]) if lowered.endswith("s") and len(lowered) > 3 else None)


def _counted(match: re.Match[str], before: str) -> frozenset[str]:
    """Return the stems of the noun counted: the words after the number, else the word before it ("port 80")."""
    if match[3] and "/" in match[3]:
        return frozenset({match[3].lower()})
    after = [word.lower() for word in (match[3], match[4]) if word]
    if after and after[0] not in STOP and after[0] not in AUXILIARIES:
        counted = frozenset(stem(word) for word in after if word not in STOP and len(word) > 2)
        return frozenset() if counted & _NAMES else counted
    words = re.findall(r"[A-Za-z]+", before)
    if words and words[-1].lower() in ("is", "to", "of", "at", "was", "are"):
        return frozenset({"="})
    named = words[-1] if words and words[-1].islower() else ""
    return frozenset(forms(named)[:1]) - _REFERENCES if named else frozenset()


def _value(text: str) -> float:
    plain = text.lower().replace(",", "")
    return float(NUMBER_WORDS[plain]) if plain in NUMBER_WORDS else float(plain)


def _bound(text: str, before: str) -> Bound:
    near = " ".join(before.split()[-3:])
    if _UPPER.search(near) or re.search(r"\bmaximum|\blimit\b", text, re.IGNORECASE):
        return "upper"
    if _LOWER.search(near) or re.search(r"\bminimum\b", text, re.IGNORECASE):
        return "lower"
    return "about" if _ABOUT.search(near) else "exact"
