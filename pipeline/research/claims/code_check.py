"""The objections to a sentence that need no model: wrong numbers, dates, arithmetic, names, code, strange subjects.

It never accepts a sentence, it only refuses some, and each rule refuses only what contradicts the quotes in plain sight. What
only a reader can see, such as a turned negation or a dropped condition, is left to the reasoner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipeline.domain.values import Fact, Sentence
from pipeline.text.normalise import normalised
from pipeline.text.quantities.comparison import unsupported_quantity, wrong_arithmetic
from pipeline.text.quantities.units import unit_named
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences
from pipeline.text.words import language_of

_MOST_OWN_WORDS = 2  # content words of a title that neither the question nor the evidence uses
# An example may have figures of its own, which no quote gives; it says that it is one.
_EXAMPLE = re.compile(r"\b(?:for example|for instance|e\.g\.|suppose|assume|zum Beispiel|z\. ?B\.)", re.I)
_BEGINNING = 4  # letters by which two words are held to be of one family
# In an example, `name = value` is known if the name is.
_ASSIGNED = re.compile(r"`([^`=]+?) ?= ?[^`]+`")
# A name that no reader could have made up from other words: code, paths, mixed case, capitals.
_NAME = re.compile(
    r"(?<![\w/.:-])(?:[A-Za-z]\w*(?:_\w+)+|--?[a-z][\w-]{2,}|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{3,}[a-z]?"
    r"|\w+\.(?:py|md|toml|yaml|json|db|conf|ini|txt|sh|sql)|\w+\(\))(?![\w])"
)
_STATEMENT_END = re.compile(r"\w{2}[.!]\s*\Z")
_CITATION = re.compile(r"\[\[|\]\]|\[[A-Z]{1,2}\d+\]|\]\(")
_CODE_SPAN = re.compile(r"`[^`]*`")
_GENERIC = frozenset(["RAM", "CPU", "GPU", "SSD", "HDD", "API", "URL", "HTTP", "HTTPS", "GUI", "CLI", "FAQ", "UTC", "WWW"])
# Words with a capital inside a sentence: the names of persons, firms and products, by which a wrong subject is found.
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*(?![\w])")
_CALENDAR = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?"
)


def uncited_objection(text: str, facts: Iterable[Fact], query: str) -> str:
    """Return why a sentence that cites nothing may not stand beside the quotes of ``facts``, or "": it brings in something new.

    Whether it claims anything is the reasoner's to judge.
    """
    known = [query, *(f"{fact.lead} {fact.quote} {' '.join(fact.path)}" for fact in facts)]
    stranger = unsupported_quantity(text, known) or _unknown_name(text, known)
    return f"It cites nothing, and no quote names {stranger}." if stranger else ""


def heading_objection(text: str, facts: Iterable[Fact], query: str, *, title: bool) -> str:
    """Return why a heading may not stand over sentences that cite ``facts``, or "".

    A heading makes no statement of its own; most words of a ``title`` are the question's or the quotes'.
    """
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    if missing := unsupported_quantity(text, quotes, query, derived=True):
        return f"No quote says it: {missing}."
    if _is_statement(text):
        return "It is a sentence of its own, which cites nothing."
    words = content_stems(text)
    own = words - content_stems(" ".join([query, *quotes, *(" ".join(fact.path) for fact in facts)]))
    strange = title and len(own) > _MOST_OWN_WORDS and 2 * len(own) > len(words)
    return "Most of its words stand neither in the question nor in the quotes." if strange else ""


def _is_statement(heading: str) -> bool:
    """Return whether a heading ends as a statement does, holds two sentences (a question is none), or cites something."""
    words = _CODE_SPAN.sub("code", heading)
    parts = split_sentences(words)
    ends = [bool(_STATEMENT_END.search(part)) for part in parts]
    return bool(_CITATION.search(words)) or (len(parts) > 1 and any(ends[:-1])) or any(ends[-1:])


def objection(sentence: Sentence, facts: Sequence[Fact], query: str, today: str = "") -> str:
    """Return why the quotes of ``facts``, those that the sentence cites, cannot support it, or "" if code finds no reason."""
    if not facts:
        return "It cites nothing."
    derived = sentence.basis == "derived"
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    known = " \n".join([query, today, *(f"{' '.join(fact.path)} {fact.heading}" for fact in facts)])
    example = derived and _EXAMPLE.search(sentence.text)  # an example may have figures of its own
    if not example and (missing := unsupported_quantity(sentence.text, quotes, known, derived=derived)):
        computed = not derived and not unsupported_quantity(sentence.text, quotes, known, derived=True)
        advice = " If it is computed from the quotes, its basis is “derived”." if computed else ""
        return f"{'It does not follow from the quotes' if derived else 'No quote says it'}: {missing}.{advice}"
    if wrong := wrong_arithmetic(sentence.text):
        return f"Its arithmetic is wrong: {wrong}."
    named = _ASSIGNED.sub(r"`\1`", sentence.text) if example else ". ".join(sentence.cells) or sentence.text
    if name := _unknown_name(named, _all_words(facts, query, today)):
        return f"No quote names {name}."
    return "It has no word in common with what it cites." if _is_about_nothing_of(sentence.text, [*quotes, known]) else ""


def _is_about_nothing_of(text: str, sources: Sequence[str]) -> bool:
    """Return whether a sentence has two content words, in the language of its sources or in none known, and shares none of them.

    The first letters of a word are enough, as in compounds and other forms. So a statement from nowhere falls even where the
    model that checks it says yes to everything.
    """
    theirs = "\n".join(sources)
    language = language_of(text)
    if language and language != language_of(theirs):
        return False
    beginnings = {word[:_BEGINNING] for word in content_stems(theirs)}
    own = {word[:_BEGINNING] for word in content_stems(text) if not word.isdecimal()}
    return len(own) > 1 and own.isdisjoint(beginnings)


def warning(sentence: Sentence, facts: Sequence[Fact], query: str, today: str = "") -> str:
    """Return what the reasoner should look at before it supports a sentence: a proper name that no quote has; "" if nothing."""
    if _capitalises_nouns(sentence.text):
        return ""
    known = " ".join(_all_words(facts, query, today))
    plain = _joined(known)
    words = (word for found in _PROPER.finditer(sentence.text) for word in found[0].split() if not _CALENDAR.fullmatch(word))
    strange = [word for word in words if _joined(word) not in plain and not _shares_beginning(word, known)]
    return f"no quote names {', '.join(strange)}" if strange else ""


def _all_words(facts: Iterable[Fact], query: str, today: str) -> list[str]:
    found = (f"{fact.lead} {fact.quote} {' '.join(fact.path)} {fact.heading} {fact.url} {fact.claim}" for fact in facts)
    return [query, today, *found]


def code_objection(code: str, facts: Iterable[Fact]) -> str:
    """Return the first line of a piece of code that occurs in no quote, as an objection; "" if all of them do."""
    quotes = [normalised(f"{fact.lead}\n{fact.quote}") for fact in facts]
    for line in filter(str.strip, code.splitlines()):
        if not any(normalised(line) in quote for quote in quotes):
            return f"No quote contains the line {line.strip()}"
    return ""


def _unknown_name(text: str, sources: Iterable[str]) -> str:
    """Return the first identifier or acronym of a sentence that its sources do not contain in any spelling."""
    known = "\n".join(sources)
    plain = _joined(known)
    initials = _initials(known)
    parts = text.split("`")  # what stands between two marks is code
    spans = parts[1:-1:2]
    for span in spans:
        if _joined(span) not in plain or (span.startswith("-") and span not in known):
            return span
    rest = " ".join([*parts[::2], *([] if len(parts) % 2 else parts[-1:])])
    for name in (match[0] for match in _NAME.finditer(rest)):
        bare = name.rstrip("s") if name[:-1].isupper() else name
        if bare in _GENERIC or unit_named(bare):
            continue
        if _joined(bare) not in plain and bare.casefold() not in initials and not _shares_beginning(bare, known):
            return name
    return ""


def _capitalises_nouns(text: str) -> bool:
    """Return whether capitals say little here, as in German or in a title."""
    words = [word for word in text.split()[1:] if word[:1].isalpha() and not word.isupper() and not _CALENDAR.match(word)]
    return sum(word[0].isupper() for word in words) > len(words) / 4


def _joined(text: str) -> str:
    return re.sub(r"[\s_`'’\"“”-]", "", text.casefold())


def _initials(text: str) -> str:
    return "".join(word[0] for word in re.findall(r"[^\W\d_]+", text.casefold()))


def _shares_beginning(name: str, known: str) -> bool:
    """Return whether a word of the sources and the name are forms of one word: one begins with the other's first letters."""
    least = max(4, len(name) - 3)
    return re.search(rf"\b{re.escape(name[:least])}", known, re.IGNORECASE) is not None and name.isalpha()
