"""One line of mdoc(7) macros → its text: options, arguments, brackets and references, with correct spacing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

_NO_SPACE_BEFORE = frozenset(".,:;)]?!")
_NO_SPACE_AFTER = frozenset("([")
_PLAIN_MACROS = (
    "Ad An Ar Cm Dv Em Er Ev Fa Ft Ic Li Ms No Pa Sx Sy Tn Va Vt Cd Fd Mt Dx Hf Fr Bsx %A %B %C %D %I %J %N %O %P %Q %R %T %U %V"
)
_PLAIN = frozenset(
    _PLAIN_MACROS.split()
)  # fmt: skip
_AROUND = {
    "Op": ("[", "]"), "Dq": ("“", "”"), "Sq": ("‘", "’"), "Ql": ("‘", "’"), "Qq": ('"', '"'), "Pq": ("(", ")"),
    "Bq": ("[", "]"), "Brq": ("{", "}"), "Aq": ("<", ">"),
}  # fmt: skip
_OPENING = {
    "Oo": "[", "Do": "“", "So": "‘", "Qo": '"', "Po": "(", "Bo": "[", "Bro": "{", "Ao": "<",
}  # fmt: skip
_CLOSING = {
    "Oc": "]", "Dc": "”", "Sc": "’", "Qc": '"', "Pc": ")", "Bc": "]", "Brc": "}", "Ac": ">", "Fc": ")",
}  # fmt: skip
_SYSTEMS = {"Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "At": "AT&T UNIX"}
_SILENT = frozenset(("Xo", "Xc", "Bk", "Ek", "Bf", "Ef", "Es", "En", "Tg", "Ta"))
_DEFAULTS = {"Ar": "file ...", "Pa": "~", "Li": "", "Mt": "~"}
CALLABLE = _PLAIN | _SILENT | _AROUND.keys() | _OPENING.keys() | _CLOSING.keys() | _SYSTEMS.keys()
CALLABLE |= {"Fl", "Nm", "Ns", "Ap", "Pf", "Xr", "Fn", "Fo", "In", "Lk", "St", "Lb", "Eo", "Ec"}


class Words:
    """A text built word by word; ``spaced`` is whether words are separated by spaces."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._join_next = True
        self.spaced = True

    def add(self, text: str, *, before: bool = True, after: bool = True) -> None:
        """Add ``text``; ``before`` and ``after`` say whether a space may be put there."""
        if self._parts and before and not self._join_next and self.spaced:
            self._parts.append(" ")
        self._parts.append(text)
        self._join_next = not after

    def space(self, spaced: bool) -> None:
        """Set whether the words added from now on are separated by spaces."""
        if self._parts and self.spaced != spaced:
            self._parts.append(" ")
            self._join_next = True
        self.spaced = spaced

    def join_next(self) -> None:
        """Put no space before the next word."""
        self._join_next = True

    def word(self, text: str) -> None:
        """Add a word; punctuation gets no space on the side of the word it belongs to."""
        self.add(text, before=text not in _NO_SPACE_BEFORE, after=text not in _NO_SPACE_AFTER)

    def __str__(self) -> str:
        return "".join(self._parts)


class Inline:
    """Turns macros and their arguments into words. ``name`` is the program name that ``Nm`` inserts."""

    def __init__(self) -> None:
        self.name = ""
        self._handlers: dict[str, Callable[[list[str], Words], None]] = {
            "Fl": self._flags, "Nm": self._program_name, "Xr": self._reference, "Fn": self._function, "Fo": self._function_begins,
            "In": self._include, "Lk": self._link, "Pf": self._prefix, "Lb": self._library, "St": self._standard,
        }  # fmt: skip

    def write(self, arguments: Sequence[str], words: Words) -> None:
        """Add the text of one line of macros and words to ``words``."""
        queue = list(arguments)
        ends: list[str] = []
        while len(queue) > 1 and queue[-1] in _NO_SPACE_BEFORE:
            ends.append(queue.pop())
        queue.reverse()
        closers: list[str] = []
        while queue:
            self._write_macro(queue, words, closers)
        for sign in (*reversed(closers), *reversed(ends)):
            words.add(sign, before=False)

    def _write_macro(self, queue: list[str], words: Words, closers: list[str]) -> None:
        macro = queue.pop()
        if macro in self._handlers:
            self._handlers[macro](queue, words)
        elif macro in _AROUND:
            words.add(_AROUND[macro][0], after=False)
            closers.append(_AROUND[macro][1])
        elif macro in _OPENING:
            words.add(_OPENING[macro], after=False)
        elif macro in _CLOSING:
            words.add(_CLOSING[macro], before=False)
        elif macro in _SYSTEMS:
            words.add(" ".join([_SYSTEMS[macro], *_operands(queue, 1)]))
        elif macro == "Ns":
            words.join_next()
        elif macro == "Ap":
            words.add("'", before=False, after=False)
        elif macro in _PLAIN:
            self._plain(macro, queue, words)
        elif macro not in _SILENT:
            words.word(macro)

    def _plain(self, macro: str, queue: list[str], words: Words) -> None:
        if macro in _DEFAULTS and (not queue or queue[-1] in CALLABLE or queue[-1] in _NO_SPACE_BEFORE):
            words.add(_DEFAULTS[macro])
        for word in _operands(queue):
            words.word(word)

    def _flags(self, queue: list[str], words: Words) -> None:
        flags = list(_operands(queue))
        for word in flags:
            words.word(word if word in _NO_SPACE_BEFORE or word in ("|", "(", "[") else f"-{word}")
        if not flags:
            words.add("-", after=bool(queue) and queue[-1] not in CALLABLE)

    def _program_name(self, queue: list[str], words: Words) -> None:
        text = " ".join(_operands(queue, 1, punctuation=False))
        self.name = self.name or text
        words.add(text or self.name)

    def _reference(self, queue: list[str], words: Words) -> None:
        name, *section = [*_operands(queue, 2, punctuation=False), ""]
        words.add(f"{name}({section[0]})" if section and section[0] else name)

    def _function(self, queue: list[str], words: Words) -> None:
        name, *given = [*_operands(queue, punctuation=False), ""]
        words.add(f"{name}({', '.join(part for part in given if part)})")

    def _function_begins(self, queue: list[str], words: Words) -> None:
        words.add(" ".join(_operands(queue, 1)) + "(", after=False)

    def _include(self, queue: list[str], words: Words) -> None:
        words.add(f"<{' '.join(_operands(queue, 1))}>")

    def _link(self, queue: list[str], words: Words) -> None:
        address, *text = [*_operands(queue, punctuation=False), ""]
        label = " ".join(part for part in text if part)
        words.add(f"{label}: {address}" if label else address)

    def _prefix(self, queue: list[str], words: Words) -> None:
        words.add(queue.pop() if queue else "", after=False)

    def _library(self, queue: list[str], words: Words) -> None:
        words.add(f"library “{' '.join(_operands(queue, 1))}”")

    def _standard(self, queue: list[str], words: Words) -> None:
        standard = " ".join(_operands(queue, 1))
        words.add(standard.removeprefix("-").replace("p1003", "POSIX.1003"))


def _operands(queue: list[str], most: int = 1_000, *, punctuation: bool = True) -> Iterator[str]:
    """Take words off the end of ``queue`` up to the next macro, or, without ``punctuation``, up to the next sign."""
    while queue and most > 0 and queue[-1] not in CALLABLE and (punctuation or queue[-1] not in _NO_SPACE_BEFORE):
        most -= 1
        yield queue.pop()
