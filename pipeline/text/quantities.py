"""Numbers, units and dates in running text; and whether the sources of a sentence give those that it says.

Amounts are compared by value and unit, dates by their parts. A size in a dimension's base unit is a set: KB, MB … may mean powers
of 1,000 or of 1,024 (IEC 80000-13 has KiB, MiB … for the latter). Dimensions are compared by name; a rate's is ``byte/s``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipeline.text.words import stems

Size = frozenset[Decimal]

_PREFIXES = (("k", "kilo", "kibi"), ("M", "mega", "mebi"), ("G", "giga", "gibi"), ("T", "tera", "tebi"), ("P", "peta", "pebi"))
# Dimension: size in the base unit, then spellings; the next unit. All in any case unless a spelling has one or two letters.
_PLAIN = """
byte: 1 B byte bytes octet octets
bit: 1 bit bits
time: 0.000000001 ns nanosecond nanoseconds; 0.000001 µs μs us microsecond microseconds
time: 0.001 ms millisecond milliseconds millisekunde millisekunden
time: 1 s sec secs second seconds sekunde sekunden seconde secondes segundo segundos
time: 60 min mins minute minutes minuten minuto minutos; 3600 h hr hrs hour hours stunde stunden heure heures hora horas
time: 86400 day days tag tage tagen jour jours día días; 604800 week weeks woche wochen semaine semaines semana semanas
month: 1 month months monat monate monaten mois mes meses; 12 year years yr yrs jahr jahre jahren an ans année années año años
month: 120 decade decades; 1200 century centuries
metre: 0.000000001 nm nanometre nanometres nanometer nanometers; 0.000001 µm μm
metre: 0.001 mm millimetre millimetres millimeter millimeters; 0.01 cm centimetre centimetres centimeter centimeters
metre: 1 m metre metres meter meters mètre mètres; 1000 km kilometre kilometres kilometer kilometers; 0.0254 inch inches
metre: 0.3048 ft foot feet; 1609.344 mi mile miles
gram: 0.001 mg milligram milligrams; 1 g gram grams gramm; 1000 kg kilogram kilograms kilo kilos; 1000000 t tonne tonnes
gram: 453.59237 lb lbs pound-mass
litre: 0.001 ml millilitre millilitres milliliter milliliters; 1 l L litre litres liter liters
hertz: 1 Hz hertz; 1000 kHz; 1000000 MHz; 1000000000 GHz
watt: 0.001 mW; 1 W watt watts; 1000 kW kilowatt kilowatts; 1000000 MW megawatt megawatts; 1000000000 GW gigawatt gigawatts
watthour: 1 Wh; 1000 kWh; 1000000 MWh; 1000000000 GWh; 1000000000000 TWh
volt: 0.001 mV; 1 V volt volts
celsius: 1 °C ℃ celsius
fahrenheit: 1 °F fahrenheit
percent: 1 % ％ percent percents per-cent prozent pourcent
points: 1 pp percentage-point percentage-points prozentpunkt prozentpunkte
times: 1 x × times fold -fold mal fois
USD: 1 $ USD US$ dollar dollars; 0.01 cent cents
EUR: 1 € EUR euro euros
GBP: 1 £ GBP pounds
JPY: 1 ¥ JPY yen
CHF: 1 CHF franken francs
token: 1 token tokens
"""


def _table() -> dict[str, tuple[str, Size]]:
    found: dict[str, tuple[str, Size]] = {}
    for line in _PLAIN.strip().splitlines():
        dimension, _, rest = line.partition(": ")
        for size, *spellings in (unit.split(" ") for unit in rest.split("; ")):
            found |= {spelling.replace("-", " ").strip(): (dimension, frozenset({Decimal(size)})) for spelling in spellings}
    for power, (letter, metric, binary) in enumerate(_PREFIXES, start=1):
        thousands, kibis = Decimal(1000) ** power, Decimal(1024) ** power
        either, exact = frozenset({thousands, kibis}), frozenset({kibis})
        small = {f"{letter}B", f"{letter.lower()}b", f"{letter.upper()}B", f"{metric}byte", f"{metric}bytes"}
        found |= dict.fromkeys(small, ("byte", either))
        found |= dict.fromkeys((f"{letter}iB", f"{letter.upper()}iB", f"{binary}byte", f"{binary}bytes"), ("byte", exact))
        bits = (f"{letter}b", f"{letter}bit", f"{letter}bits", f"{metric}bit", f"{metric}bits")
        found |= dict.fromkeys((bit for bit in bits if bit != "kb"), ("bit", frozenset({thousands})))
        found[f"{letter}bps"] = ("bit/s", frozenset({thousands}))
    return found


_UNITS = _table()
_ANY_CASE = {name.casefold(): unit for name, unit in _UNITS.items() if len(name) > 2 and not name.endswith("b")}
_PER = {"time": "s", "month": "month"}
_SPELLINGS = "|".join(re.escape(name) for name in sorted({*_UNITS, *_ANY_CASE}, key=len, reverse=True))
# What follows a number, from tables: a unit, and what it is counted by.
_UNIT = re.compile(rf"[\s-]?({_SPELLINGS})(?![^\W\d_])", re.IGNORECASE)
_RATE = re.compile(rf"\s?(?:/|per |a |an |pro |par )\s?({_SPELLINGS})(?![^\W\d_])", re.IGNORECASE)


def _unit_named(spelling: str) -> tuple[str, Size] | None:
    """Return dimension and size of a unit; None if it is none. Short ones must have their case: MB is not Mb."""
    return _UNITS.get(spelling) or _ANY_CASE.get(spelling.casefold())


def _unit_at(text: str, start: int) -> tuple[str, Size, str, int] | None:
    """Return dimension, size, spelling and end of the unit that follows a number which ends at ``start``; None without one."""
    found = _UNIT.match(text, start)
    unit = _unit_named(found[1]) if found else None
    if found is None or unit is None:
        return None
    dimension, sizes = unit
    rate = _RATE.match(text, found.end())
    per = _unit_named(rate[1]) if rate else None
    if rate is None or per is None or per[0] not in _PER or dimension == "percent":
        return dimension, sizes, found[1], found.end()
    return f"{dimension}/{_PER[per[0]]}", frozenset(size / other for size in sizes for other in per[1]), found[1], rate.end()


_MONTHS = (
    "january jan januar jänner janvier enero, february feb februar février febrero, march mar märz mars marzo, "
    "april apr avril abril, may mai mayo, june jun juni juin junio, july jul juli juillet julio, august aug août agosto, "
    "september sept sep septembre septiembre, october oct oktober okt octobre octubre, november nov novembre noviembre, "
    "december dec dezember dez décembre diciembre"
)
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS.split(","), start=1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBER_OF, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?P<year>[12]\d{3})(?![\w%]|[.,]\d)"
# Dates as people write them; each place has its own order, and a date's numbers are no amounts.
_FORMS = tuple(
    re.compile(rf"(?<![\w.,/-]){form}", re.IGNORECASE)
    for form in (
        r"(?P<year>[12]\d{3})-(?P<month>0\d|1[0-2])(?:-(?P<day>[0-3]\d))?(?![\w-]*\d)(?=T\d|\b)",
        rf"{_DAY},? (?:of |de )?{_MONTH},? (?:de )?{_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"{_MONTH},? {_YEAR}",
        r"(?P<day>\d{1,2})(?P<sign>[./])\s?(?P<month>\d{1,2})(?P=sign)\s?(?P<year>[12]\d{3})\b",
        rf"{_DAY} (?:of |de )?{_MONTH}(?!\w)",
        rf"{_MONTH} {_DAY}(?![\w%]|[.,]?\d)",
    )
)


@dataclass(frozen=True, slots=True)
class Day:
    """A date; a part that is not given is 0. ``swapped``: day and month may be the other way round. ``shown``: as written."""

    year: int
    month: int
    day: int
    shown: str
    swapped: bool = False

    def is_within(self, other: Day) -> bool:
        """Return whether ``other`` says all that this date says."""
        orders = [(other.month, other.day), *([(other.day, other.month)] if other.swapped or self.swapped else [])]
        same_year = self.year in (0, other.year)
        return same_year and any(self.month in (0, month) and self.day in (0, day) for month, day in orders)


def _dates_in(text: str) -> tuple[list[Day], str]:
    """Return the dates in a text, and the text with blanks in their places. A year alone counts as a number."""
    found: list[Day] = []
    for form in _FORMS:
        for match in list(form.finditer(text)):
            parts = match.groupdict()
            is_signed, named = "sign" in parts, (parts.get("month") or "").casefold().rstrip(".")
            if not is_signed and named in {"may", "mar", "mars"} and not match["month"][0].isupper():
                continue  # "may" and "mar" are words
            month = int(named) if named.isdigit() else _NUMBER_OF[named]
            year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
            swapped = is_signed and month <= 31 and day <= 12
            if day <= 31 and (1 <= month <= 12 or (is_signed and 1 <= day <= 12 and month <= 31)):
                found.append(Day(year, month, day, match[0].strip(), swapped or month > 12))
                text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return found, text


# A number in digits with its currency and sign; thousands are parted in five ways.
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
# "5 million", "5-million": the word belongs to the number.
_MAGNITUDE = re.compile(rf"[\s-]?({'|'.join(_LONGEST_FIRST)})(?!\w)", re.IGNORECASE)
_SUFFIXES = {"k": 3, "K": 3, "M": 6}
_MONEY_SUFFIXES = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"  # noqa: SIM905 - read as text
    " nineteen".split()
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
_WORDS = {word: number for number, word in enumerate(_ONES)} | {word: 10 * (at + 2) for at, word in enumerate(_TENS)}
_WORDS |= {word: number for number, word in enumerate(_GERMAN)} | {"dozen": 12}
_ANY_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
# "twenty-one", "tenfold", "half a", "a quarter of an": so sources write small numbers that a sentence gives in digits.
_SPELLED = re.compile(
    rf"\b(?:(?:({'|'.join(_TENS)})[-\s]({'|'.join(_ONES[1:10])})|({_ANY_WORD}))(?:-?(fold))?"
    r"|(half) an?|a (half|quarter) of an?)\b",
    re.IGNORECASE,
)
# The word after a number, which says what it counts.
_NOUN = re.compile(r"[\s-]([^\W\d_]{3,})")
# A token with letters before its digits, a version, a time: a name, compared letter by letter.
_NAME = re.compile(
    r"(?<![\w.])(?:\d+(?:\.\d+){2,}[\w.-]*\w|\d+(?:\.\d+){2,}|\d{1,2}:\d{2}(?::\d{2})?|\d+/\d+|\d+\^\d+|\d{4}s"
    r"|(?=[\w.-]*[^\W\d_]-?\d)[^\W\d_][\w-]*(?:\.\w+)*|0x[0-9a-fA-F]+)"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a text. ``values`` are its readings in the base unit of ``dimension`` ("": no unit), ``bare`` those without it.

    ``unit`` is the unit's spelling, ``noun`` the word that follows a number without one. ``spelled``: written as a word.
    """

    shown: str
    values: Size
    bare: Size
    dimension: str
    unit: str
    noun: str
    spelled: bool


