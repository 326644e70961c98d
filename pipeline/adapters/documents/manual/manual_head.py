"""What a manual page says of itself."""

from __future__ import annotations

import re

from pipeline.adapters.documents.page_writer import squash

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAME_LINE = re.compile(r".{1,2000}?(?:\s+[-‐–—−]{1,2}|[–—])\s+(\S.*)")


class Head:
    """What a page says of itself: its name, its section, its date as ISO 8601 or "", the line under NAME."""

    name = section = published = about = ""

    def dated(self, text: str) -> None:
        """Take the date out of ``text``, if it holds one."""
        found = _DATE.search(text)
        self.published = found[0] if found else ""

    def described(self, line: str) -> None:
        """Take the description out of the line under NAME."""
        found = _NAME_LINE.match(line)
        self.about = self.about or (squash(found[1]) if found else "")
