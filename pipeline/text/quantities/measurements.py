"""One number of a sentence, with its date and what it measures: the parts that a series over several dates is made of.

Whether two numbers measure the same is decided by the words around them: they must be the same, apart from number and date.
Where that is in doubt, there is no measurement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pipeline.text.quantities.amounts import Amount, quantities_in
from pipeline.text.quantities.dates import Day, dates_in

NUMBER, DATE = "#", "@"  # what stands for them in the words around
_LONGEST = 300  # characters of a sentence
_LARGEST = 10**15  # longer numbers are names: keys, account numbers
_YEAR = re.compile(
    r"(?:(?<![\w-])(?:in|during|year|end of|by|as of|for|at)\s+(?:the year\s+)?|\(|\A)((?:1[5-9]|20)\d\d)(?=[\s,.;:)]|\Z)",
    re.IGNORECASE,
)
# A date behind one of these is not when the number was measured, but where a stretch of time begins or ends.
_STRETCH = re.compile(r"(?:since|until|till|from|to|before|after|between|through|and|[-–])\s*\Z", re.IGNORECASE)
_BOUND = re.compile(
    r"(?:more|less|fewer|greater|rather|other) than|over|under|above|below|at (?:least|most)|up to|exceed(?:s|ed|ing)?"
    r"|minimum of|maximum of|between|and|or|to|than",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|around|roughly|approximately|approx\.?|circa|ca\.?|some|nearly|almost)\s*\Z", re.IGNORECASE)
# Words before a number that is a name: "version 12", "section 3".
_LABEL_WORDS = """
version versions release v chapter section page pages figure fig table no number nr article part volume step rule port
rfc iso line item appendix build rev revision class level phase tier room day week question id issue edition season
grade code key option type row column act paragraph note clause annex rank place position
"""
LABELS = frozenset(_LABEL_WORDS.split())
_WORD = re.compile(r"[^\W\d_]{2,}")
_LAST_WORD = re.compile(r"([^\W\d_]+)[.:]?\s*\Z")
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\Z")


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number with what it measures: ``words`` are those around it, with signs for number and date; ``shown`` as written.

    ``day`` is None if the sentence has no date. ``label`` are the words as they are shown to a reader.
    """

    words: str
    label: str
    day: Day | None
    amount: Amount
    shown: str


@lru_cache(maxsize=8_192)  # a question that is researched again quotes the same sentences
def sentence_measurement(sentence: str) -> Measurement | None:
    """Return the one number that a sentence states; None if it states several, or none that is surely a measured value."""
    text = " ".join(sentence.split())
    if len(text) > _LONGEST or text.endswith("?"):
        return None
    dated = _dated(text)
    amount = _only_amount(dated[1]) if dated else None
    if dated is None or amount is None or not _is_value(dated[1], amount):
        return None
    day, marked = dated
    start, end = amount.place
    before, after = _ABOUT.sub("", marked[:start].rstrip() + " "), marked[end:]
    words = f"{before}{NUMBER}{after}".casefold().replace(",", "").rstrip(".;! ")
    label = " ".join(f"{before}…{after}".replace(DATE, "…").rstrip(".;! ").split())
    about = _ABOUT.search(marked[:start])
    return Measurement(words, label, day, amount, marked[about.start() if about else start : end])


def has_one_reading(amount: Amount) -> bool:
    """Return whether a number's digits can be read in one way only, and it is one of a size that is measured."""
    return len(amount.bare) == 1 and all(abs(value) < _LARGEST for value in amount.bare)


def count_words(words: str) -> int:
    """Return how many words a measurement has around its number."""
    return len(_WORD.findall(words))


def day_named(text: str) -> Day | None:
    """Return the date that a text such as a table's cell consists of: ``2019``, ``May 2019``, ``2019-05-03``; None if none."""
    bare = text.strip().strip("*_ ")
    if re.fullmatch(r"(?:1[5-9]|20)\d\d", bare):
        return Day(int(bare), 0, 0, bare)
    days, rest = dates_in(bare)
    return days[0] if len(days) == 1 and not rest.strip() and is_certain(days[0]) else None


def is_certain(day: Day) -> bool:
    """Return whether a date has a year, and its day and month cannot be the other way round."""
    return day.year > 0 and not day.swapped and (not day.day or day.as_date() is not None)


def _dated(text: str) -> tuple[Day | None, str] | None:
    """Return the date of a sentence and the sentence with a sign in its place; None if it has several or an uncertain one."""
    days, rest = dates_in(text)
    years = list(_YEAR.finditer(rest))
    if len(days) + len(years) > 1:
        return None
    if not days and not years:
        return None, text
    if years:
        (start, end), day = years[0].span(1), Day(int(years[0][1]), 0, 0, years[0][1])
    else:
        changed = [place for place, (one, other) in enumerate(zip(text, rest, strict=True)) if one != other]
        start, end, day = changed[0], changed[-1] + 1, days[0]
    if not is_certain(day) or _STRETCH.search(text[:start]):
        return None
    return day, text[:start] + DATE + text[end:]


def _only_amount(text: str) -> Amount | None:
    """Return the one number of a text; number words and ordinals are words."""
    found = [amount for amount in quantities_in(text).amounts if amount.place != (0, 0)]
    return found[0] if len(found) == 1 else None


def _is_value(text: str, amount: Amount) -> bool:
    """Return whether a number is a value: no bound, no name, no ordinal, and its digits can be read in one way only."""
    before = text[: amount.place[0]].rstrip()
    last = _LAST_WORD.search(before)
    if not has_one_reading(amount) or _ORDINAL.search(amount.shown) or text[amount.place[1] :][:1] in {"/", "-", "–", "+"}:
        return False
    if re.search(rf"(?<!\w)(?:{_BOUND.pattern})\Z", before, re.IGNORECASE) or before.endswith(
        ("-", "–", "#", "<", ">", "≤", "≥")
    ):
        return False
    if amount.dimension:
        return True
    is_named = last is not None and (last[1].casefold() in LABELS or (last[1][0].isupper() and last.start() > 0))
    is_version = re.search(r"\b(?:version|release|edition)\b", text, re.IGNORECASE) is not None
    return not is_named and not is_version and (bool(amount.noun) or last is not None)
