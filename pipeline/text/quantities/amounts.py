"""Numbers with their units in running text, as ``Amount``: digits in all usual spellings, number words, magnitudes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from pipeline.text.quantities.dates import Day, dates_in
from pipeline.text.quantities.units import Size, unit_at, unit_named

_DIGITS = re.compile(
    r"(?<![\w.,])(?P<money>[$€£¥]|US\$|USD |EUR |GBP |CHF )?\s?(?P<sign>[-−](?=\d))?"
    r"(?P<number>\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)*)(?:st|nd|rd|th)?(?![\d])"
)
_MAGNITUDES = {
    "thousand": 3, "tausend": 3, "million": 6, "millions": 6, "millionen": 6, "mio": 6, "mio.": 6, "mn": 6, "billion": 9,
    "billions": 9, "bn": 9, "milliarde": 9, "milliarden": 9, "milliard": 9, "milliards": 9, "mrd": 9, "mrd.": 9, "trillion": 12,
    "trillions": 12, "hundred": 2,
}  # fmt: skip
_LONGEST_FIRST = sorted(map(re.escape, _MAGNITUDES), key=len, reverse=True)
_MAGNITUDE = re.compile(rf"[\s-]?({'|'.join(_LONGEST_FIRST)})(?!\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"([kKMmBb])(?![\w%])")
_SUFFIXES = {"k": 3, "K": 3, "M": 6}
_MONEY_SUFFIXES = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9}
_ONE_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_ONES = _ONE_TO_NINETEEN.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
_WORDS = {word: number for number, word in enumerate(_ONES)} | {word: 10 * (at + 2) for at, word in enumerate(_TENS)}
_WORDS |= {word: number for number, word in enumerate(_GERMAN)} | {"dozen": 12}
_ANY_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPELLED = re.compile(
    rf"\b(?:({'|'.join(_TENS)})[-\s]({'|'.join(_ONES[1:10])})|({_ANY_WORD}))(?:-?(fold))?\b",
    re.IGNORECASE,
)
_FRACTIONS = {"half": Decimal("0.5"), "quarter": Decimal("0.25")}
_FRACTION = re.compile(r"\b(?:(half) an?|a (half|quarter) of an?)\b", re.IGNORECASE)
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})\b", re.IGNORECASE)
_NOUN = re.compile(r"[\s-]([^\W\d_]{3,})")
# A token with letters before its digits, a version, a time: a name, compared letter by letter.
_NAME = re.compile(
    r"(?<![\w.])(?:\d+(?:\.\d+){2,}[\w.-]*\w|\d+(?:\.\d+){2,}|\d{1,2}:\d{2}(?::\d{2})?|\d+/\d+|\d+\^\d+|\d{4}s"
    r"|(?=[\w.-]*[^\W\d_]-?\d)[^\W\d_][\w-]*(?:\.\w+)*|0x[0-9a-fA-F]+)"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a text. ``values`` are its readings in the base unit of ``dimension`` ("": no unit), ``bare`` those without it.

    ``unit`` is the unit's spelling, ``noun`` the word that follows a number without one. ``spelled``: written as a word. ``half``
    is half of the last digit's worth in the base unit. ``place`` is where a number in digits starts and ends in the text, with
    its magnitude and unit; (0, 0) for others.
    """

    shown: str
    values: Size
    bare: Size
    dimension: str
    unit: str
    noun: str
    spelled: bool
    half: Decimal
    place: tuple[int, int] = (0, 0)

    @property
    def is_ordinal(self) -> bool:
        """Whether it only counts a place: ``first``."""
        return self.shown.casefold() in _ORDINALS


@dataclass(frozen=True, slots=True)
class Quantities:
    """What a text says in numbers: amounts, dates, and names that contain digits (versions, times, ``E220``)."""

    amounts: tuple[Amount, ...]
    days: tuple[Day, ...]
    names: tuple[str, ...]


def quantities_in(text: str) -> Quantities:
    """Return the quantities of a text, by kind; a date's parts and a name's digits are no amounts."""
    days, rest = dates_in(text)
    names = [match[0] for match in _NAME.finditer(rest)]
    rest = _NAME.sub(lambda match: " " * len(match[0]), rest)
    written = [amount for match in _DIGITS.finditer(rest) if (amount := _written(match, rest)) is not None]
    spelled = [_spelled(match, rest) for match in _SPELLED.finditer(rest)]
    ordinal = [_ordinal(match) for match in _ORDINAL.finditer(rest)]
    parts = [_fraction(match, rest) for match in _FRACTION.finditer(rest) if unit_at(rest, match.end()) is not None]
    return Quantities((*written, *spelled, *ordinal, *parts), tuple(days), tuple(names))


