"""Drawings, bases and the style sheet carry the signature of what was generated, as notes do (see ``signature``).

It is a comment in the last line; a canvas, which is JSON, has it as a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from pipeline.vault.identity.relinking import nowhere, relinked_node
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
    letters = _letters(bare)
    return bare + form[0] + (letters.replace("-", ".") if path.endswith(".svg") else letters).encode() + form[1]


def bare_of(path: str, data: bytes) -> bytes:
    """Return a signed file without its signature."""
    found = _signature(path, data)
    return data[: found.start()] + (b"\n}\n" if path.endswith(".canvas") else b"") if found else data


def is_untouched(path: str, data: bytes) -> bool:
    """Tell whether a file is as it was generated, except for targets of links."""
    found = _signature(path, data)
    return found is not None and _signed_letters(found) == _letters(data[: found.start()])


def are_untouched(path: str, sides: Iterable[bytes], generated: Callable[[], Iterable[bytes]] = tuple) -> bool:
    """Tell whether each line of both sides of a conflict was generated for one of them.

    Git may have put in lines of a third version, or of another file that was removed; and a link is plain text while its note is
    hidden. So a line also counts as generated if it is, apart from its links, in one of the files ``generated``.
    """
    found = [(side, _signature(path, side)) for side in sides]
    if not all(mark for _side, mark in found):
        return False
    known = {letters for _side, mark in found if mark for letters in each(_signed_letters(mark))}
    lines = {line for side, mark in found if mark for line in side[: mark.start()].split(b"\n")}
    unknown = {without_links(line) for line in lines if not each(_letters(line)) <= known}
    return not unknown or unknown <= {without_links(line) for data in generated() for line in data.split(b"\n")}


def without_links(line: bytes) -> str:
    """Return a line of a canvas as it is when all notes are hidden, without the comma behind it."""
    return relinked_node(line.decode("utf-8", "surrogateescape"), nowhere).rstrip().removesuffix(",")


def _signature(path: str, data: bytes) -> re.Match[bytes] | None:
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    return re.search(re.escape(before) + rb"([A-Za-z0-9_.-]*)" + re.escape(after) + rb"\Z", data) if after else None


def _signed_letters(mark: re.Match[bytes]) -> str:
    """The letters of a signature. A drawing has a dot for each hyphen: two hyphens in a comment make XML invalid."""
    return mark[1].decode().replace(".", "-")


def _letters(data: bytes) -> str:
    """The comma behind a node of a canvas does not count: it depends on what comes after."""
    bare = _TARGET.sub(b"", data) if b"[[" in data or b'"file":"' in data else data
    lines = map(bytes.rstrip, bare.split(b"\n"))
    return letters_of(filter(None, [line.removesuffix(b",") for line in lines] if b"," in bare else lines))
