"""Whole sentences out of running text. Linear in the text's length: every look to the side is bounded."""

from __future__ import annotations

import re

from pipeline.text.word_lists import ABBREVIATIONS, LEANING, SOFT_ABBREVIATIONS, STARTERS

_TOKEN = re.compile(r"\S+")
_CLOSERS = "\"'”’»)]}*_`"
_OPENERS = "\"'“‘«([{*_`„"
_ENDS = ".!?…"
_SIDE = 32  # characters of a token that are looked at
_BRACKETED = 400  # a bracket left open holds a sentence together for so many characters, no longer
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")
_IDENTIFIER = re.compile(r"[`_]|[A-Za-z_]\w*(?:[._]\w|\(|::)|[a-z]+[A-Z]")
_BRACKET = re.compile(r"[()\[\]“”]")


# "There are two ways …", "It is important that …", "So long as …" point to nothing before them.
_POINTLESS = re.compile(
    r"there (?:is|are|was|were|will|may|can|must|has|have|exists?)\b"
    r"|it (?:is|was|may be|can be|should be|must be|has been) (?:\w+ ){0,3}(?:that|to|when|if)\b|it should (?:also )?be noted\b"
    r"|so (?:long|far|that)\b|both \w+ and\b|either \w+ or\b|such as\b|another way\b",
    re.IGNORECASE,
)


def leans(text: str) -> bool:
    """Tell whether ``text`` opens by pointing back to what stands before it: "This …", "However, …"."""
    plain = text.lstrip(_OPENERS)
    first = plain.split(None, 1)[:1]
    return bool(first) and re.split(r"['’,:]", first[0].strip(_CLOSERS))[0].lower() in LEANING and _POINTLESS.match(plain) is None


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


def _begins(word: str) -> bool:
    bare = word.lstrip(_OPENERS)[:_SIDE]
    return bool(bare) and (bare[0].isupper() or bare[0].isdigit() or _IDENTIFIER.match(bare) is not None)


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
