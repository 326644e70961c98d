"""What a person says to the program in notes: boxes that are ticked, a report's ``rating``, lines that begin with ``ask:``.

The notes are only read; what is said is recorded by others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pipeline.system.files import read_bytes
from pipeline.text.normalise import one_line
from pipeline.vault.output import frontmatter
from pipeline.vault.output.user_text import texts

# A box as the report's template writes it (", noted" stands behind a tick that is recorded), and the link to a quote above it.
BOX = re.compile(r"^[> ]*- \[(?P<tick>[ xX])\] (?P<rating>useful|wrong)(?P<noted>, noted)?\s*$", re.MULTILINE)
_QUOTE = re.compile(r"#\^(q-[A-Za-z0-9-]+)")
# A question, also as an item or a task of a list; what tells in a file's bytes that it may have one; the property `id`.
_LINE = re.compile(r"^[ \t]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?ask:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_ID = re.compile(r"""^id:[ \t]*["']?([^"'\n]+)["']?[ \t]*$""", re.MULTILINE)
_LARGEST = 5_000_000  # bytes of a note
_LONGEST = 2_000  # characters of a question


class AskedLine(NamedTuple):
    """A question in a note's own block; ``note`` is the note's id, such as ``report:…`` or ``topic:…``."""

    note: str
    text: str


def asked_lines(vault: Path) -> list[AskedLine]:
    """Return the questions in all notes that have an id of ours, by path and place; each text once a note.

    A note that cannot be read, or whose blocks do not pair up, has none: the build says so.
    """
    found: dict[AskedLine, None] = {}
    for path in sorted(vault.rglob("*.md")):
        top = path.relative_to(vault).parts[0]
        if top.startswith(".") or top in ("my", "attic"):
            continue
        with suppress(OSError, ValueError):
            data = read_bytes(path, _LARGEST + 1, follow=False)
            if len(data) > _LARGEST or b"ask:" not in data.lower():  # nearly always
                continue
            head, body = frontmatter.split(data.decode())
            name = _ID.search(head)
            said = (line[1] for text in texts(body).values() for line in _LINE.finditer(text)) if name else ()
            found |= {AskedLine(name[1], one_line(line, _LONGEST)): None for line in said if name}
    return list(found)


def rating_of(text: str) -> str:
    """Return what a note's property ``rating`` calls its report: useful, wrong, or "" for anything else."""
    try:
        found = frontmatter.load(frontmatter.split(text)[0]).get("rating")
    except ValueError:  # the build leaves the note alone, and says so
        return ""
    return found if found in ("useful", "wrong") else ""


def marked(text: str) -> Iterator[tuple[str, str]]:
    """Yield the block id of each passage with a change that is not recorded yet, and the rating: useful, wrong or ""."""
    start, block = 0, ""
    for box in BOX.finditer(text):
        found = _QUOTE.findall(text, start, box.start())
        start, block = box.end(), found[-1] if found else block
        if block and (box["tick"] != " ") != bool(box["noted"]):
            yield block, box["rating"] if box["tick"] != " " else ""
