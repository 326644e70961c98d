"""Drawings, bases and the style sheet carry the digest of what was generated, as notes carry a signature.

It is a comment in the last line; a canvas, which is JSON, has it as a value of its own. Targets of links do not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.text.normalise import digest_of

# By suffix: what stands before and after the digest.
_FORMS: Mapping[str, tuple[bytes, bytes]] = {
    "canvas": (b',\n\t"generated":"', b'"\n}\n'),
    "svg": (b"<!-- generated: ", b" -->\n"),
    "css": (b"/* generated: ", b" */\n"),
    "base": (b"# generated: ", b"\n"),
}
_TARGET = re.compile(rb'(?<="file":")[^"]*|(?<=\[\[)[^\[\]|#\\\n]*')
_DIGITS = 16


def signed(path: str, data: bytes) -> bytes:
    """Return a generated file with its digest; a file of another kind as it is."""
    form = _FORMS.get(path.rpartition(".")[2])
    if form is None:
        return data
    bare = data.removesuffix(b"\n}\n") if path.endswith(".canvas") else data
    return bare + form[0] + _digest(bare) + form[1]


def bare_of(path: str, data: bytes) -> bytes:
    """Return a signed file without its digest."""
    found = _signature(path, data)
    return data[: found.start()] + (b"\n}\n" if path.endswith(".canvas") else b"") if found else data


def is_untouched(path: str, data: bytes) -> bool:
    """Tell whether a file is as it was generated, except for targets of links."""
    found = _signature(path, data)
    return found is not None and found[1] == _digest(data[: found.start()])


def _signature(path: str, data: bytes) -> re.Match[bytes] | None:
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    return re.search(re.escape(before) + rb"([0-9a-f]{16})" + re.escape(after) + rb"\Z", data) if after else None


def _digest(data: bytes) -> bytes:
    return digest_of(_TARGET.sub(b"", data))[:_DIGITS].encode()
