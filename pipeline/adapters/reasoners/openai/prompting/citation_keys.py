"""Opaque citation keys (``E3``) for the names in a prompt. Unknown keys in a reply are removed and counted.

Keys of evidence, sources and questions mean the same in all prompts of a session; perspectives, sentences and sections are
numbered in each prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Literal

from pipeline.domain.state import SessionState, search_nodes

Letter = Literal["E", "S", "Q", "P", "T", "R"]  # evidence, source, question, perspective, sentence, section of the report

_SPOKEN = re.compile(r"[\[(]? ?([A-Za-z])0{0,5}([1-9]\d{0,5}) ?[\])]?")
_KEY = r"[ESQPTR][1-9]\d{0,5}"
_JOINT = r"(?:\s{0,3}(?:,|;|&|/|-|–|\+|and|und|et|y)\s{0,3})"
_KEYS = rf"{_KEY}(?:{_JOINT}{_KEY})*"
_LEADS = r"(?:see|cf\.?|per|from|according to|source|sources|evidence|as in|siehe|voir|laut|quote|quotes)"
# Keys in brackets, behind a word that points ("see E5"), and keys that stand for a noun.
_CITED = re.compile(rf"\s?[\[(]\s?(?:{_LEADS}:?\s)?(?P<keys>{_KEYS})\s?[\])]", re.IGNORECASE)
_POINTED = re.compile(rf"(?:,|;|\s[-–—])?\s?(?<![\w-]){_LEADS}:?\s(?P<keys>{_KEYS})(?![\w-])", re.IGNORECASE)
_BARE = re.compile(rf"(?<![\w./#:-])(?P<keys>{_KEYS})(?![\w-]|[./]\w)")
_ONE = re.compile(_KEY)
_ADDRESS = re.compile(
    r"(?P<lead>\s?(?:\b(?:at|from|see|via|under)\s)?\(?)(?P<url>\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s)\]>\"'`]+)\)?", re.I
)
_BEFORE_STOP = re.compile(r"\s+([.,;:!?])(?=\s|$)")


class SessionKeys:
    """The numbers of a session's facts, sources and questions, in the order in which the session recorded them.

    ``facts`` (by id), ``pages`` (by address) and what ``questions`` returns may grow at the end; a name that they do not contain
    gets the next number when it is first shown.
    """

    def __init__(
        self,
        facts: Mapping[str, object] = MappingProxyType({}),
        pages: Mapping[str, object] = MappingProxyType({}),
        questions: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._recorded: Mapping[Letter, Callable[[], Collection[str]]] = {"E": lambda: facts, "S": lambda: pages, "Q": questions}
        self._seen: dict[Letter, int] = dict.fromkeys(self._recorded, 0)
        self._numbers: dict[Letter, dict[str, int]] = {letter: {} for letter in self._recorded}

    @classmethod
    def of(cls, state: SessionState) -> SessionKeys:
        """Return the numbers for a session, which grow with its ``state``."""
        return cls(state.facts, state.pages, partial(_questions, state))

    def number(self, letter: Letter, name: str) -> int | None:
        """Return the number of a fact, a source or a question; None for another letter, which each prompt numbers by itself."""
        if letter not in self._numbers:
            return None
        numbers, recorded = self._numbers[letter], self._recorded[letter]()
        for known in islice(recorded, self._seen[letter], None):
            numbers.setdefault(known, len(numbers) + 1)
        self._seen[letter] = len(recorded)
        return numbers.setdefault(name, len(numbers) + 1)


def _questions(state: SessionState) -> list[str]:
    """Return the questions of the plan and then all gaps; the workers that were added for gaps ask some of these again."""
    planned = [state.perspectives[node.perspective] for node in search_nodes(state) if not node.id.startswith("gap_")]
    gaps = [gap.question for analysis in state.analyses for gap in analysis.gaps or ()]
    return [question for view in planned for question in view.questions] + gaps


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

    def strangers(self, text: str, spoken: Iterable[str]) -> list[str]:
        """Return the keys of evidence and sources that a text has in brackets, and that this prompt does not show.

        What occurs in one of the texts ``spoken`` is no key.
        """
        known = "\n".join(spoken)
        found = (key for cited in _CITED.finditer(text) for key in _ONE.findall(cited["keys"].upper()) if key[0] in "ES")
        return [key for key in found if key not in self._names and not _occurs(key, known)]

    def prose(self, text: str, spoken: Iterable[str] = ()) -> str:
        """Return a reply's text without this prompt's keys and without addresses, which only code may add.

        What occurs in one of the texts ``spoken``, such as the cited quotes, is no key and no invented address: it stays. A key
        that stands for a noun becomes "a source".
        """
        known = "\n".join(spoken)
        before = text
        for form, instead in ((_CITED, ""), (_POINTED, ""), (_BARE, "a source")):
            text = form.sub(partial(self._without_keys, known, instead), text)
        text = _ADDRESS.sub(partial(self._without_address, known), text)
        if text == before:
            return text.strip()
        line = _BEFORE_STOP.sub(r"\1", " ".join(text.split())).lstrip(",; ")
        return line[:1].upper() + line[1:] if before.lstrip()[:1].isupper() else line

    def _without_keys(self, known: str, instead: str, found: re.Match[str]) -> str:
        keys = _ONE.findall(found["keys"].upper() if not instead else found["keys"])
        if not keys or any(key not in self._names or _occurs(key, known) for key in keys):
            return found[0]
        return "several sources" if instead and len(keys) > 1 else instead

    def _without_address(self, known: str, found: re.Match[str]) -> str:
        if found["url"].rstrip(".,;:!?").casefold() in known.casefold():
            return found[0]
        self.removed += 1
        return ""


def _occurs(key: str, text: str) -> bool:
    return re.search(rf"(?<!\w){key}(?!\w)", text) is not None
