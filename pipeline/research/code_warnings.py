"""What code notices in a sentence before a model judges it: numbers, names and code that no cited quote has.

It refuses nothing: a warning goes to the model that checks the report, beside the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from pipeline.domain.reasoner_questions import CheckedSentence
from pipeline.domain.values import Fact, Sentence

_MOST_NAMED = 3
_CODE_PARTS = re.compile(r"[\s=;,()<>]+")  # a command is known if its words are, however they are put together
_NOUNS = 5  # a sentence of which more than one word of so many has a capital tells nothing by its capitals
_ENDS = (".", "!", "?", ":", ";", "|", "-", "–", "—")
_MARKS = ("*", "_", "“", "„", "(", "[", '"')  # of a label or a quotation, which begins with a capital
_AROUND = ".,;:!?()[]{}\"'“”‘’„«»*_|"
# A number with all that belongs to it, such as 3.10, 12:30 or 1,024, and the word that follows: its unit, or what it counts.
_NUMBER = re.compile(r"(\d+(?:[.,:'’\u00a0\u202f]\d+)*)(?:[^\S\n]?-?([^\W\d_]+))?")
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def warning_of(text: str, facts: Sequence[Fact], query: str, today: str = "", *, derived: bool = False) -> str:
    """Return what the quotes of ``facts``, those that a sentence cites, do not have of it, in a few words; "" if nothing.

    The numbers of a sentence that is ``derived`` may be computed: whether rightly, the model that checks it says.
    """
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    places = [" ".join((*fact.path, fact.heading, fact.claim, fact.url)) for fact in facts]
    known = " \n".join([query, today, *places])
    number = "" if derived else _strange_number(text, " \n".join(quotes), known)
    found = [f"no quote gives {number}"] if number else []
    if strange := _strangers(text, " ".join(quotes), _joined(" ".join([*quotes, known]))):
        found.append(f"no quote names {', '.join(strange)}")
    return "; ".join(found)


def checked(
    one: Sentence, facts: Mapping[str, Fact], query: str, today: str, keys: Mapping[str, str] = MappingProxyType({})
) -> CheckedSentence:
    """Return a sentence as a model checks it: with the ``keys`` of the facts that it cites, how it cites them, and the warning.

    Facts and keys are by the facts' ids.
    """
    cited = [facts[name] for name in one.facts if name in facts]
    derived = one.basis == "derived"
    warning = warning_of(one.text, cited, query, today, derived=derived) if cited else ""
    known = tuple(keys[name] for name in one.facts if name in keys)
    how: Literal["quoted", "derived", "nothing"] = "derived" if derived else "quoted" if cited else "nothing"
    return CheckedSentence(text=one.text, keys=(*known, *one.unknown), cites=how, warning=warning)


def _strange_number(text: str, quoted: str, known: str) -> str:
    """Return the first number that neither has, or that the quotes only have with another unit; "" if there is none.

    Amounts are not converted: what is written in another unit than in the quote is for the model to check.
    """
    given = [(_digits(found[1]), found[2] or "") for found in _NUMBER.finditer(quoted)]
    given += [(str(value), "") for value, word in enumerate(_SMALL, start=1) if word in quoted.casefold().split()]
    numbers = {number for number, _ in given} | {_digits(found[1]) for found in _NUMBER.finditer(known)}
    words = {word.strip(_AROUND).casefold() for word in quoted.split()}
    for found in _NUMBER.finditer(text):
        number, unit = _digits(found[1]), found[2] or ""
        others = [other for value, other in given if value == number and other]
        is_other = others and unit and unit.casefold() not in words and not any(_may_be_short(unit, one) for one in others)
        if number not in numbers or is_other:
            return found[0] if is_other else found[1]
    return ""


def _digits(number: str) -> str:
    """A number without what parts its thousands."""
    parts = re.split("[,'’\u00a0\u202f]", number)  # as English, Swiss and French part them
    return "".join(parts) if all(len(part) == 3 for part in parts[1:]) else number


def _may_be_short(one: str, other: str) -> bool:
    """Return whether one word may be short for the other: ``ms`` for milliseconds, MB for megabytes."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(sign in letters for sign in short)


def _strangers(text: str, quoted: str, known: str) -> list[str]:
    """Return code, identifiers and names of a sentence that do not occur in ``known`` in any spelling, nor as the initials that
    the quotes have for them."""
    spans = text.split("`")
    named = [part for span in spans[1:-1:2] for part in _CODE_PARTS.split(span) if part]
    plain = " ".join(spans[::2]).split()
    begins = [place == 0 or plain[place - 1].rstrip('*_)"”’»').endswith(_ENDS) for place in range(len(plain))]
    capitals = sum(word.strip(_AROUND)[:1].isupper() for word, first in zip(plain, begins, strict=True) if not first)
    nouns = _NOUNS * capitals > len(plain)  # of a language that capitalises its nouns, or of a title
    named += [
        word
        for word, first in zip(plain, begins, strict=True)
        if _is_name(word.strip(_AROUND), ordinary=first or nouns or word.startswith(_MARKS))
    ]
    strange = list(dict.fromkeys(word.strip(_AROUND) for word in named if _joined(word) not in known))
    initials = "".join(word[0] for word in strange)
    return [] if len(strange) > 1 and initials.isupper() and initials in quoted.split() else strange[:_MOST_NAMED]


def _is_name(word: str, *, ordinary: bool) -> bool:
    """Return whether a word looks like a name: a capital where there is no ``ordinary`` one, or capitals or marks inside."""
    if len(word) < 3 or not word[0].isalpha():
        return False
    odd = any(sign.isupper() or sign == "_" for sign in word[1:]) or (len(word) > 4 and "." in word)
    return odd or (word[0].isupper() and not ordinary)


def _joined(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