@dataclass(frozen=True, slots=True)
class Quantities:
    """What a text says in numbers: amounts, dates, and names that contain digits (versions, times, ``E220``)."""

    amounts: tuple[Amount, ...]
    days: tuple[Day, ...]
    names: tuple[str, ...]


def _quantities_in(text: str) -> Quantities:
    """Return the quantities of a text, by kind; a date's parts and a name's digits are no amounts."""
    days, rest = _dates_in(text)
    names = [match[0] for match in _NAME.finditer(rest)]
    rest = _NAME.sub(lambda match: " " * len(match[0]), rest)
    written = [amount for match in _DIGITS.finditer(rest) if (amount := _written(match, rest)) is not None]
    spelled = [
        _spelled(match, rest) for match in _SPELLED.finditer(rest) if not (match[5] or match[6]) or _unit_at(rest, match.end())
    ]
    return Quantities((*written, *spelled), tuple(days), tuple(names))


def _readings(number: str) -> Size:
    """Return the values that a number in digits may have: a point before three digits may separate thousands."""
    plain = "".join(sign for sign in number if sign in ".," or sign.isdecimal())
    found: list[Decimal] = []
    for thousands, point in (",.", ".,"):
        whole, _, decimals = plain.partition(point)
        first, *others = whole.split(thousands)
        if not {thousands, point} & set(decimals) and (not others or (len(first) < 4 and all(len(one) == 3 for one in others))):
            found.append(Decimal(f"{first}{''.join(others)}.{decimals or 0}"))
            if others and thousands == ",":
                break
    return frozenset(found)


