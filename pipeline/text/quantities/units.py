"""Spellings of units, each with its dimension and its size in the dimension's base unit.

A size is a set: KB, MB … may mean powers of 1,000 or of 1,024 (IEC 80000-13 has KiB, MiB … for the latter). Dimensions are
compared by name; a rate's dimension is ``byte/s``, a price's ``USD/month``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from types import MappingProxyType

Size = frozenset[Decimal]

_PREFIXES = (("k", "kilo", "kibi"), ("M", "mega", "mebi"), ("G", "giga", "gibi"), ("T", "tera", "tebi"), ("P", "peta", "pebi"))
# dimension: size in the base unit, then its spellings; all of them in any case unless a spelling has one or two letters
_PLAIN = """
byte: 1 B byte bytes octet octets
bit: 1 bit bits
time: 0.000000001 ns nanosecond nanoseconds
time: 0.000001 µs μs us microsecond microseconds
time: 0.001 ms millisecond milliseconds millisekunde millisekunden
time: 1 s sec secs second seconds sekunde sekunden seconde secondes segundo segundos
time: 60 min mins minute minutes minuten minuto minutos
time: 3600 h hr hrs hour hours stunde stunden heure heures hora horas
time: 86400 day days tag tage tagen jour jours día días
time: 604800 week weeks woche wochen semaine semaines semana semanas
month: 1 month months monat monate monaten mois mes meses
month: 12 year years yr yrs jahr jahre jahren an ans année années año años
month: 120 decade decades
month: 1200 century centuries
metre: 0.000000001 nm nanometre nanometres nanometer nanometers
metre: 0.000001 µm μm
metre: 0.001 mm millimetre millimetres millimeter millimeters
metre: 0.01 cm centimetre centimetres centimeter centimeters
metre: 1 m metre metres meter meters mètre mètres
metre: 1000 km kilometre kilometres kilometer kilometers
metre: 0.0254 inch inches
metre: 0.3048 ft foot feet
metre: 1609.344 mi mile miles
gram: 0.001 mg milligram milligrams
gram: 1 g gram grams gramm
gram: 1000 kg kilogram kilograms kilo kilos
gram: 1000000 t tonne tonnes
gram: 453.59237 lb lbs pound-mass
litre: 0.001 ml millilitre millilitres milliliter milliliters
litre: 1 l L litre litres liter liters
hertz: 1 Hz hertz
hertz: 1000 kHz
hertz: 1000000 MHz
hertz: 1000000000 GHz
watt: 0.001 mW
watt: 1 W watt watts
watt: 1000 kW kilowatt kilowatts
watt: 1000000 MW megawatt megawatts
watt: 1000000000 GW gigawatt gigawatts
watthour: 1 Wh
watthour: 1000 kWh
watthour: 1000000 MWh
watthour: 1000000000 GWh
watthour: 1000000000000 TWh
volt: 0.001 mV
volt: 1 V volt volts
celsius: 1 °C ℃ celsius
fahrenheit: 1 °F fahrenheit
percent: 1 % ％ percent percents per-cent prozent pourcent
points: 1 pp percentage-point percentage-points prozentpunkt prozentpunkte
times: 1 x × times fold -fold mal fois
USD: 1 $ USD US$ dollar dollars
USD: 0.01 cent cents
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
        size, *spellings = rest.split(" ")
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


UNITS = MappingProxyType(_table())
_ANY_CASE = MappingProxyType({name.casefold(): unit for name, unit in UNITS.items() if len(name) > 2 and not name.endswith("b")})
_PER = {"time": ("s", Decimal(1)), "month": ("month", Decimal(1))}
_SPELLINGS = "|".join(re.escape(name) for name in sorted({*UNITS, *_ANY_CASE}, key=len, reverse=True))
_UNIT = re.compile(rf"[\s-]?({_SPELLINGS})(?![^\W\d_])", re.IGNORECASE)
_RATE = re.compile(rf"\s?(?:/|per |a |an |pro |par )\s?({_SPELLINGS})(?![^\W\d_])", re.IGNORECASE)


def unit_named(spelling: str) -> tuple[str, Size] | None:
    """Return dimension and size of a unit; None if it is none. Short ones must have their case: MB is not Mb."""
    return UNITS.get(spelling) or _ANY_CASE.get(spelling.casefold())


def unit_at(text: str, start: int) -> tuple[str, Size, str, int] | None:
    """Return dimension, size, spelling and end of the unit that follows a number which ends at ``start``; None without one."""
    found = _UNIT.match(text, start)
    unit = unit_named(found[1]) if found else None
    if found is None or unit is None:
        return None
    dimension, sizes = unit
    rate = _RATE.match(text, found.end())
    per = unit_named(rate[1]) if rate else None
    if rate is None or per is None or per[0] not in _PER or dimension == "percent":
        return dimension, sizes, found[1], found.end()
    name, _ = _PER[per[0]]
    return f"{dimension}/{name}", frozenset(size / other for size in sizes for other in per[1]), found[1], rate.end()
