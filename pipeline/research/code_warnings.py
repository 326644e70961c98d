"""What code notices in a sentence before a model judges it: numbers, names and code that no cited quote has, wrong arithmetic.

It refuses nothing: a warning goes to the model that checks the report, beside the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.domain.values import Fact
from pipeline.text.quantities.comparison import unsupported_quantity, wrong_arithmetic

_MOST_NAMED = 3
_AROUND = ".,;:!?()[]{}\"'“”‘’„«»*_|"


def warning_of(text: str, facts: Sequence[Fact], query: str, today: str = "", *, derived: bool = False) -> str:
    """Return what the quotes of ``facts``, those that a sentence cites, do not have of it, in a few words; "" if nothing."""
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    places = [" ".join((*fact.path, fact.heading, fact.claim, fact.url)) for fact in facts]
    known = " \n".join([query, today, *places])
    found = [f"no quote gives {number}" for number in [unsupported_quantity(text, quotes, known, derived=derived)] if number]
    found += [f"wrong arithmetic: {wrong}" for wrong in [wrong_arithmetic(text)] if wrong]
    if strange := _strangers(text, _joined(" ".join([*quotes, known]))):
        found.append(f"no quote names {', '.join(strange)}")
    return "; ".join(found)


def _strangers(text: str, known: str) -> list[str]:
    """Return code, identifiers and names of a sentence that do not occur in ``known`` in any spelling."""
    spans = text.split("`")
    named = [span for span in spans[1:-1:2] if span.strip()]
    plain = " ".join(spans[::2]).split()
    named += [word for place, word in enumerate(plain) if _is_name(word.strip(_AROUND), first=place == 0)]
    strange = (word.strip(_AROUND) for word in named if _joined(word) not in known)
    return list(dict.fromkeys(strange))[:_MOST_NAMED]


def _is_name(word: str, *, first: bool) -> bool:
    """Return whether a word looks like a name: a capital inside a sentence, or letters with capitals, digits or marks inside."""
    if len(word) < 3 or not word[0].isalpha():
        return False
    odd = any(sign.isupper() or sign in "_./" for sign in word[1:])
    return odd or (word[0].isupper() and not first)


def _joined(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
