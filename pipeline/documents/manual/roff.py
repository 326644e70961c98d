"""roff preprocessor: source → requests and text lines, with comments removed, conditions evaluated and macros expanded.

Conditions are evaluated as nroff does. The expansion of macros has a budget; when it is spent, macros expand to no text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from pipeline.documents.manual.roff_condition import evaluate
from pipeline.documents.manual.roff_escapes import interpolate, plain

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)\\[\"#].*")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_REQUEST = re.compile(r"[.'][ \t]*(?:(if|ie|el|while)(?=[\s\\'(!]|\Z)|([^\s\\]{1,60}))[ \t]*")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\.|[^\s\\]|\\\Z)+)')
_PARAMETER = re.compile(r"\\\$(?:(\d)|([*@])|\((..)|\[([^\]\n]{0,60})\])")
_ARGUMENT_COUNT = re.compile(r"\\n(?:\(\.\$|\[\.\$\])")
_WIDTH = re.compile(r"\\w(\W)([^\n]{0,200}?)\1")
_LARGEST_LINE = 50_000
_SHORT_LINE = 200
_LARGEST_MACRO = 200
_DEFINING = frozenset(("de", "de1", "dei", "dei1", "am", "am1", "ig"))


class Line(NamedTuple):
    """A request with its ``name``, or a text line with the name ""; ``rest`` is the raw remainder with its escapes."""

    name: str
    rest: str

    def arguments(self) -> list[str]:
        """Return the request's arguments with their escapes, without the quotation marks around them."""
        return [found[1].replace('""', '"') if found[2] is None else found[2] for found in _ARGUMENT.finditer(self.rest)]

    def words(self) -> list[str]:
        """Return the request's arguments with their escapes resolved."""
        return [plain(argument) for argument in self.arguments()]