def _written(match: re.Match[str], text: str) -> Amount | None:
    values = _readings(match["number"])
    if not values:
        return None
    values = frozenset(-value for value in values) if match["sign"] else values
    money = _unit_named((match["money"] or "").strip())
    end, power = _magnitude(text, match.end(), bool(money))
    return _amount(match[0].strip(), values, text, end, power, money)


def _magnitude(text: str, end: int, money: bool) -> tuple[int, int]:
    if found := _MAGNITUDE.match(text, end):
        return found.end(), _MAGNITUDES[found[1].casefold()]
    power = (_MONEY_SUFFIXES if money else _SUFFIXES).get(text[end : end + 1], 0)
    goes_on = text[end + 1 : end + 2].isalnum() or text[end + 1 : end + 2] in ("_", "%")
    return (end + 1, power) if power and not goes_on else (end, 0)


def _amount(shown: str, values: Size, text: str, end: int, power: int, money: tuple[str, Size] | None = None) -> Amount:
    bare, spelled = frozenset(value.scaleb(power) for value in values), shown[0].isalpha()
    if money is not None:
        rate = _unit_at(f" ${text[end:]}", 1)  # "$5 a month" is read like "5 dollars a month"
        dimension = rate[0].replace("USD", money[0]) if rate and rate[0].startswith("USD") else money[0]
        sizes = rate[1] if rate and "/" in dimension else money[1]
        return Amount(shown, _times(bare, sizes), bare, dimension, money[0], "", spelled)
    if unit := _unit_at(text, end):
        dimension, sizes, name, until = unit
        return Amount(shown + text[end:until], _times(bare, sizes), bare, dimension, name, "", spelled)
    noun = _NOUN.match(text, end)
    return Amount(shown, bare, bare, "", "", noun[1].casefold() if noun else "", spelled)


