"""``report_file``: a report's document in one of the formats that it can be exported to."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.vault.export import converters
from pipeline.vault.export.page import page
from pipeline.vault.export.portable import Portable

SUFFIXES: Mapping[str, str] = {"html": ".html", "markdown": ".md", "pdf": ".pdf", "docx": ".docx", "epub": ".epub"}
TEXTS = frozenset({"html", "markdown"})


def report_file(document: Portable, form: str, date: str) -> bytes:
    """Return the document in the format ``form`` (one of ``SUFFIXES``); ``date`` is the report's day.

    Raises:
        UsageError: the format needs a program that is not installed.
        SystemRefused: that program fails.
    """
    if form == "markdown":
        return document.markdown.encode()
    if form in ("docx", "epub"):
        return converters.office(document, form, date)
    html = page(document)
    return converters.pdf(html) if form == "pdf" else html.encode()
