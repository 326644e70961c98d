"""The names in a question of which it is easy to see whether a text mentions them: quoted, spelt like a name, or of two words.

Single words are left out: one that no text holds ("laptop") is mostly there under another word.
"""

from __future__ import annotations

import re

from pipeline.text.word_lists import QUESTION_WORDS

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,60})[\"”“»]")
_TOKEN = re.compile(r"[^\s\"“”„«»()\[\]{}<>,;:!?]+")
_CASED = re.compile(r"(?=.*[^\W\d_])(?:.*\d|.*[^\W\d_A-Z][A-Z])")  # a letter, and a digit or an inner capital: ColBERTv3, 3com


def names_in(question: str) -> tuple[str, ...]:
    """Return the quoted strings, the tokens with a digit or an inner capital, and the runs of two or more capitalised words."""
    found = [match[1].strip() for match in _QUOTED.finditer(question)]
    run: list[str] = []
    for token in (*(match[0].strip(".'’") for match in _TOKEN.finditer(_QUOTED.sub(" , ", question))), ""):
        if token and _CASED.match(token):
            found.append(token)
        if token[:1].isupper() and token.lower() not in QUESTION_WORDS:
            run.append(token)
            continue
        found += [" ".join(run)] if len(run) > 1 else []
        run = []
    return tuple(dict.fromkeys(found))
