"""Questions as lines of ``queries.yaml``, to be copied from a note into the queue.

The lines are printed in a code fence of a note and must be harmless there: characters that end a fence or open a link, a comment
or a command are written as YAML escapes inside the quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.text.normalise import clean
from pipeline.vault.output.escaping import Inert
from pipeline.vault.output.frontmatter import quoted

# Tags that the queue accepts; an old log may contain others.
_TAG = re.compile(r"[\w/-]*[^\W\d][\w/-]*")
_MOST = 1_000  # characters of one question
# The second sign of a link, an image, a comment, a placeholder; every sign of a code span.
_ACTIVE = re.compile(r"(?<=\[)\[|(?<=\])\]|(?<=!)\[|(?<=%)%|(?<=\{)\{|(?<=\})\}|`")


def queue_lines(questions: Iterable[str], tags: Iterable[str] = ()) -> tuple[Inert, ...]:
    """Return the questions as entries of ``queries:``, two blanks in; each with the ``tags``."""
    shared = ", ".join(dict.fromkeys(_quoted(tag) for tag in tags if _TAG.fullmatch(tag)))
    entries = dict.fromkeys(entry for question in questions if (entry := " ".join(clean(question).split())[:_MOST].strip()))
    return tuple(Inert(line) for question in entries for line in _entry(question, shared))


def _entry(question: str, tags: str) -> tuple[str, ...]:
    if not tags:
        return (f"  - {_quoted(question)}",)
    return f"  - query: {_quoted(question)}", f"    tags: [{tags}]"


def _quoted(text: str) -> str:
    """``text`` in double quotes: the same text in YAML, without effect in a note."""
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted(" ".join(clean(text).split())))
