"""Questions that another program left open, as entries for ``queries.yaml``: two blanks in, to be put below ``queries:``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipeline.config.queries.entries import MAX_CHARACTERS
from pipeline.config.queries.problems import quoted
from pipeline.text.normalise import clean, spelling_free

_TAG = re.compile(r"[\w/-]*[^\W\d][\w/-]*")  # what the queue accepts


def open_questions(questions: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return each question once, on one line, without those that are ``known``: in the queue already."""
    seen = {spelling_free(one) for one in known}
    found: dict[str, str] = {}
    for question in questions:
        line = " ".join(clean(question).split())
        if line and spelling_free(line) not in seen:
            found.setdefault(spelling_free(line), line)
    return list(found.values())


def queue_lines(questions: Iterable[str], tags: Sequence[str]) -> list[str]:
    """Return questions as entries of the queue. One that is too long is cut, and a comment before it says so."""
    shared = ", ".join(quoted(tag) for tag in dict.fromkeys(tags) if _TAG.fullmatch(tag))
    return [line for question in questions for line in _entry(question, shared)]


def _entry(question: str, tags: str) -> list[str]:
    lines = []
    if len(question) > MAX_CHARACTERS:
        lines.append(f"  # cut: the question has {len(question):,} characters, and the queue takes {MAX_CHARACTERS:,}")
        question = question[:MAX_CHARACTERS].rstrip()
    return [*lines, *([f"  - query: {quoted(question)}", f"    tags: [{tags}]"] if tags else [f"  - {quoted(question)}"])]
