"""Splitting of running text into sentences, in time linear in its length."""

from __future__ import annotations

import re

from pipeline.text.word_lists import ABBREVIATIONS, COUNTED, POINTING_BACK, SENTENCE_STARTERS, SOFT_ABBREVIATIONS

_TOKEN = re.compile(r"\S+")  # with its place, which splitting does not give
_CLOSERS = "\"'”’»)]}*_`“"  # the last one closes in German
_OPENERS = "\"'“‘«([{*_`„"
_END_MARKS = ".!?…"
# Behind the stops of scripts that put no blank there, and the danda of Indic ones: they are never part of an abbreviation.
_FULL_STOP = re.compile(r"(?<=[。！？।])(?![」』”’）〉》])")
_LONGEST_TOKEN = 32  # characters of a token that are inspected: a limit keeps the time linear
_BRACKETED = 400  # characters after which an open bracket no longer prevents the end of a sentence
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")  # J. R. R. Tolkien: none of these dots ends a sentence
# A sentence may begin with a name in code, in lower case.
_IDENTIFIER = re.compile(r"[`_]|[A-Za-z_]\w*(?:[._]\w|\(|::)|[a-z]+[A-Z]")
_BRACKETS = frozenset("()[]„“”")
# "There are two ways …", "It is important that …", "So long as …" refer to no earlier sentence.
_NOT_POINTING_BACK = re.compile(
    r"there (?:is|are|was|were|will|may|can|must|has|have|exists?)\b"
    r"|it (?:is|was|may be|can be|should be|must be|has been) (?:\w+ ){0,3}(?:that|to|when|if)\b|it should (?:also )?be noted\b"
    r"|so (?:long|far|that)\b|both \w+ and\b|either \w+ or\b|such as\b|another way\b",
    re.IGNORECASE,
)


def points_back(text: str) -> bool:
    """Return whether ``text`` begins with a reference to the sentence before it: "This …", "However, …"."""
    plain = text.lstrip(_OPENERS)
    first = plain.split(None, 1)[:1]
    word = (
        first[0].strip(_CLOSERS).replace("’", "'").replace(",", "'").replace(":", "'").partition("'")[0].lower() if first else ""
    )
    return word in POINTING_BACK and _NOT_POINTING_BACK.match(plain) is None


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` in order, each verbatim; together they contain every word of it."""
    return [sentence for part in _FULL_STOP.split(text) for sentence in _spaced_sentences(part)]


def _spaced_sentences(text: str) -> list[str]:
    found: list[str] = []
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    start, depth, last = -1, 0, len(tokens) - 1
    bracketed = not _BRACKETS.isdisjoint(text)
    for place, (left, right) in enumerate(tokens):
        start = left if start < 0 else start
        token = text[left:right]
        if bracketed and not _BRACKETS.isdisjoint(token):
            opened, closed = ("„", "“”") if "„" in text else ("“", "”")  # what opens in English closes in German
            depth += sum((sign in f"([{opened}") - (sign in f")]{closed}") for sign in token)
            depth = max(0, depth)
        if token[-1].isalnum() and place < last:
            continue  # no end mark, so no sentence ends here
        following = text[slice(*tokens[place + 1])][:_LONGEST_TOKEN] if place < last else ""
        held = depth > 0 and right - start < _BRACKETED
        if not following or (not held and _ends_sentence(token[-_LONGEST_TOKEN:], following)):
            found.append(text[start:right])
            start, depth = -1, 0
    return found


def _ends_sentence(token: str, following: str) -> bool:
    core, begins = token.rstrip(_CLOSERS), following.lstrip(_OPENERS)[:_LONGEST_TOKEN]
    if not core or core[-1] not in _END_MARKS or not begins:
        return False
    if not (begins[0].isupper() or begins[0].isdigit() or _IDENTIFIER.match(begins)):
        return False
    word, bare = core[:-1].lstrip(_OPENERS), following.strip(_OPENERS + _CLOSERS + ",:;.")
    lowered = word.lower()
    if core[-1] != ".":
        return True
    if word.isdecimal() and len(word) <= 2 and bare.lower() in COUNTED:  # "12. August": a German ordinal number
        return False
    if lowered in ABBREVIATIONS and lowered not in SOFT_ABBREVIATIONS:
        return lowered in ("no", "p", "art", "c", "ed", "mar", "sec", "fig") and not bare[:1].isdigit()
    if lowered in SOFT_ABBREVIATIONS or (_INITIALS.fullmatch(word) is not None and word != "I"):
        return bare.lower() in SENTENCE_STARTERS
    return True
