"""Opaque citation keys (``E3``) for the names in a prompt. Unknown keys in a reply are removed and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Letter = Literal["E", "S", "Q", "P", "T"]  # evidence, source, question, perspective, sentence

_SPOKEN = re.compile(r"[\[(]? ?([A-Za-z])0{0,5}([1-9]\d{0,5}) ?[\])]?")
_CITED = re.compile(r" ?[\[(](?:[ESQPT]\d{1,6}(?: {0,3}[,;] {0,3})?)+[\])]")
_ADDRESS = re.compile(r"\(?\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s)\]>\"']+\)?", re.IGNORECASE)


class CitationKeys:
    """The keys of one prompt, numbered from 1 for each letter.

    ``removed`` counts the unknown keys and the addresses that were removed from replies.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._keys: dict[tuple[Letter, str], str] = {}
        self._counts: dict[Letter, int] = {}
        self.removed = 0

    def give(self, letter: Letter, name: str) -> str:
        """Return the key for a name; the same name always has the same key."""
        if (letter, name) not in self._keys:
            self._counts[letter] = self._counts.get(letter, 0) + 1
            key = f"{letter}{self._counts[letter]}"
            self._keys[letter, name], self._names[key] = key, name
        return self._keys[letter, name]

    def given(self, letter: Letter, names: Iterable[str]) -> list[str]:
        """Return the keys of those ``names`` that have one."""
        return [self._keys[letter, name] for name in names if (letter, name) in self._keys]

    def name(self, letter: Letter, spoken: str) -> str | None:
        """Return the name for a key in a reply; None for an unknown key, which is counted in ``removed``."""
        found = _SPOKEN.fullmatch(spoken.strip())
        name = self._names.get(f"{found[1].upper()}{found[2]}") if found and found[1].upper() == letter else None
        if name is None:
            self.removed += 1
        return name

    def names(self, letter: Letter, spoken: Iterable[str]) -> tuple[str, ...]:
        """Return the names for the known keys in a reply, each once, in order."""
        return tuple(dict.fromkeys(name for key in spoken if (name := self.name(letter, key)) is not None))

    def prose(self, text: str) -> str:
        """Return a reply's text without keys and addresses, which only code may add; removed addresses are counted."""
        text, cited = _CITED.subn("", text)
        text, addresses = _ADDRESS.subn("", text)
        self.removed += addresses
        return " ".join(text.split()) if cited or addresses else text.strip()
