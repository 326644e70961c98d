"""Bytes → document: what kind of file it is, by its name, its server's word and its content, and the reader for it.

Runs in the extraction process, whose limits hold for hostile files and pages.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline.documents.decoding import decoded, is_mojibake
from pipeline.documents.file_types import Format, format_of, kind_of, refuse_binary, refuse_by_name_and_size, size_limit, unpack
from pipeline.documents.page import Document, squash
from pipeline.errors import ReadFailed
from pipeline.text.words import word_count

VERSION = 4  # of the text that the readers give; raised when they give another for the same bytes
MAX_TEXT = 10_000_000  # characters
_LONG = 500_000
# Pictures that are written into a page as letters make it many times as large; they hold no text.
_DATA_ADDRESS = re.compile(r"data:[\w/+.;=-]{1,100},[A-Za-z0-9+/=%_-]{200,}")


def extract(data: bytes, *, path: str = "", content_type: str = "", url: str = "") -> Document:
    """Return the document in ``data``: the file ``path``, or what a server sent for ``url`` with the header ``content_type``.

    Raises:
        ReadFailed: it cannot be read; the message does not name it.
    """
    form: Format
    if path:
        refuse_by_name_and_size(Path(path), len(data))
        kind = kind_of(Path(path))
        assert kind is not None  # noqa: S101 - it was not refused
        form, name = kind.format, squash(kind.title) or "document"
        data = unpack(data, size_limit(kind)) if kind.packed else data
    else:
        address = urlsplit(url)
        form, name = "unnamed", squash(unquote(address.path.rstrip("/").rsplit("/", 1)[-1])) or address.hostname or "page"
    if not data.strip():
        raise ReadFailed("it is empty")
    if b"%PDF-" in data[:1024]:
        from pipeline.documents.pdf_reader import read_pdf

        return _accounted(read_pdf(data, name), "pdf")
    refuse_binary(data)
    text = decoded(data, content_type).replace("\r\n", "\n").replace("\r", "\n")
    form = format_of(form, text, content_type, url)
    if len(text) > _LONG and form in ("html", "markdown"):
        text = _DATA_ADDRESS.sub("data:,", text)
    if len(text) > MAX_TEXT:
        raise ReadFailed(f"its {len(text) / 1e6:,.1f} million characters exceed the limit of {MAX_TEXT / 1e6:g} million")
    document, reader = _read(form, text, name)
    if document.text.count("\n") < 2:
        raise ReadFailed("it holds no text")
    if is_mojibake(document.text[:20_000]):
        raise ReadFailed("its text is garbled: its bytes were once read in a wrong charset")
    return _accounted(document, reader)


def _read(form: Format, text: str, name: str) -> tuple[Document, str]:
    """Return the document, and the name of what read it. Readers are imported when they are needed: most runs need one."""
    if form == "html":
        from pipeline.documents.html_reader import read_html

        return read_html(text, name), "html"
    if form == "markdown":
        from pipeline.documents.markdown_reader import read_markdown

        return read_markdown(text, name), "markdown"
    if form == "manual":
        from pipeline.documents.manuals import mandoc, read_manual

        return read_manual(text, name), "mandoc" if mandoc() else "text"
    from pipeline.documents.text_reader import read_text

    return read_text(text, name), "text"


def _accounted(document: Document, reader: str) -> Document:
    """Return the document with the name of what read it, and the words that are stored counted."""
    stored = document.losses.stored or word_count(document.text)
    losses = replace(document.losses, stored=stored, visible=max(document.losses.visible, stored))
    return replace(document, losses=losses, extractor=f"{reader} {VERSION}")
