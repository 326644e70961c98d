"""One line of mdoc(7) macros → words: marks of options and arguments, brackets, references, without space where none belongs."""

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
    """Words in a row; each says whether a space belongs before and after it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._glue = True
        self.spaced = True

    def add(self, text: str, *, before: bool = True, after: bool = True) -> None:
        """Add ``text``; ``before`` and ``after``: a space may stand there."""
        if self._parts and before and not self._glue and self.spaced:
            self._parts.append(" ")
        self._parts.append(text)
        self._glue = not after

    def space(self, spaced: bool) -> None:
        """Put spaces between words from here on, or none."""
        if self._parts and self.spaced != spaced:
            self._parts.append(" ")
            self._glue = True
        self.spaced = spaced

    def glue(self) -> None:
        """Let no space stand before the next word."""
        self._glue = True

    def word(self, text: str) -> None:
        """Add a word; a sign of punctuation keeps close to its neighbour."""
        self.add(text, before=text not in _NO_SPACE_BEFORE, after=text not in _NO_SPACE_AFTER)

    def __str__(self) -> str:
        return "".join(self._parts)


class Inline:
    """Turns the arguments of macros into words. ``name`` is what ``Nm`` stands for."""

    def __init__(self) -> None:
        self.name = ""
        self._special: dict[str, Callable[[list[str], Words], None]] = {
            "Fl": self._flags, "Nm": self._called, "Xr": self._reference, "Fn": self._function, "Fo": self._function_begins,
            "In": self._included, "Lk": self._linked, "Pf": self._prefixed, "Lb": self._library, "St": self._standard,
        }  # fmt: skip

    def write(self, arguments: Sequence[str], words: Words) -> None:
        """Add what a line of macros and words says to ``words``."""
        queue = list(arguments)
        ends: list[str] = []
        while len(queue) > 1 and queue[-1] in _NO_SPACE_BEFORE:
            ends.append(queue.pop())
        queue.reverse()
        closers: list[str] = []
        while queue:
            self._one(queue, words, closers)
        for sign in (*reversed(closers), *reversed(ends)):
            words.add(sign, before=False)

    def _one(self, queue: list[str], words: Words, closers: list[str]) -> None:
        macro = queue.pop()
        if macro in self._special:
            self._special[macro](queue, words)
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
            words.glue()
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
        said = False
        for word in _operands(queue):
            words.word(word if word in _NO_SPACE_BEFORE or word in ("|", "(", "[") else f"-{word}")
            said = True
        if not said:
            words.add("-", after=bool(queue) and queue[-1] not in CALLABLE)

    def _called(self, queue: list[str], words: Words) -> None:
        said = " ".join(_operands(queue, 1, punctuation=False))
        self.name = self.name or said
        words.add(said or self.name)

    def _reference(self, queue: list[str], words: Words) -> None:
        name, *section = [*_operands(queue, 2, punctuation=False), ""]
        words.add(f"{name}({section[0]})" if section and section[0] else name)

    def _function(self, queue: list[str], words: Words) -> None:
        name, *given = [*_operands(queue, punctuation=False), ""]
        words.add(f"{name}({', '.join(part for part in given if part)})")

    def _function_begins(self, queue: list[str], words: Words) -> None:
        words.add(" ".join(_operands(queue, 1)) + "(", after=False)

    def _included(self, queue: list[str], words: Words) -> None:
        words.add(f"<{' '.join(_operands(queue, 1))}>")

    def _linked(self, queue: list[str], words: Words) -> None:
        address, *text = [*_operands(queue, punctuation=False), ""]
        label = " ".join(part for part in text if part)
        words.add(f"{label}: {address}" if label else address)

    def _prefixed(self, queue: list[str], words: Words) -> None:
        words.add(queue.pop() if queue else "", after=False)

    def _library(self, queue: list[str], words: Words) -> None:
        words.add(f"library “{' '.join(_operands(queue, 1))}”")

    def _standard(self, queue: list[str], words: Words) -> None:
        standard = " ".join(_operands(queue, 1))
        words.add(standard.removeprefix("-").replace("p1003", "POSIX.1003"))


def _operands(queue: list[str], most: int = 1_000, *, punctuation: bool = True) -> Iterator[str]:
    """Take words off ``queue`` (its end is the front) up to the next macro, or sign without ``punctuation``."""
    while queue and most > 0 and queue[-1] not in CALLABLE and (punctuation or queue[-1] not in _NO_SPACE_BEFORE):
        most -= 1
        yield queue.pop()
