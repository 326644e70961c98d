"""Do the sources of a sentence give its numbers? Amounts are compared by value and unit, dates by their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import combinations, permutations

from pipeline.text.quantities.amounts import Amount, Quantities, quantities_in
from pipeline.text.quantities.dates import spans_between
from pipeline.text.quantities.units import unit_named
from pipeline.text.words import stems

_LIKE_A_VERSION = re.compile(r"\d{1,3}\.\d?0")
_ROUNDED = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|some|approximately|approx|circa|ca|over|under|more than|less than)\b", re.I
)
_SLACK = Decimal("0.06")  # of a value that is said to be rounded
_CONSTANTS = tuple(map(Decimal, (2, 7, 12, 24, 30, 52, 60, 100, 365, 1000, 1024, 3600)))
_MOST_OPERANDS = 14


def unsupported_quantity(sentence: str, sources: Sequence[str], known: str = "", *, derived: bool = False) -> str:
    """Return the first amount, date or name with digits of ``sentence`` that no source gives, as written; "" if there is none.

    ``known`` is other text whose numbers may be used, such as the user's question. With ``derived``, an amount may also be the
    sum, difference, product, ratio or percentage of amounts in the sources, rounded as it is written. A number word counts only
    if a source gives another number for the same thing.
    """
    text = "\n".join(sources)
    said, given, more = quantities_in(sentence), quantities_in(text), quantities_in(known)
    everything = f"{text}\n{known}"
    for name in said.names:
        if _plain(name) not in _plain(everything):
            return name
    for day in said.days:
        if not any(day.is_within(other) for other in (*given.days, *more.days)) and day.shown not in everything:
            return day.shown
    wrong = (amount for amount in said.amounts if not _is_given(amount, given, text) and not _is_given(amount, more, known))
    for amount in wrong:
        if amount.spelled and not _has_rival(amount, given):
            continue
        if not (derived and is_computable(amount, given, sentence)):
            return amount.shown
    return ""


def _plain(text: str) -> str:
    return re.sub(r"[\s\-_]", "", text.casefold()).translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))


def _is_given(amount: Amount, given: Quantities, text: str) -> bool:
    equal = [other for other in given.amounts if _same_value(amount, other)]
    if amount.dimension:
        if any(other.dimension == amount.dimension for other in equal):
            return True
        bare = [other for other in given.amounts if not other.dimension and amount.bare & other.bare]
        return bool(bare) and _names_unit(amount.unit, text)
    whole = next(iter(amount.values))
    if any(day.year == whole or (not amount.noun and whole in (day.day, day.month)) for day in given.days):
        return True
    if not amount.noun or any(not other.noun or _same_noun(amount, other) for other in equal):
        return bool(equal)
    return bool(equal) and not _has_rival(amount, given)


def _same_value(one: Amount, other: Amount) -> bool:
    if not one.dimension or not other.dimension:
        if one.shown != other.shown and any(map(_LIKE_A_VERSION.fullmatch, (one.shown, other.shown))):
            return False  # 3.1 is not version 3.10
        return bool(one.bare & other.bare)
    return one.dimension == other.dimension and bool(one.values & other.values)


def _names_unit(unit: str, text: str) -> bool:
    if unit_named(unit) == unit_named("%"):
        return re.search(r"%|percent|per cent|prozent", text, re.IGNORECASE) is not None
    return re.search(rf"(?<![^\W_]){re.escape(unit)}(?![^\W_])", text) is not None


def _same_noun(one: Amount, other: Amount) -> bool:
    return stems(one.noun) == stems(other.noun)


def _has_rival(amount: Amount, given: Quantities) -> bool:
    """Return whether the sources count the same thing and never with this number."""
    if amount.dimension:
        return any(other.dimension == amount.dimension for other in given.amounts)
    rivals = [other for other in given.amounts if amount.noun and other.noun and _same_noun(amount, other)]
    return bool(rivals) and not any(amount.bare & other.bare for other in rivals)


def is_computable(amount: Amount, given: Quantities, sentence: str) -> bool:
    """Return whether an amount follows from two amounts or dates of the sources, or from the sum of all of one kind."""
    rounded = bool(_ROUNDED.search(sentence))
    wanted = max(amount.values)
    room = max(amount.half, abs(wanted) * _SLACK if rounded else Decimal(0))
    return any(abs(abs(value) - abs(wanted)) <= room for value in _results(amount.dimension, given))


def _results(dimension: str, given: Quantities) -> Iterator[Decimal]:
    """Yield what the usual operations give in this dimension."""
    operands = [amount for amount in given.amounts if not amount.is_ordinal][:_MOST_OPERANDS]
    kind = "percent" if dimension == "points" else dimension
    same = [max(amount.values) for amount in operands if amount.dimension == kind]
    yield from (one + other for one, other in combinations(same, 2))
    yield from (one - other for one, other in combinations(same, 2))
    if len(same) > 2:
        yield sum(same, Decimal(0))
    yield from (length for kind, length in spans_between(given.days) if kind == dimension)
    for one, other in permutations(operands, 2):
        if one.dimension == other.dimension:
            yield from _ratios(dimension, max(one.values), max(other.values))
        elif dimension in (one.dimension, other.dimension) and {one.dimension, other.dimension} & {"", "times"}:
            yield from _scaled(max(one.values), max(other.values))
    for value in same:
        yield from (scaled for constant in _CONSTANTS for scaled in _scaled(value, constant))
    if dimension in ("", "month"):
        years = [max(amount.values) for amount in operands if not amount.dimension]
        yield from ((one - other) * (12 if dimension else 1) for one, other in permutations(years, 2))


def _scaled(one: Decimal, other: Decimal) -> Iterator[Decimal]:
    yield one * other
    try:
        yield one / other
    except (DivisionByZero, InvalidOperation):
        return


def _ratios(dimension: str, one: Decimal, other: Decimal) -> Iterator[Decimal]:
    try:
        ratio = one / other
    except (DivisionByZero, InvalidOperation):
        return
    if dimension in ("", "times"):
        yield ratio
        yield one * other
    elif dimension in ("percent", "points"):
        yield from (100 * ratio, 100 * (ratio - 1))


_EQUATION = re.compile(
    r"(?P<a>\d[\d.,]*)\s?\w{0,3}\s?(?P<sign>[+×*·/÷−-])\s?(?P<b>\d[\d.,]*)\s?\w{0,3}\s?(?:=|≈|is|makes|gives|equals)\s?(?P<c>\d[\d.,]*)"
)
_COMPARED = re.compile(
    r"\b(?:(?P<more>(?:more|larger|greater|higher|bigger|longer|slower|later|newer|heavier) than|exceeds|above|after)"
    r"|(?P<less>(?:less|smaller|lower|fewer|shorter|faster|earlier|older|lighter|cheaper) than|below|before))\b",
    re.IGNORECASE,
)


def wrong_arithmetic(sentence: str) -> str:
    """Return what is wrong in the arithmetic that a sentence writes out itself, or ""."""
    for match in _EQUATION.finditer(sentence):
        a, b, c = (quantities_in(match[name].rstrip(".,")).amounts for name in "abc")
        if a and b and c and not _holds(max(a[0].bare), match["sign"], max(b[0].bare), max(c[0].bare), c[0].half):
            return f"{match[0].rstrip('.,')} is not right"
    compared = list(_COMPARED.finditer(sentence))
    if len(compared) != 1:
        return ""
    left, right = (quantities_in(side).amounts for side in (sentence[: compared[0].start()], sentence[compared[0].end() :]))
    if len(left) != 1 or len(right) != 1 or not left[0].dimension or left[0].dimension != right[0].dimension:
        return ""
    if any("/" in side[0].dimension for side in (left, right)) or left[0].dimension == "percent":
        return ""
    less = min(left[0].values) < max(right[0].values)
    return "" if bool(compared[0]["less"]) == less else f"{left[0].shown} is not {compared[0][0]} {right[0].shown}"


def _holds(a: Decimal, sign: str, b: Decimal, c: Decimal, half: Decimal) -> bool:
    if sign in "+":
        value = a + b
    elif sign in "−-":
        value = a - b
    elif sign in "×*·":
        value = a * b
    else:
        value = a / b if b else c
    return abs(value - c) <= half
