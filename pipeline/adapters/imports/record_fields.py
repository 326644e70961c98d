"""The fields of one foreign record, each by the type that it should have; what has another type is noted and left empty."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pipeline.adapters.imports.original_times import time_of
from pipeline.domain.imports.parsed import Tally

T = TypeVar("T")
LONGEST_TEXT = 500_000  # characters of one text; the stored original has all of it
_TYPES = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


class Fields:
    """The fields of a record. ``where`` names it in findings; ``tally`` takes them."""

    def __init__(self, values: Mapping[str, Any], where: str, tally: Tally) -> None:
        self.values, self.where, self.tally = values, where, tally

    def text(self, name: str) -> str:
        """Return a text; "" if there is none. A number is read as text."""
        value = self.values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)[:400]
        return self.cut(name, self._typed(name, str) or "")

    def cut(self, name: str, text: str) -> str:
        """Return a text that UTF-8 can hold, cut if it is too long."""
        if len(text) > LONGEST_TEXT:
            self._note(name, f"has {len(text):,} characters; {LONGEST_TEXT:,} are shown, the stored original has all")
            text = text[:LONGEST_TEXT]
        try:
            text.encode()
        except UnicodeEncodeError:
            self._note(name, "has half a surrogate pair, which is no character")
            text = text.encode("utf-8", "replace").decode()
        return text

    def time(self, name: str) -> str:
        """Return a time in UTC; "" if there is none, or it was never set."""
        value = self._typed(name, str) or ""
        try:
            return time_of(value)
        except ValueError as error:
            self._note(name, f"{value[:40]!r} {error}; read as unknown")
            return ""

    def number(self, name: str) -> float | None:
        """Return a finite number; None if there is none."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            if value is not None:
                self._wrong(name, value, "a number")
            return None
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if math.isfinite(found):
            return found
        self._note(name, "is too large a number; read as unknown")
        return None

    def seconds(self, name: str, per_second: float) -> float | None:
        """Return a length of time in seconds; in the original there are ``per_second`` units to one."""
        found = self.number(name)
        if found is not None and found < 0:
            self._note(name, "is a negative length of time; read as unknown")
            return None
        return None if found is None else round(found / per_second, 6)

    def truth(self, name: str) -> bool | None:
        """Return True or False; None if the original does not say."""
        return self._typed(name, bool)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; entries that are no text are noted and left out."""
        values = self._typed(name, list) or []
        wrong = [value for value in values if not isinstance(value, str)]
        if wrong:
            self._note(name, f"{len(wrong):,} of its entries are no text; they are left out")
        return tuple(self.cut(name, value) for value in values if isinstance(value, str))

    def entry(self, name: str) -> Fields:
        """Return the fields of an object in a field; none if there is no object."""
        return Fields(self._typed(name, dict) or {}, f"{self.where}, {name}", self.tally)

    def records(self, name: str) -> Iterator[Fields]:
        """Yield the records of a list and count them; an entry that is no object is left out, with a finding."""
        for number, value in enumerate(self._typed(name, list) or [], 1):
            self.tally.records += 1
            where = f"{self.where}, {name} {number}"
            if isinstance(value, dict):
                yield Fields(value, where, self.tally)
            else:
                self.tally.leave_out(where, f"should be an object, is {_named(value)}; it is left out")

    def as_json(self, name: str) -> str:
        """Return a field of any type as text: a text as it is, anything else as compact JSON."""
        value = self.values.get(name)
        if value is None or value in ("", {}, []):
            return ""
        return self.cut(name, value if isinstance(value, str) else compact(value))

    def _typed(self, name: str, kind: type[T]) -> T | None:
        value = self.values.get(name)
        if isinstance(value, kind):
            return value
        if value is not None:
            self._wrong(name, value, _TYPES[kind])
        return None

    def _wrong(self, name: str, value: Any, should: str) -> None:
        self._note(name, f"should be {should}, is {_named(value)}; read as empty")

    def _note(self, name: str, what: str) -> None:
        self.tally.note(self.where, f"“{name}” {what}")


def compact(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _named(value: Any) -> str:
    return "nothing" if value is None else _TYPES.get(type(value), type(value).__name__)