def readings(number: str) -> Size:
    """Return the values that a number in digits may have: a point or comma before three digits may separate thousands."""
    plain = re.sub(r"['’\u00a0\u202f ]", "", number)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        return frozenset({Decimal(plain.replace(",", ""))})
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", plain):
        grouped = Decimal(plain.replace(".", "").replace(",", "."))
        return frozenset({grouped, Decimal(plain)} if re.fullmatch(r"\d+\.\d+", plain) else {grouped})
    if re.fullmatch(r"\d+,\d+", plain):
        return frozenset({Decimal(plain.replace(",", "."))})
    return frozenset({Decimal(plain)}) if re.fullmatch(r"\d+(?:\.\d+)?", plain) else frozenset()


def _written(match: re.Match[str], text: str) -> Amount | None:
    values = readings(match["number"])
    if not values:
        return None
    values = frozenset(-value for value in values) if match["sign"] else values
    decimals = match["number"].replace(",", ".").partition(".")[2]
    half = Decimal(5).scaleb(-len(decimals) - 1) if len(values) == 1 and "," not in match["number"] else Decimal("0.5")
    money = unit_named((match["money"] or "").strip())
    end, power = _magnitude(text, match.end(), bool(money))
    start = match.end() - len(match[0].lstrip())
    amount = _amount(match[0].strip(), values, half, text, end, power, money)
    return replace(amount, place=(start, max(end, _unit_end(text, end, amount))))


def _unit_end(text: str, end: int, amount: Amount) -> int:
    """Return where the unit ends that follows a number, 0 if none does; of money only what it is paid for follows."""
    if not amount.dimension:
        return 0
    if unit := unit_at(text, end):
        return unit[3]
    rate = unit_at(f" {'$'}{text[end:]}", 1) if "/" in amount.dimension else None
    return end + rate[3] - 2 if rate else 0


def _magnitude(text: str, end: int, money: bool) -> tuple[int, int]:
    if found := _MAGNITUDE.match(text, end):
        return found.end(), _MAGNITUDES[found[1].casefold()]
    suffix = _SUFFIX.match(text, end)
    power = (_MONEY_SUFFIXES if money else _SUFFIXES).get(suffix[1], 0) if suffix else 0
    return (suffix.end(), power) if suffix and power else (end, 0)


def _amount(
    shown: str,
    values: Size,
    half: Decimal,
    text: str,
    end: int,
    power: int,
    money: tuple[str, Size] | None,
    spelled: bool = False,
) -> Amount:
    bare = frozenset(value.scaleb(power) for value in values)
    half = half.scaleb(power)
    unit = unit_at(text, end)
    if money is not None:
        rate = unit_at(f" {'$'}{text[end:]}", 1)  # "$5 a month" is read like "5 dollars a month"
        dimension = rate[0].replace("USD", money[0]) if rate and rate[0].startswith("USD") else money[0]
        sizes = rate[1] if rate and "/" in dimension else money[1]
        return Amount(shown, _times(bare, sizes), bare, dimension, money[0], "", spelled, half * min(sizes))
    if unit is not None:
        return Amount(
            shown + text[end : unit[3]], _times(bare, unit[1]), bare, unit[0], unit[2], "", spelled, half * min(unit[1])
        )
    noun = _NOUN.match(text, end)
    return Amount(shown, bare, bare, "", "", noun[1].casefold() if noun else "", spelled, half)


def _times(values: Size, sizes: Size) -> Size:
    return frozenset(value * size for value in values for size in sizes)


def _spelled(match: re.Match[str], text: str) -> Amount:
    tens, ones, word, fold = match.groups()
    number = _WORDS[tens.casefold()] + _WORDS[ones.casefold()] if tens else _WORDS[word.casefold()]
    values = frozenset({Decimal(number)})
    if fold:
        return Amount(match[0], values, values, "times", "fold", "", True, Decimal("0.5"))
    end, power = _magnitude(text, match.end(), money=False)
    return _amount(match[0], values, Decimal("0.5"), text, end, power, None, spelled=True)


def _fraction(match: re.Match[str], text: str) -> Amount:
    """Return "half a gigabyte" as an amount; the text goes on with a unit."""
    part = frozenset({_FRACTIONS[(match[1] or match[2]).casefold()]})
    return _amount(match[0], part, Decimal("0.05"), text, match.end(), 0, None, spelled=True)


def _ordinal(match: re.Match[str]) -> Amount:
    value = frozenset({Decimal(_ORDINALS.index(match[1].casefold()) + 1)})
    return Amount(match[0], value, value, "", "", "", True, Decimal("0.5"))
