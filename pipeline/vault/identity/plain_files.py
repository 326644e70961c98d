"""Drawings, bases and the style sheet carry the signature of what was generated, as notes do (see ``signature``).

It is a comment in the last line; a canvas, which is JSON, has it as a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pipeline.vault.output.signature import each, letters_of

# By suffix: what stands before and after the signature.
_FORMS: Mapping[str, tuple[bytes, bytes]] = {
    "canvas": (b',\n\t"generated":"', b'"\n}\n'),
    "svg": (b"<!-- generated: ", b" -->\n"),
    "css": (b"/* generated: ", b" */\n"),
    "base": (b"# generated: ", b"\n"),
}
_TARGET = re.compile(rb'(?<="file":")[^"]*|(?<=\[\[)[^\[\]|#\\\n]*')


def signed(path: str, data: bytes) -> bytes:
    """Return a generated file with its signature; a file of another kind as it is."""
    form = _FORMS.get(path.rpartition(".")[2])
    if form is None:
        return data
    bare = data.removesuffix(b"\n}\n") if path.endswith(".canvas") else data
    return bare + form[0] + _letters(bare).encode() + form[1]


def bare_of(path: str, data: bytes) -> bytes:
    """Return a signed file without its signature."""
    found = _signature(path, data)
    return data[: found.start()] + (b"\n}\n" if path.endswith(".canvas") else b"") if found else data


def is_untouched(path: str, data: bytes) -> bool:
    """Tell whether a file is as it was generated, except for targets of links."""
    found = _signature(path, data)
    return found is not None and found[1].decode() == _letters(data[: found.start()])


def are_untouched(path: str, sides: Iterable[bytes]) -> bool:
    """Tell whether each line of both sides of a conflict was generated for one of them."""
    found = [(side, _signature(path, side)) for side in sides]
    known = {letters for _side, mark in found if mark for letters in each(mark[1].decode())}
    return all(mark is not None and each(_letters(side[: mark.start()])) <= known for side, mark in found)


def _signature(path: str, data: bytes) -> re.Match[bytes] | None:
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    return re.search(re.escape(before) + rb"([A-Za-z0-9_-]*)" + re.escape(after) + rb"\Z", data) if after else None


def _letters(data: bytes) -> str:
    """The comma behind a node of a canvas does not count: it depends on what comes after."""
    return letters_of(line for one in _TARGET.sub(b"", data).split(b"\n") if (line := one.rstrip().removesuffix(b",")))
