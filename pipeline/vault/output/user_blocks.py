"""The places in a note that belong to its reader.

::

    %% begin notes %%
    anything at all, kept byte for byte over every rebuild
    %% end notes %%

A marker is alone on its line. Markers inside a code fence are text. Malformed blocks (that do not end, end twice, are inside
another, or have the name of another) are an error, never repaired by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

KEPT_HEADING = "## Kept from an earlier template"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MARKER = re.compile(r"[ \t]*%%[ \t]*(begin|end)[ \t]+([a-z0-9][a-z0-9_-]{0,63})[ \t]*%%[ \t]*\r?\n?\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
# Without one of these a line is neither a marker nor a fence.
_TELLING = ("%%", "```", "~~~")


class BlocksMalformed(ValueError):
    """The markers of a note do not pair up; the text says which, and in which line of the note's body (from 1)."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its name, and where its text starts and ends in the body (the markers are outside)."""

    name: str
    start: int
    end: int


def empty_block(name: str) -> str:
    """Return the two markers of a block, for a template's output.

    Raises:
        ValueError: the name is not of ``[a-z0-9_-]``.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a block's name is of a-z, 0-9, - and _; {name!r} is not")
    return f"%% begin {name} %%\n%% end {name} %%"


@lru_cache(maxsize=8)  # one note's body is searched when it is rendered, composed and compared
def find(body: str) -> tuple[Block, ...]:
    """Return the blocks of a note's body in order.

    Raises:
        BlocksMalformed: markers that do not pair up.
    """
    found: list[Block] = []
    opened: tuple[str, int, int] | None = None
    for number, kind, name, start, end in _markers(body):
        if kind == "begin":
            _refuse_begin(name, number, opened, found)
            opened = (name, end, number)
        elif opened is None or opened[0] != name:
            raise BlocksMalformed(f"line {number}: “end {name}” without its “begin {name}”")
        else:
            found.append(Block(name, opened[1], start))
            opened = None
    if opened:
        raise BlocksMalformed(f"line {opened[2]}: “begin {opened[0]}” without its end (or inside a code fence left open)")
    return tuple(found)


def _refuse_begin(name: str, number: int, opened: tuple[str, int, int] | None, found: list[Block]) -> None:
    if opened:
        raise BlocksMalformed(f"line {number}: “begin {name}” inside the block “{opened[0]}”")
    if any(block.name == name for block in found):
        raise BlocksMalformed(f"line {number}: a second block “{name}”")


def _markers(body: str) -> Iterator[tuple[int, str, str, int, int]]:
    """Yield (line number from 1, begin or end, name, start and end of the line) of each marker outside a fence."""
    fence = ""
    for start, end in _telling_lines(body):
        line = body[start:end]
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opening := _FENCE.match(line):
            fence = opening[1] if "`" not in opening[2] or opening[1][0] == "~" else ""
        elif marker := _MARKER.match(line):
            yield body.count("\n", 0, start) + 1, marker[1], marker[2], start, end


def _telling_lines(body: str) -> list[tuple[int, int]]:
    """Return start and end of each line that may hold a marker or a fence, in order."""
    return sorted({line for signs in _TELLING for line in _lines_with(signs, body)})


def _lines_with(signs: str, body: str) -> Iterator[tuple[int, int]]:
    end = 0
    while (found := body.find(signs, end)) >= 0:
        start, end = body.rfind("\n", 0, found) + 1, body.find("\n", found) + 1 or len(body)
        yield start, end


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip()


def texts(body: str) -> dict[str, str]:
    """Return the text of each block that holds more than white space.

    Raises:
        BlocksMalformed: markers that do not pair up.
    """
    return {block.name: body[block.start : block.end] for block in find(body) if body[block.start : block.end].strip()}


def filled(body: str, kept: Mapping[str, str]) -> str:
    """Return ``body`` with the texts put into its blocks; those whose block it lacks come last, under a heading of their own.

    Raises:
        BlocksMalformed: the markers of ``body`` do not pair up.
    """
    blocks = find(body)
    for block in reversed(blocks):
        if kept.get(block.name) or block.start < block.end:
            body = body[: block.start] + kept.get(block.name, "") + body[block.end :]
    homeless = [name for name in sorted(kept) if name not in {block.name for block in blocks}]
    if homeless:
        body = body.rstrip("\n") + f"\n\n{KEPT_HEADING}\n"
    for name in homeless:
        body += f"\n%% begin {name} %%\n{kept[name]}%% end {name} %%\n"
    return body


def blanked(body: str) -> str:
    """Return ``body`` with its blocks emptied: what the program alone has written.

    Raises:
        BlocksMalformed: markers that do not pair up.
    """
    for block in reversed(find(body)):
        if block.start < block.end:
            body = body[: block.start] + body[block.end :]
    return body
