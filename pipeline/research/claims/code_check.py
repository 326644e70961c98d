"""The objections to a sentence that need no model: wrong numbers, units, dates, arithmetic, names, and turned near-copies.

It never accepts a sentence, it only refuses some, and each rule refuses only what contradicts the quotes in plain sight. What
only a reader can see, such as a changed condition in other words, is left to the reasoner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from pipeline.domain.values import Fact, Sentence
from pipeline.text.normalise import normalised
from pipeline.text.quantities.comparison import unsupported_quantity, wrong_arithmetic
from pipeline.text.quantities.units import unit_named
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import jaccard, stems

MOST_BRIDGE_WORDS = 14
_MOST_OWN_WORDS = 2  # content words of a bridge that neither the question nor the evidence uses
_NEAR_COPY = 0.6  # least Jaccard similarity of a sentence and a quote's sentence of which it is a near-copy
_SAME_WORDING = 0.8  # least ratio of matching words of two sentences of which one may deny the other
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|without|neither|nor|nothing|hardly|nicht|kein\w*|nie|ohne)\b"
    r"|n['’]t\b|\bne\b.{1,30}\bpas\b",
    re.I,
)
_AUXILIARY = re.compile(r"\b(?:do|does|did|is|are|was|were|be|the|an?)\b", re.I)
_HEDGES = re.compile(
    r"\b(?:may|might|could|some|sometimes|often|usually|typically|generally|mostly|most|many|few|partly|probably|likely|rarely"
    r"|at least|at most|up to|unless|except|if|when|only|under|in some|can|optionally|by default|suggests?|estimated|expected"
    r"|planned|proposed|kann|könnte|manche|meist|oft|falls|wenn)\b",
    re.I,
)
_ABSOLUTES = re.compile(
    r"\b(?:all|every|everywhere|always|never|none|nobody|any|completely|entirely|guarantees?|must|alle|immer|jede\w*)\b", re.I
)
# One side a line stands against the other.
_PAIRS = r"""
before|prior to  ~  after
increas\w+|rises?|rose|grows?|grew  ~  decreas\w+|falls?|fell|drops?|dropped|shrinks?|reduc\w+
enable[sd]?|enabling  ~  disable[sd]?|disabling
allow(?:s|ed)?|permit\w*  ~  forbid\w*|prohibit\w*|refuse[sd]?|reject\w*
minimum|least  ~  maximum|most
more|higher|larger|greater  ~  less|fewer|lower|smaller
first  ~  last
faster|quicker  ~  slower
synchronous\w*  ~  asynchronous\w*
on  ~  off
true  ~  false
read\w*  ~  writ\w+
client\w*  ~  server\w*
above|over|exceed\w*  ~  below|under
required|mandatory  ~  optional
succeed\w*|success\w*  ~  fail\w*
internal\w*  ~  external\w*
safe\w*  ~  unsafe\w*
older|earlier  ~  newer|later
add(?:s|ed)?|introduced  ~  remove[sd]?|dropped
start(?:s|ed)?|beg[iau]n\w*  ~  end(?:s|ed)?|stop\w*
open(?:s|ed)?  ~  close[sd]?
supported|supports  ~  unsupported|deprecated
lock(?:s|ed)?  ~  unlock(?:s|ed)?
"""
_OPPOSITES = tuple(
    tuple(re.compile(rf"\b(?:{side})\b", re.I) for side in line.split("  ~  ")) for line in _PAIRS.strip().splitlines()
)
# A name that no reader could have made up from other words: code, paths, mixed case, capitals.
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(
    r"(?<![\w/.:-])(?:[A-Za-z]\w*(?:_\w+)+|--?[a-z][\w-]{2,}|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{3,}[a-z]?"
    r"|\w+\.(?:py|md|toml|yaml|json|db|conf|ini|txt|sh|sql)|\w+\(\))(?![\w])"
)
_GENERIC = frozenset(["RAM", "CPU", "GPU", "SSD", "HDD", "API", "URL", "HTTP", "HTTPS", "GUI", "CLI", "FAQ", "UTC", "WWW"])
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*(?![\w])")
_FIRST = re.compile(
    r"\A[A-Z][a-z]{3,}(?= (?:uses?|has|is|was|stores?|writes?|supports?|requires?|does|can|needs?"
    r"|introduced|released|developed|invented|created|added)\b)"
)
_CALENDAR = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?"
)


def is_bridge(text: str) -> bool:
    """Return whether a sentence without citation may stand: it is short, without figures, names and code."""
    short = len(text.split()) <= MOST_BRIDGE_WORDS
    return short and not re.search(r"\d", text) and not _CODE.search(text) and not _NAME.search(text) and not _PROPER.search(text)


def bridge_objection(text: str, facts: Iterable[Fact], query: str) -> str:
    """Return why a sentence without citation may not stand between sentences that cite ``facts``, or ""."""
    known = content_stems(" ".join([query, *(f"{fact.quote} {fact.claim} {' '.join(fact.path)}" for fact in facts)]))
    own = content_stems(text) - known
    return "" if is_bridge(text) and len(own) <= _MOST_OWN_WORDS else "It cites nothing."


def objection(sentence: Sentence, facts: Sequence[Fact], query: str, today: str = "") -> str:
    """Return why the quotes of ``facts``, those that the sentence cites, cannot support it, or "" if code finds no reason."""
    if not facts:
        return "It cites nothing."
    derived = sentence.basis == "derived"
    if derived and len(facts) < 2:
        return "It is derived, but cites fewer than two quotes."
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    known = " \n".join([query, today, *(f"{' '.join(fact.path)} {fact.heading}" for fact in facts)])
    if missing := unsupported_quantity(sentence.text, quotes, known, derived=derived):
        return f"{'It does not follow from the quotes' if derived else 'No quote says it'}: {missing}."
    if wrong := wrong_arithmetic(sentence.text):
        return f"Its arithmetic is wrong: {wrong}."
    sources = [*quotes, known, *(f"{fact.url} {fact.claim}" for fact in facts)]
    if name := _unknown_name(". ".join(sentence.cells) or sentence.text, sources):
        return f"No quote names {name}."
    return "" if derived else _turned_copy(sentence.text, [fact.quote for fact in facts])


def code_objection(code: str, facts: Iterable[Fact]) -> str:
    """Return the first line of a piece of code that occurs in no quote, as an objection; "" if all of them do."""
    quotes = [normalised(f"{fact.lead}\n{fact.quote}") for fact in facts]
    for line in filter(str.strip, code.splitlines()):
        if not any(normalised(line) in quote for quote in quotes):
            return f"No quote contains the line {line.strip()}"
    return ""


def _unknown_name(text: str, sources: Iterable[str]) -> str:
    """Return the first identifier, acronym or proper name of a sentence that its sources do not contain in any spelling."""
    known = "\n".join(sources)
    plain = _joined(known)
    initials = _initials(known)
    for span in _CODE.findall(text):
        if _joined(span) not in plain or (span.startswith("-") and span not in known):
            return str(span)
    rest = _CODE.sub(" ", text)
    names = [match[0] for match in _NAME.finditer(rest)] + (_proper_names(rest) if not _capitalises_nouns(rest) else [])
    for name in names:
        bare = name.rstrip("s") if name[:-1].isupper() else name
        if bare in _GENERIC or unit_named(bare):
            continue
        if _joined(bare) not in plain and bare.casefold() not in initials and not _shares_beginning(bare, known):
            return name
    return ""


def _proper_names(text: str) -> list[str]:
    found = [match[0] for match in (*_FIRST.finditer(text), *_PROPER.finditer(text))]
    return [word for name in found for word in name.split() if not _CALENDAR.fullmatch(word)]


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


def _turned_copy(text: str, quotes: Iterable[str]) -> str:
    """Return how a near-copy of one sentence of the quotes turns its sense: negation, opposite, dropped limit, new absolute."""
    stated = [one for quote in quotes for one in split_sentences(quote)]
    mine = content_stems(text)
    likeness, source = max(((jaccard(mine, content_stems(one)), one) for one in stated), default=(0.0, ""))
    if likeness < _NEAR_COPY:
        return ""
    if bool(_NEGATION.search(text)) != bool(_NEGATION.search(source)) and _is_same_wording(text, source):
        return "It denies what the quote affirms, or affirms what it denies."
    for one, other in _OPPOSITES:
        for first, second in ((one, other), (other, one)):
            if first.search(text) and not first.search(source) and second.search(source) and not second.search(text):
                return f"The quote says {_word(second, source)}, not {_word(first, text)}."
    if (hedge := _HEDGES.search(source)) and not _HEDGES.search(text):
        return f"It drops the quote's “{hedge[0]}”."
    absolute = next((found[0] for found in _ABSOLUTES.finditer(text)), "")
    return f"The quote does not say “{absolute}”." if absolute and not _ABSOLUTES.search(" ".join(stated)) else ""


def _is_same_wording(text: str, source: str) -> bool:
    """Return whether two sentences have nearly the same words in the same order, apart from negations."""
    one, other = (stems(_NEGATION.sub(" ", _AUXILIARY.sub(" ", side))) for side in (text, source))
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _SAME_WORDING


def _word(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return f"“{found[0]}”" if found else "so"
