"""Questions as lines of ``queries.yaml``, to be copied from a note into the queue.

The list stands in a code fence of a note, so it must do nothing there either: no sign that ends a fence, opens a link, a comment
or a command survives unescaped inside the quotes. YAML's own escapes say the same characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.text.normalise import clean
from pipeline.vault.output.escaping import Inert
from pipeline.vault.output.frontmatter import quoted

# What the queue takes for a tag; an old log may hold others.
_TAG = re.compile(r"[\w/-]*[^\W\d][\w/-]*")
_MOST = 1_000  # characters of one question
# The second sign of a link, an image, a comment, a placeholder; every sign of a code span.
_DOING = re.compile(r"(?<=\[)\[|(?<=\])\]|(?<=!)\[|(?<=%)%|(?<=\{)\{|(?<=\})\}|`")


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
    """``text`` in double quotes: the same words to a reader of YAML, no deed to a reader of notes."""
    return _DOING.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted(" ".join(clean(text).split())))
