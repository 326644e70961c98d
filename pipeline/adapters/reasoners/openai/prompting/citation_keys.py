"""Opaque citation keys (``E3``) for the names in a prompt. Unknown keys in a reply are removed and counted.

Keys of evidence and sources mean the same in all prompts of a session; questions, perspectives and sentences are numbered in each
prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Literal

Letter = Literal["E", "S", "Q", "P", "T"]  # evidence, source, question, perspective, sentence

_SPOKEN = re.compile(r"[\[(]? ?([A-Za-z])0{0,5}([1-9]\d{0,5}) ?[\])]?")
_CITED = re.compile(r" ?[\[(](?:[ESQPT]\d{1,6}(?: {0,3}[,;] {0,3})?)+[\])]")
_ADDRESS = re.compile(r"\(?\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s)\]>\"']+\)?", re.IGNORECASE)


class SessionKeys:
    """The numbers of a session's facts and sources, in the order in which the session recorded them.

    ``facts`` (by id) and ``pages`` (by address) may grow; a name that they do not contain gets the next number when it is first
    shown.
    """

    def __init__(
        self, facts: Mapping[str, object] = MappingProxyType({}), pages: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        self._recorded: Mapping[Letter, Mapping[str, object]] = {"E": facts, "S": pages}
        self._seen: dict[Letter, int] = {"E": 0, "S": 0}
        self._numbers: dict[Letter, dict[str, int]] = {"E": {}, "S": {}}

    def number(self, letter: Letter, name: str) -> int | None:
        """Return the number of a fact or a source; None for another letter, which each prompt numbers by itself."""
        if letter not in self._numbers:
            return None
        numbers, recorded = self._numbers[letter], self._recorded[letter]
        for known in islice(recorded, self._seen[letter], None):
            numbers.setdefault(known, len(numbers) + 1)
        self._seen[letter] = len(recorded)
        return numbers.setdefault(name, len(numbers) + 1)


class CitationKeys:
    """The keys that one prompt shows.

    ``removed`` counts the unknown keys and the addresses that were removed from replies.
    """

    def __init__(self, session: SessionKeys | None = None) -> None:
        self._session = session or SessionKeys()
        self._names: dict[str, str] = {}
        self._keys: dict[tuple[Letter, str], str] = {}
        self._counts: dict[Letter, int] = {}
        self.removed = 0

    def give(self, letter: Letter, name: str) -> str:
        """Return the key for a name; the same name always has the same key."""
        if (letter, name) not in self._keys:
            self._counts[letter] = self._counts.get(letter, 0) + 1
            key = f"{letter}{self._session.number(letter, name) or self._counts[letter]}"
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
