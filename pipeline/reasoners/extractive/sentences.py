"""Whole sentences out of running text. Linear in the text's length: every look to the side is bounded."""

from __future__ import annotations

import re

from pipeline.vocabulary import ABBREVIATIONS, AUXILIARIES, SOFT_ABBREVIATIONS, STARTERS, VERBS, word_list

MIN_WORDS = 6
MAX_WORDS = 45

_TOKEN = re.compile(r"\S+")
_CLOSERS = "\"'”’»)]}*_`"
_OPENERS = "\"'“‘«([{*_`„"
_ENDS = ".!?…"
_SIDE = 32  # characters of a token that are looked at
_BRACKETED = 400  # a bracket left open holds a sentence together for so many characters, no longer
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")
_IDENTIFIER = re.compile(r"[`_]|[A-Za-z_]\w*(?:[._]\w|\(|::)|[a-z]+[A-Z]")
_RELATIVES = frozenset({"which", "that", "who", "whose", "where", "whom"})
_COMMANDS = frozenset(
    {"do", "don't", "never", "always", "if", "when", "whenever", "while", "because", "although", "to", "since", "after"}
)
_NAMING = re.compile(r"[a-z]\w*(?: \([^()]{1,40}\))? ?(?:[–—:]|--?) ?\S")  # a list's "name (type) – what it is"
_BOILERPLATE = re.compile(
    r"©|\(c\) ?\d{4}|copyright\b|all rights reserved|\bcookies?\b.{0,40}\b(?:accept|consent|use|policy)|privacy policy"
    r"|terms of (?:use|service)|subscribe|newsletter|sign (?:in|up)\b|log ?in to|click here|read more|table of contents"
    r"|last (?:updated|modified)|previous (?:topic|chapter|page)|next (?:topic|chapter|page)|skip to|show source|report a bug"
    r"|this page was|share (?:this|on)\b|all the latest",
    re.IGNORECASE,
)
_TRIGGERS = word_list(
    """
    © copyright c (c rights cookie cookies privacy terms subscribe newsletter sign signed log login click read table last previous
    next skip show report this share latest
    """
)
_NO_LETTER = re.compile(r"[^\w ]|[\d_]")
_BRACKET = re.compile(r"[()\[\]“”]")
_CODE = re.compile(r">>>|\.\. \w+::|[{}<>\\|$;]{2}|[=!]=|\w=\w+[,)] \w+=|\bdef \w+\(|^import \w|</?\w+>|\[\[|%}|#include")


def split(text: str) -> list[str]:
    """Return the sentences of ``text`` in order, each exactly as it stands there; together they hold every word of it."""
    found: list[str] = []
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    start, depth = -1, 0
    bracketed = _BRACKET.search(text) is not None
    for place, (left, right) in enumerate(tokens):
        start = left if start < 0 else start
        token = text[left:right]
        if bracketed:
            depth = max(0, depth + _opened(token))
        following = text[slice(*tokens[place + 1])][:_SIDE] if place + 1 < len(tokens) else ""
        held = depth > 0 and right - start < _BRACKETED
        if not following or (not held and _ends(token[-_SIDE:], following)):
            found.append(text[start:right])
            start, depth = -1, 0
    return found


def is_usable(sentence: str, *, item: bool = False) -> bool:
    """Tell whether ``sentence`` is a whole statement of prose that can be quoted. A list's item may lack the full stop."""
    words = sentence.split()
    if not MIN_WORDS <= len(words) <= MAX_WORDS or not (_begins(words[0]) or (item and _NAMING.match(sentence))):
        return False
    if not _finished(sentence) and not item:
        return False
    if item and not (_has_verb(words) or _NAMING.match(sentence)):
        return False
    return _is_prose(sentence, words) and _is_balanced(sentence)


def _finished(sentence: str) -> bool:
    return sentence.rstrip(_CLOSERS)[-1:] in (".", "!") and not sentence.endswith("...")


def _begins(word: str) -> bool:
    bare = word.lstrip(_OPENERS)[:_SIDE]
    return bool(bare) and (bare[0].isupper() or bare[0].isdigit() or _IDENTIFIER.match(bare) is not None)


def _has_verb(words: list[str]) -> bool:
    """Tell whether a list's item says something of its own: a verb that stands in no relative clause, or a command."""
    plain = [word.strip(_CLOSERS + _OPENERS + ",;:").lower() for word in words]
    first = next((place for place, word in enumerate(plain) if word in _RELATIVES), len(plain))
    said = plain[1:first] if first > 3 else plain[1:]
    return (
        plain[0] in VERBS
        or plain[0] in _COMMANDS
        or any(word in AUXILIARIES or (word in VERBS and word[-1] in "sd") for word in said)
    )


def _is_prose(sentence: str, words: list[str]) -> bool:
    if _CODE.search(sentence) or _is_boilerplate(sentence, words) or "…" in sentence[-2:]:
        return False
    letters = len(_NO_LETTER.sub("", sentence))
    lower = sum(word[:1].islower() for word in words)
    return letters >= 0.72 * len(sentence) and lower >= 0.4 * len(words) and max(map(len, words)) <= 60


def _is_boilerplate(sentence: str, words: list[str]) -> bool:
    """Tell whether a sentence belongs to the page's furniture; the pattern is slow, so a word of it must stand there first."""
    bare = {word.strip(_CLOSERS + _OPENERS + ".,;:!").lower() for word in words}
    return not bare.isdisjoint(_TRIGGERS) and _BOILERPLATE.search(sentence) is not None


def _is_balanced(sentence: str) -> bool:
    pairs = all(sentence.count(opener) == sentence.count(closer) for opener, closer in ("()", "[]", "{}", "“”"))
    return pairs and sentence.count('"') % 2 == 0 and sentence.count("`") % 2 == 0


def _opened(token: str) -> int:
    return token.count("(") + token.count("[") + token.count("“") - token.count(")") - token.count("]") - token.count("”")


def _ends(token: str, following: str) -> bool:
    core = token.rstrip(_CLOSERS)
    if not core or core[-1] not in _ENDS or not _begins(following):
        return False
    if core[-1] != ".":
        return True
    return not _is_abbreviation(core[:-1].lstrip(_OPENERS), following)


def _is_abbreviation(word: str, following: str) -> bool:
    lowered = word.lower()
    bare = following.strip(_OPENERS + _CLOSERS + ",:;")
    if lowered in ABBREVIATIONS and lowered not in SOFT_ABBREVIATIONS:
        return lowered not in ("no", "p", "art", "c", "ed", "mar", "sec", "fig") or bare[:1].isdigit()
    if lowered in SOFT_ABBREVIATIONS or (_INITIALS.fullmatch(word) is not None and word != "I"):
        return bare.lower() not in STARTERS
    return False
