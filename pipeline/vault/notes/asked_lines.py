"""The questions that a person wrote into their own blocks of notes: lines that begin with ``ask:``. They are only read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.system.files import read_bytes
from pipeline.text.normalise import one_line
from pipeline.vault.output import frontmatter, user_blocks

_LINE = re.compile(r"^[ \t]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?ask:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_TELLING = re.compile(rb"ask:", re.IGNORECASE)
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
        inside = path.relative_to(vault).parts
        if not (inside[0].startswith(".") or inside[0] in ("my", "attic")):
            found |= dict.fromkeys(_lines_in(path))
    return list(found)


def _lines_in(path: Path) -> Iterator[AskedLine]:
    try:
        data = read_bytes(path, _LARGEST + 1, follow=False)
        if len(data) > _LARGEST or _TELLING.search(data) is None:  # nearly always
            return
        text = data.decode()
        head, body = frontmatter.split(text)
        blocks = user_blocks.texts(body)
    except (OSError, ValueError):
        return
    if identity := _ID.search(head):
        for block in blocks.values():
            yield from (AskedLine(identity[1], one_line(line[1], _LONGEST)) for line in _LINE.finditer(block))
