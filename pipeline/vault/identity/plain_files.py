"""Bases, pictures and the style sheet carry the signature of what was generated in their last line (see ``signature``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from pipeline.vault.output.signature import each, letters_of

# By suffix: what stands before and after the signature.
_FORMS: Mapping[str, tuple[bytes, bytes]] = {
    "css": (b"/* generated: ", b" */\n"),
    "base": (b"# generated: ", b"\n"),
    "svg": (b"<?generated ", b"?>\n"),
}


def signed(path: str, data: bytes) -> bytes:
    """Return a generated file with its signature; a file of another kind as it is."""
    form = _FORMS.get(path.rpartition(".")[2])
    return data + form[0] + _letters(data).encode() + form[1] if form else data


def is_untouched(path: str, data: bytes) -> bool:
    """Tell whether a file is as it was generated."""
    found = _signature(path, data)
    return found is not None and found[1].decode() == _letters(data[: found.start()])


def are_untouched(path: str, sides: Iterable[bytes], generated: Callable[[], Iterable[bytes]] = tuple) -> bool:
    """Tell whether each line of both sides of a conflict was generated for one of them.

    Git may have put in lines of a third version, or of another file that was removed. So a line also counts as generated if it
    is in one of the files ``generated``.
    """
    found = [(side, _signature(path, side)) for side in sides]
    if not all(mark for _side, mark in found):
        return False
    known = {letters for _side, mark in found if mark for letters in each(mark[1].decode())}
    lines = {line.rstrip() for side, mark in found if mark for line in side[: mark.start()].split(b"\n")}
    unknown = {line for line in lines if not each(_letters(line)) <= known}
    return not unknown or unknown <= {line.rstrip() for data in generated() for line in data.split(b"\n")}


def _signature(path: str, data: bytes) -> re.Match[bytes] | None:
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    return re.search(re.escape(before) + rb"([A-Za-z0-9_-]*)" + re.escape(after) + rb"\Z", data) if after else None


def _letters(data: bytes) -> str:
    """A comma that ends a line does not count: so it was in signatures from the beginning."""
    return letters_of(filter(None, (line.rstrip().removesuffix(b",") for line in data.split(b"\n"))))
