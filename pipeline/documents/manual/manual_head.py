"""Metadata of a manual page: name, section, date and one-line description."""

from __future__ import annotations

import re

from pipeline.documents.page_writer import squash
from pipeline.text.normalise import one_line

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAME_LINE = re.compile(r"(.{1,2000}?)(?:\s+[-‐–—−]{1,2}|[–—])\s+(\S.*)")


_LONGEST_TITLE = 200


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
        self.about = self.about or (squash(found[2]) if found else "")

    def take_names(self, line: str, file_name: str) -> None:
        """Set ``name`` from the line under NAME: ``file_name`` if it is one of the names before the dash, else the first."""
        found = _NAME_LINE.match(line)
        names = [one.strip() for one in found[1].split(",")] if found else []
        self.name = next((one for one in names if one.casefold() == file_name.casefold()), names[0] if names else "")

    def title(self, file_name: str) -> str:
        """Return the page's title: name, section and description; ``file_name`` stands for an unknown name."""
        own = self.name or file_name
        own = file_name if own.casefold() == file_name.casefold() else own.lower() if own.isupper() else own
        called = f"{own}({self.section})" if self.section else own
        return one_line(f"{called}: {self.about}" if self.about else called, _LONGEST_TITLE)
