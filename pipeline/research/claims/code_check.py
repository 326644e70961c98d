"""The objections to a sentence that need no model: wrong numbers, dates, arithmetic, names, strange subjects, turned copies.

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
from pipeline.text.stemming import jaccard, language_of, stems
from pipeline.text.word_lists import OPPOSITES

MOST_BRIDGE_WORDS = 14
_MOST_LIMIT_WORDS = 40
_MOST_OWN_WORDS = 2  # content words of a bridge that neither the question nor the evidence uses
_MOST_LEADING_WORDS = 5  # the same of one that leads to what comes after it
_LEADS = re.compile(r":\Z|\bas follows\.?\Z")
_EXAMPLE = re.compile(r"\b(?:for example|for instance|e\.g\.|suppose|assume|zum Beispiel|z\. ?B\.)", re.I)
_BEGINNING = 4  # letters by which two words are held to be of one family
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
    r"|at least|at most|up to|unless|except|only|in some|optionally|by default|suggests?|estimated|expected"
    r"|planned|proposed|könnte|manche|meist|oft)\b",
    re.I,
)
_ABSOLUTES = re.compile(
    r"\b(?:all|every|everywhere|always|never|none|nobody|any|completely|entirely|guarantees?|alle|immer|jede\w*)\b", re.I
)
# A name that no reader could have made up from other words: code, paths, mixed case, capitals.
_CODE = re.compile(r"`([^`]+)`")
_ASSIGNED = re.compile(r"`([^`=]+?) ?= ?[^`]+`")
_NAME = re.compile(
    r"(?<![\w/.:-])(?:[A-Za-z]\w*(?:_\w+)+|--?[a-z][\w-]{2,}|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{3,}[a-z]?"
    r"|\w+\.(?:py|md|toml|yaml|json|db|conf|ini|txt|sh|sql)|\w+\(\))(?![\w])"
)
_STATEMENT_END = re.compile(r"\w{2}[.!]\s*\Z")
_CITATION = re.compile(r"\[\[|\]\]|\[[A-Z]{1,2}\d+\]|\]\(")
_CODE_SPAN = re.compile(r"`[^`]*`")
_GENERIC = frozenset(["RAM", "CPU", "GPU", "SSD", "HDD", "API", "URL", "HTTP", "HTTPS", "GUI", "CLI", "FAQ", "UTC", "WWW"])
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*(?![\w])")
_FIRST = re.compile(
    r"\A(?!\w+ly\b)[A-Z][a-z]{3,}(?= (?:uses?|has|is|was|stores?|writes?|supports?|requires?|does|can|needs?"
    r"|introduced|released|developed|invented|created|added)\b)"
)
_CALENDAR = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?"
)


_READ = r"\b(?:sources?|pages?|quotes?|documents?|evidence|material|articles?|reports?|manuals?|documentation)\b"
_SAID = (
    r"\b(?:sa(?:y|ys|id)|state[sd]?|give(?:s|n)?|mention(?:s|ed)?|report(?:s|ed)?|explain(?:s|ed)?|cover(?:s|ed)?|tells?|shows?"
    r"|compare[sd]?|measure[sd]?|answer(?:s|ed)?)\b"
)
_LIMIT = re.compile(
    rf"{_READ}[^.;]{{0,60}} (?:do|does|did) not {_SAID}|\b(?:no|none of the) {_READ}[^.;]{{0,40}} {_SAID}"
    rf"|{_READ}[^.;]{{0,40}} (?:says?|gives?|names?|mentions?|contains?) (?:no|nothing)\b"
    rf"|\b(?:is|are|was|were) (?:not|nowhere) {_SAID}[^.;]{{0,20}} {_READ}"
    r"|\A(?:Whether|How|Why|When|Which|What)\b[^.;]* (?:is|remains|stays) (?:open|unknown|unclear)\.?\Z"
    r"|\b(?:Quellen?|Seiten?|Dokumente?|Belege?)\b[^.;]{0,60} (?:sag\w+|nenn\w+|erwähn\w+|erklär\w+)[^.;]{0,20}\bnichts?\b",
    re.I,
)


def is_limit(text: str) -> bool:
    """Return whether a sentence says what the sources leave open; so it may stand without a citation."""
    return len(text.split()) <= _MOST_LIMIT_WORDS and _LIMIT.search(text) is not None


def is_bridge(text: str) -> bool:
    """Return whether a sentence without citation may stand: it is short, without figures, names and code."""
    short = len(text.split()) <= MOST_BRIDGE_WORDS
    plain = not re.search(r"\d", text) and not _CODE.search(text) and not _NAME.search(text)
    return short and plain and (not _PROPER.search(text) or _LEADS.search(text) is not None)


def bridge_objection(text: str, facts: Iterable[Fact], query: str) -> str:
    """Return why a sentence without citation may not stand between sentences that cite ``facts``, or ""."""
    quotes = [f"{fact.lead} {fact.quote} {' '.join(fact.path)}" for fact in facts]
    known = " ".join([query, *quotes])
    if is_limit(text):
        stranger = unsupported_quantity(text, [known]) or _unknown_name(text, [known])
        return f"It cites nothing, and no quote names {stranger}." if stranger else ""
    words = content_stems(text)
    if len(words) > _MOST_OWN_WORDS and any(words <= content_stems(quote) for quote in quotes):
        return "It says what a quote says, and does not cite it."
    own = words - content_stems(known)
    most = _MOST_LEADING_WORDS if _LEADS.search(text) else _MOST_OWN_WORDS
    return "" if is_bridge(text) and len(own) <= most and not _unknown_name(text, [known]) else "It cites nothing."


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
    sources = [*quotes, known, *(f"{fact.url} {fact.claim}" for fact in facts)]
    named = _ASSIGNED.sub(r"`\1`", sentence.text) if example else ". ".join(sentence.cells) or sentence.text
    if name := _unknown_name(named, sources):
        return f"No quote names {name}."
    if _is_about_nothing_of(sentence.text, [*quotes, known]):
        return "It has no word in common with what it cites."
    return "" if derived and len(facts) > 1 else _turned_copy(sentence.text, [fact.quote for fact in facts], derived=derived)


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


def _turned_copy(text: str, quotes: Iterable[str], *, derived: bool) -> str:
    """Return how a near-copy of one sentence of the quotes turns its sense: negation, opposite, dropped limit, new absolute.

    The last two are no fault of a derived sentence, such as advice: whether it follows is the reasoner's to judge.
    """
    stated = [one for quote in quotes for one in split_sentences(quote)]
    mine = content_stems(text)
    likeness, source = max(((jaccard(mine, content_stems(one)), one) for one in stated), default=(0.0, ""))
    if likeness < _NEAR_COPY:
        return ""
    if bool(_NEGATION.search(text)) != bool(_NEGATION.search(source)) and _is_same_wording(text, source):
        return "It denies what the quote affirms, or affirms what it denies."
    for one, other in OPPOSITES:
        for first, second in ((one, other), (other, one)):
            if first.search(text) and not first.search(source) and second.search(source) and not second.search(text):
                return f"The quote says {_word(second, source)}, not {_word(first, text)}."
    if derived:
        return ""
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