class Roff:
    """The lines of one page. ``known`` are the macros that the reader handles; the page's own definitions of them are ignored."""

    def __init__(self, source: str, known: Collection[str]) -> None:
        self._pending = source.split("\n")[::-1]
        self._budget = 10_000 + 4 * len(self._pending)  # lines that macros may add; a long line counts for more
        self._known = known
        self._macros: dict[str, list[str]] = {}
        self._else_branches: list[bool] = []
        self._registers = {".g": 1, ".x": 1, ".y": 22, ".l": 72, ".s": 10}
        self._strings = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "S": "", "--": "--", "Aq": "'", "(.T": "utf8", ".T": "utf8"}

    def lines(self) -> Iterator[Line]:
        """Yield the text lines and the requests that are not executed here."""
        while self._pending:
            raw = self._next_logical_line()
            found = _REQUEST.match(raw)
            if raw[:1] not in (".", "'"):
                yield Line("", self._interpolate(raw))
            elif found and not self._execute(found[1] or found[2], raw[found.end() :]):
                yield Line(found[2], self._interpolate(raw[found.end() :]))

    def lines_until(self, end: str) -> list[str]:
        """Return the lines up to the request ``end``, without comments, with strings and registers interpolated."""
        taken: list[str] = []
        while self._pending:
            raw = self._next_logical_line()
            if raw[:1] in (".", "'") and raw[1:].split()[:1] == [end]:
                break
            taken.append(self._interpolate(raw))
        return taken

    def _interpolate(self, text: str) -> str:
        return interpolate(text.replace("\\}", ""), self._strings, self._registers) if "\\" in text else text

    def _next_logical_line(self) -> str:
        """Take the next line, joined with its continuation lines, without comments."""
        parts: list[str] = []
        size = 0
        while self._pending:
            raw = self._pending.pop()
            if "\\#" in raw or '\\"' in raw:
                raw = _COMMENT.sub(r"\1", raw)
            size += len(raw)
            if not (raw.endswith("\\") and _CONTINUED.search(raw)) or size > _LARGEST_LINE:
                parts.append(raw)
                break
            parts.append(raw[:-1])
        return "".join(parts)

    def _execute(self, name: str, rest: str) -> bool:
        """Execute a request that only concerns the formatter; return whether it was one."""
        if name in ("if", "ie"):
            self._decide(name, rest)
        elif name == "el":
            self._branch(rest, taken=bool(self._else_branches) and self._else_branches.pop())
        elif name == "while":
            self._branch(rest, taken=False)
        elif name in _DEFINING:
            self._define(name, rest)
        elif name in self._macros:
            self._call(name, Line(name, self._interpolate(rest)).arguments())
        else:
            return self._assign(name, rest)
        return True

    def _assign(self, name: str, rest: str) -> bool:
        words = rest.split(None, 1)
        if name in ("ds", "ds1", "as", "as1") and words:
            value = words[1].removeprefix('"').replace("\\\\", "\\") if len(words) > 1 else ""
            before = self._strings.get(words[0], "") if name.startswith("as") else ""
            if words[0] not in ("--", "Aq"):  # defined with tricks of the formatter; their text is built in
                self._strings[words[0]] = (before + value)[:_LARGEST_LINE]
        elif name == "nr" and len(words) == 2:
            self._set(words[0], interpolate(words[1], self._strings, self._registers))
        elif name == "rm" and words:
            self._macros.pop(words[0], None)
        elif name == "als" and len(words) == 2 and words[1].strip() in self._macros:
            self._macros[words[0]] = self._macros[words[1].strip()]
        else:
            return False
        return True

    def _set(self, name: str, value: str) -> None:
        found = re.match(r"([+-]?)(\d{1,9})", value)
        number = int(found[2]) if found else 0
        before = self._registers.get(name, 0) if found and found[1] else 0
        self._registers[name] = before - number if found and found[1] == "-" else before + number

    def _decide(self, name: str, rest: str) -> None:
        if "\\" in rest[:60]:
            rest = _WIDTH.sub(lambda found: "24" if found[2] else "0", interpolate(rest, self._strings, self._registers))
        holds, body = evaluate(rest, {*self._macros, *self._known, *self._strings}, self._registers)
        if name == "ie":
            self._else_branches.append(not holds)
        self._branch(body, taken=holds)

    def _branch(self, body: str, *, taken: bool) -> None:
        """Continue with ``body`` if its branch is ``taken``, else skip it and the lines of its block."""
        self._budget -= len(body) // _SHORT_LINE
        if self._budget < 0:
            return
        body = body.strip()
        opened = body.startswith("\\{")
        if taken:
            self._pending.append(body[2:].lstrip() if opened else body)
        elif opened:
            depth = body.count("\\{") - body.count("\\}")
            while depth > 0 and self._pending:
                raw = self._pending.pop()
                depth += raw.count("\\{") - raw.count("\\}")

    def _define(self, name: str, rest: str) -> None:
        words = rest.split()
        own, end = (words[0] if words and name != "ig" else ""), (words[-1] if len(words) > (name != "ig") else ".")
        body: list[str] = []
        while self._pending:
            raw = self._pending.pop()
            if raw[:1] == "." and raw[1:].strip() == end:
                break
            body.append(raw)
        if own and name.startswith("de") and own not in self._known and len(body) <= _LARGEST_MACRO:
            self._macros[own] = [line.replace("\\\\", "\\") for line in body]

    def _call(self, name: str, arguments: list[str]) -> None:
        body = self._macros[name]
        self._budget -= len(body) + 1
        if self._budget < 0:
            return

        def given(found: re.Match[str]) -> str:
            if found[2]:
                return " ".join(arguments)
            number = found[1] or found[3] or found[4] or "0"
            return arguments[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(arguments) else ""

        count = str(len(arguments))
        self._pending.extend(_PARAMETER.sub(given, _ARGUMENT_COUNT.sub(count, line))[:_LARGEST_LINE] for line in reversed(body))
