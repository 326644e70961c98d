"""Parsing of providers' replies into hits: a reply of an unexpected shape is an error, never an empty result."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.adapters.http.call_and_reply import Reply
from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.text.normalise import clean, one_line

_TAG = re.compile(
    r"<!--.{0,2000}?-->|</?(?:strong|b|em|i|u|s|a|p|br|wbr|span|sub|sup|mark|small|code|font|(?:mml|jats):[a-z]+)\b[^<>]{0,500}>",
    re.IGNORECASE | re.DOTALL,
)
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_LONGEST_TEXT = 4_000


def plain(text: object) -> str:
    """Return a title or snippet without markup and with its entities resolved; "" if ``text`` is no string.

    Only the tags that result lists use are removed: ``vector<int>`` stays.
    """
    if not isinstance(text, str):
        return ""
    return " ".join(clean(html.unescape(_TAG.sub("", text[: 5 * _LONGEST_TEXT]))).split())[:_LONGEST_TEXT]


def date(text: object) -> str:
    """Return the ISO date that ``text`` begins with, or ""."""
    found = _DATE.match(text) if isinstance(text, str) else None
    return found[0] if found else ""


def value_at(holder: object, *keys: str) -> Any:
    """Return the value at the path ``keys`` of nested objects; None if part of the path is missing."""
    for key in keys:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder


def list_at(holder: object, *keys: str) -> list[Any]:
    """Return the list at the path ``keys`` of nested objects.

    Raises:
        Malformed: there is no list.
    """
    found = value_at(holder, *keys)
    if not isinstance(found, list):
        raise Malformed("shape", f"the reply has no list of results under {'.'.join(keys)}")
    return found


def hits_from(rows: Iterable[Any], hit: Callable[[Any], Hit | None]) -> tuple[Hit, ...]:
    """Return a hit for each row with an address.

    Raises:
        Malformed: there are rows, but none with an address.
    """
    given = list(rows)
    found = tuple(made for row in given if isinstance(row, Mapping) and (made := hit(row)) is not None)
    if given and not found:
        raise Malformed("shape", "not one result in the reply has an address")
    return found


def hit(url: object, title: object, snippet: object = "", published: object = "") -> Hit | None:
    """Return a hit with plain texts, or None without an address."""
    if not isinstance(url, str) or not url.strip():
        return None
    return Hit(url=url, title=one_line(plain(title)) or url, snippet=plain(snippet), published=date(published))


def checked_count(count: object, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return ``hits``, checked against the ``count`` that the reply states.

    Raises:
        Malformed: the count is positive, but there are no hits.
    """
    if not hits and isinstance(count, int) and count > 0:
        raise Malformed("shape", f"the reply announces {count} results and holds none")
    return hits


def error_in(reply: Reply) -> dict[str, Any]:
    """Return the JSON object of an error reply, or an empty one if there is none."""
    try:
        return reply.json_object()
    except Malformed:
        return {}


def message(value: object, default: str) -> str:
    """Return a provider's error text as one plain line, or ``default`` if there is none."""
    return one_line(plain(value), 200) or default
