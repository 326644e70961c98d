"""Strict JSON parser for untrusted replies: invalid and ambiguous JSON is refused with a reason.

Duplicate keys, NaN, infinities and huge numbers are refused, because parsers disagree on them. A byte order mark and leading
white space (which servers send to keep a connection alive) are accepted. The envelope around an answer is read leniently: a
fault in a part that nobody uses must not cost an answer that was paid for.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from pipeline.errors import Malformed

MAX_DEPTH = 100
MAX_DIGITS = 40

# Possessive, so that one long string is matched without backtracking.
_WEB_PAGE = re.compile(r"<(?:!doctype|\?xml|!--|html|head|body|title|meta|script|h1|p|center)\b|<!--", re.IGNORECASE)
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def parse_object(data: bytes, *, lenient: bool = False) -> dict[str, Any]:
    """Return the JSON object in the UTF-8 bytes ``data``.

    ``lenient``: of a key that occurs twice the last value counts, and a number that is none of JSON's, or too large, is null.

    Raises:
        Malformed: ``data`` is no JSON object, or an ambiguous one; ``kind`` is the reason.
    """
    value = parse(_decoded(data), _LENIENT if lenient else None)
    if not isinstance(value, dict):
        raise Malformed("not an object", f"a JSON object was expected, not {_name(value)}")
    return value


def parse(text: str, decoder: json.JSONDecoder | None = None) -> Any:
    """Return the JSON value in ``text``, which white space may surround.

    Raises:
        Malformed: ``text`` is no JSON value, or an ambiguous one; ``kind`` is the reason.
    """
    stripped = text.strip()
    if not stripped:
        raise Malformed("empty", "the body is empty")
    if _WEB_PAGE.match(stripped):
        raise Malformed("html", "the body is a web page, not JSON")
    _refuse_deep(stripped)
    try:
        return (decoder or _DECODER).decode(stripped)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(stripped) or "Unterminated" in error.msg
        raise Malformed("cut" if cut else "syntax", f"the JSON {'is cut off' if cut else 'is faulty'} at {error.pos}") from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed("encoding", f"the body is not UTF-8 (byte {error.start})") from None


def _refuse_deep(text: str) -> None:
    depth = 0
    for found in _BRACKETS.finditer(text):
        mark = found[0]
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            raise Malformed("too deep", f"the JSON nests more than {MAX_DEPTH} deep")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed("duplicate key", "an object holds the same key twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed("huge number", f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Malformed("huge number", "a number is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise Malformed("not a number", f"{name} is not JSON")


def _name(value: object) -> str:
    return {list: "a list", str: "a string", type(None): "null"}.get(type(value), "a bare value")


def _integer_or_null(digits: str) -> int | None:
    return int(digits) if len(digits) <= MAX_DIGITS else None


def _float_or_null(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _null(_name: str) -> None:
    return None


_LENIENT = json.JSONDecoder(parse_int=_integer_or_null, parse_float=_float_or_null, parse_constant=_null)
_DECODER, RAW_LINES = (  # the second takes line breaks inside strings, which models write
    json.JSONDecoder(
        strict=strict, object_pairs_hook=_without_duplicates, parse_int=_integer, parse_float=_float, parse_constant=_constant
    )
    for strict in (True, False)
)
