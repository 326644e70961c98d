"""The questions that the perspectives ask, as frames around phrases of the query and the documents; and the way back.

A frame's own words ("in this connection") are how a question is put, not what an answer has to speak of.
"""

from __future__ import annotations

import re
from functools import lru_cache

BASIC = (
    "What is meant by {topic}?",
    "How can {topic} be used in practice?",
    "Which details or defaults are known about {topic}?",
    "Why can {topic} matter?",
    "What can {topic} be compared with?",
)
SUBTOPIC = (
    "{part}: what is known in this connection?",
    "{part}: what follows from it?",
    "{part}: when does it hold, and when not?",
    "{part}: which figures or defaults are given?",
    "{part}: what can go wrong?",
)
SCEPTIC = (
    "What can go wrong with {topic}?",
    "Which limits or drawbacks can {topic} have?",
    "When should one avoid {topic}?",
    "Where do sources disagree about {topic}?",
    "Which warnings are given about {topic}?",
)
CONFIRMING = "Do other sources confirm: {claim}?"
_FRAMES = (*BASIC, *SUBTOPIC, *SCEPTIC, CONFIRMING)
_FILLED = re.compile("|".join(re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(frame)) for frame in _FRAMES))


@lru_cache(maxsize=1024)
def content(question: str) -> str:
    """Return what fills the frame of ``question``; a question in no frame of ours, whole."""
    found = _FILLED.fullmatch(question)
    return next(filter(None, found.groups()), question) if found else question
