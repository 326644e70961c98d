"""The signature of a note's generated part: its last line, from which alone it can be told whether somebody edited that part.

::

    %% generated: q1vXk3Tz….b0Qe %%

It has four letters for each line that the program wrote: its CRC-32, cut to 24 bits, in base64. First come the properties and the
lines of the body without the texts of user blocks, then, after the dot, the entries of lists that a person may add to. So a
copy, a clone or a lost cache never makes a note look edited, and in a note that git has put together from two versions, each
line can be told to be from one of them. Blank lines, white space at the end of lines and the targets of links do not count:
editors and Obsidian change them by themselves.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

from pipeline.vault.output.note import OWNED, SHARED_LISTS

_LEAD = "%% generated: "
_LINE = re.compile(r"%% generated: ([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]*) %%[ \t]*\r?(?:\n|\Z)")
_TARGET = re.compile(r"\[\[[^\[\]|#\\\n]*(?=[#|\\\]])")
_MARKUP = re.compile(r"\[\[(?:#[^\[\]|\\]*)?\\?\|?([^\[\]]*)\]\]")
_NO_LETTERS = re.compile(r"[\W\d_¹²³⁰⁴-⁹]+")
_SIGNED = sorted(OWNED - set(SHARED_LISTS))
_LETTERS = 4  # of each line
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class Signature(NamedTuple):
    """The letters of the ``lines`` of the generated part, and of the generated ``entries`` of shared lists."""

    lines: str = ""
    entries: str = ""

    @property
    def text(self) -> str:
        """The line that a note ends with."""
        return f"{_LEAD}{self.lines}.{self.entries} %%\n"

    def has_entry(self, name: str, entry: str) -> bool:
        """Tell whether the program wrote this entry of the list property ``name``."""
        return letters_of([_entry(name, entry)]) in each(self.entries)


NONE = Signature()


def signed(properties: Mapping[str, Any], body: str) -> Signature:
    """Return the signature of a generated part: its properties, and its body with empty user blocks."""
    entries = (_entry(name, entry) for name in SHARED_LISTS for entry in properties.get(name, ()))
    return Signature(letters_of(significant(properties, body)), letters_of(entries))


def taken_off(body: str) -> tuple[str, Signature]:
    """Return a note's body without its signature, and the signature."""
    start = body.rfind(_LEAD)
    found = _LINE.match(body, start) if start >= 0 and body[start - 1 : start] in ("", "\n") else None
    return (body[:start] + body[found.end() :], Signature(found[1], found[2])) if found else (body, Signature())


def with_additions(
    versions: Sequence[Sequence[bytes]],
    signatures: Iterable[Signature],
    fresh: Iterable[bytes],
    elsewhere: Callable[[], Collection[frozenset[str]]] = frozenset,
) -> list[bool]:
    """Tell for each version of a note, which git has put together, whether somebody added a word to its generated lines.

    A line that no signature has may still be of an even older version: then all its words are also in the ``fresh`` lines, or in
    those that are signed. Or git took a removed note for the former place of this one, and put lines of both together: then its
    ``parts`` are ``elsewhere``, among those of all lines that the log gives notes of the same kind. Numbers, and the plural that
    follows from them, do not count.
    """
    known = {letters for signature in signatures for letters in each(signature.lines)}
    unknown = [[line for line in lines if letters_of([line]) not in known] for lines in versions]
    signed_lines = (line for lines in versions for line in lines if letters_of([line]) in known)
    words = _words(chain(fresh, signed_lines)) if any(unknown) else frozenset()
    strange = [{part for line in lines for part in parts(line) if part - words} for lines in unknown]
    generated = elsewhere() if any(strange) else ()
    return [any(part not in generated for part in found) for found in strange]


def _entry(name: str, entry: str) -> bytes:
    return f"{name}: {entry}".encode("utf-8", "surrogateescape")


def parts(line: bytes) -> Iterator[frozenset[str]]:
    """Yield the words of a line without its links, and those of each link."""
    text = line.decode("utf-8", "replace")
    yield _words([_MARKUP.sub(" ", text).encode()])
    yield from (_words([found[1].encode()]) for found in _MARKUP.finditer(text))


def _words(lines: Iterable[bytes]) -> frozenset[str]:
    """The words of lines, without numbers, markup and the plural."""
    texts = (_MARKUP.sub(r"\1", line.decode("utf-8", "replace")) for line in lines)
    return frozenset(word.removesuffix("s") for text in texts for word in _NO_LETTERS.sub(" ", text).split())


def significant(properties: Mapping[str, Any], body: str) -> list[bytes]:
    """Return the lines of a generated part that are signed."""
    lines = []
    for name in filter(properties.__contains__, _SIGNED):
        value = plain(properties[name])
        for entry in value if isinstance(value, list) else [value]:  # git puts lists together line by line
            shown = repr(entry) if type(entry) is float else _as_json(entry)
            lines.append(_without_targets(f"{name}: {shown}").encode("utf-8", "surrogateescape"))
    text = _without_targets(body).replace("- [x] ", "- [ ] ").encode("utf-8", "surrogateescape")  # a tick is no edit
    lines.extend(filter(None, map(bytes.rstrip, text.split(b"\n"))))
    return lines


def _without_targets(text: str) -> str:
    return _TARGET.sub("[[", text) if "[[" in text else text


def letters_of(lines: Iterable[bytes]) -> str:
    """Return four letters for each line."""
    sums = array("I", map(crc32, lines))
    if sys.byteorder == "little":
        sums.byteswap()
    whole = bytearray(sums.tobytes())
    del whole[:: sums.itemsize]  # of each sum the first of its four bytes
    return urlsafe_b64encode(whole).decode()


def each(letters: str) -> set[str]:
    """Return the letters of each line."""
    return {letters[start : start + _LETTERS] for start in range(0, len(letters), _LETTERS)}


def plain(value: object) -> object:
    """Return a property's value for comparing: dates as text, and one kind of number."""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return value if isinstance(value, bool) or value is None else str(value)