def _times(values: Size, sizes: Size) -> Size:
    return frozenset(value * size for value in values for size in sizes)


def _spelled(match: re.Match[str], text: str) -> Amount:
    tens, ones, word, fold, half, part = (said.casefold() if said else "" for said in match.groups())
    if half or part:
        return _amount(match[0], frozenset({Decimal("0.5" if half or part == "half" else "0.25")}), text, match.end(), 0)
    values = frozenset({Decimal(_WORDS[tens] + _WORDS[ones] if tens else _WORDS[word])})
    if fold:
        return Amount(match[0], values, values, "times", "fold", "", True)
    end, power = _magnitude(text, match.end(), money=False)
    return _amount(match[0], values, text, end, power)


def unsupported_quantity(sentence: str, sources: Sequence[str], known: str = "") -> str:
    """Return the first amount, date or name with digits of ``sentence`` that no source gives, as written; "" if there is none.

    ``known`` is other text whose numbers may be used, such as the user's question. A number word counts only if a source gives
    another number for the same thing.
    """
    text = "\n".join(sources)
    said, given, more = _quantities_in(sentence), _quantities_in(text), _quantities_in(known)
    everything = f"{text}\n{known}"
    for name in said.names:
        if _plain(name) not in _plain(everything):
            return name
    for day in said.days:
        if not any(day.is_within(other) for other in (*given.days, *more.days)) and day.shown not in everything:
            return day.shown
    wrong = (amount for amount in said.amounts if not _is_given(amount, given, text) and not _is_given(amount, more, known))
    return next((amount.shown for amount in wrong if not amount.spelled or _has_rival(amount, given)), "")


def _plain(text: str) -> str:
    return "".join(sign for sign in text.casefold() if not sign.isspace() and sign not in "-_").translate(
        str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    )


def _is_given(amount: Amount, given: Quantities, text: str) -> bool:
    def is_same(other: Amount) -> bool:
        if amount.dimension and other.dimension:
            return amount.dimension == other.dimension and bool(amount.values & other.values)
        if amount.shown != other.shown and any("." in shown and shown.endswith("0") for shown in (amount.shown, other.shown)):
            return False  # 3.10 may be a version, which is not 3.1
        return bool(amount.bare & other.bare)

    equal = [other for other in given.amounts if is_same(other)]
    if amount.dimension:
        if any(other.dimension == amount.dimension for other in equal):
            return True
        bare = [other for other in given.amounts if not other.dimension and amount.bare & other.bare]
        if _unit_named(amount.unit) == _unit_named("%"):
            return bool(bare) and any(name in text.casefold() for name in ("%", "percent", "per cent", "prozent"))
        return bool(bare) and amount.unit in "".join(one if one.isalnum() or one in amount.unit else " " for one in text).split()
    whole = next(iter(amount.values))
    if any(day.year == whole or (not amount.noun and whole in (day.day, day.month)) for day in given.days):
        return True
    if not amount.noun or any(not other.noun or _same_noun(amount, other) for other in equal):
        return bool(equal)
    return bool(equal) and not _has_rival(amount, given)


def _same_noun(one: Amount, other: Amount) -> bool:
    return stems(one.noun) == stems(other.noun)


def _has_rival(amount: Amount, given: Quantities) -> bool:
    """Return whether the sources count the same thing and never with this number."""
    if amount.dimension:
        return any(other.dimension == amount.dimension for other in given.amounts)
    rivals = [other for other in given.amounts if amount.noun and other.noun and _same_noun(amount, other)]
    return bool(rivals) and not any(amount.bare & other.bare for other in rivals)
