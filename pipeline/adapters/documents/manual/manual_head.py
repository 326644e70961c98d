"""Metadata of a manual page: name, section, date and one-line description."""

from __future__ import annotations

import re

from pipeline.adapters.documents.page_writer import squash
from pipeline.text.normalise import one_line

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST_TITLE = 200
_NAME_LINE = re.compile(r".{1,2000}?(?:\s+[-‐–—−]{1,2}|[–—])\s+(\S.*)")


class Head:
    """Name, section, date (``published``, ISO 8601) and description (``about``) of a manual page; "" if unknown."""

    name = section = published = about = ""

    def take_date(self, text: str) -> None:
        """Set ``published`` to the ISO 8601 date in ``text``, or to "" if there is none."""
        found = _DATE.search(text)
        self.published = found[0] if found else ""

    def take_description(self, line: str) -> None:
        """Set ``about`` from the line under NAME, unless it is set already."""
        found = _NAME_LINE.match(line)
        self.about = self.about or (squash(found[1]) if found else "")


def title_of(head: Head, name: str) -> str:
    """Return the title of a manual page: ``fsync(2): synchronize a file's in-core state``; ``name`` if the page has none."""
    own = head.name or name
    own = name if own.casefold() == name.casefold() else own.lower() if own.isupper() else own
    called = f"{own}({head.section})" if head.section else own
    return one_line(f"{called}: {head.about}" if head.about else called, _LONGEST_TITLE)
