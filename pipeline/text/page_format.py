"""The text format in which every page is stored, and its parser. Leaf module, no I/O.

Documents of all kinds (HTML, markdown, PDF, plain text) are stored as::

    # Title of the document

    A paragraph on one line.

    ## A heading {#its-anchor}

    - a list item on one line
    - another

    ```
    code, unchanged
    ```

    | a table row | cells separated by bars |

One blank line separates two blocks. There is no blank line between adjacent list items, nor between adjacent table rows.
A heading's anchor is the fragment that addresses it in the original (an HTML id, or the slug of the heading).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_LITTLE = 0.5  # of what a reader sees; a page of which less is stored is named
BlockKind = Literal["heading", "paragraph", "item", "code", "row"]

_HEADING = re.compile(r"(#{1,6}) (.*?)(?: \{#([^{}\s]+)\})?\Z")


_STARTS: dict[str, BlockKind] = {"```": "code", "#": "heading", "- ": "item", "| ": "row"}


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page.

    ``heading`` and ``anchor`` are those of the nearest heading at or above the block ("" before the first);
    ``path`` holds the headings from the outermost to that one; ``level`` is 1 to 6 for a heading, else 0.
    """

    kind: BlockKind
    text: str
    heading: str
    anchor: str
    path: tuple[str, ...]
    level: int = 0


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a stored page's text in order. Accepts any text; an unclosed code fence ends with the text."""
    trail: list[tuple[int, str, str]] = []
    heading, anchor = "", ""
    path: tuple[str, ...] = ()
    for kind, body in _raw_blocks(text):
        level = 0
        if kind == "heading" and (found := _HEADING.match(body)):
            level, body = len(found[1]), found[2].strip()
            trail = [entry for entry in trail if entry[0] < level] + [(level, body, found[3] or "")]
            heading, anchor, path = body, found[3] or "", tuple(entry[1] for entry in trail)
        yield Block(kind, body, heading, anchor, path, level)


def what_is_missing(visible: int, stored: int, empty_pages: int) -> str:
    """Return what the stored text of a source lacks: most of its ``visible`` words, or pages of a PDF; "" if it is whole."""
    parts = [f"only {stored:,} of its {visible:,} words are stored"] if stored < _LITTLE * visible else []
    if empty_pages:
        parts.append(f"{empty_pages:,} of its pages hold" if empty_pages > 1 else "one of its pages holds")
        parts[-1] += " no text (text recognition would read them)"
    return "; ".join(parts)


def _raw_blocks(text: str) -> Iterator[tuple[BlockKind, str]]:
    paragraph: list[str] = []
    code: list[str] | None = None
    for line in text.split("\n"):
        if code is not None:
            if line.startswith("```"):
                yield "code", "\n".join(code)
                code = None
            else:
                code.append(line)
            continue
        kind: BlockKind | None = next((kind for start, kind in _STARTS.items() if line.startswith(start)), "paragraph")
        if kind == "heading" and not _HEADING.match(line):
            kind = "paragraph"
        kind = kind if line.strip() else None
        if kind == "paragraph":
            paragraph.append(line)
            continue
        if paragraph:
            yield "paragraph", " ".join(paragraph)
            paragraph = []
        if kind == "code":
            code = []
        elif kind is not None:
            yield kind, line[2:] if kind == "item" else line
    if paragraph:
        yield "paragraph", " ".join(paragraph)
    if code:
        yield "code", "\n".join(code)
