"""Bytes → document: what kind of file it is, by its name, its server's word and its content, and the reader for it.

Runs in the extraction process, whose limits hold for hostile files and pages.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline.documents.decoding import decoded, is_mojibake
from pipeline.documents.file_types import Format, default_title, format_of, kind_of, refuse_by_name_and_size, size_limit, unpack
from pipeline.documents.page import Document, squash
from pipeline.errors import ReadFailed
from pipeline.text.words import word_count

VERSION = 2  # of the text that the readers give; raised when they give another for the same bytes
MAX_TEXT = 10_000_000  # characters
_LONG = 500_000
_BINARY = (
    (b"\x89PNG", "an image"), (b"GIF8", "an image"), (b"\xff\xd8\xff", "an image"), (b"RIFF", "a picture or recording"),
    (b"PK\x03\x04", "an archive or an office document"), (b"\x1f\x8b", "compressed"), (b"BZh", "compressed"),
    (b"\xfd7zXZ", "compressed"), (b"7z\xbc\xaf", "compressed"), (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x7fELF", "a program"), (b"MZ\x90", "a program"), (b"OggS", "a recording"), (b"ID3", "a recording"),
    (b"\x00\x00\x01\x00", "an image"), (b"wOF", "a font"), (b"{\\rtf", "a word processing document"), (b"%!PS", "PostScript"),
)  # fmt: skip
# Pictures that are written into a page as letters make it many times as large; they hold no text.
_DATA_ADDRESS = re.compile(r"data:[\w/+.;=-]{1,100},[A-Za-z0-9+/=%_-]{200,}")


def extract(data: bytes, *, path: str = "", content_type: str = "", url: str = "") -> Document:
    """Return the document in ``data``: the file ``path``, or what a server sent for ``url`` with the header ``content_type``.

    Raises:
        ReadFailed: it cannot be read, or is a page sent in place of the one asked for; the message does not name it.
    """
    form, name, data = _file(data, Path(path)) if path else _page(data, url)
    if form == "pdf":
        from pipeline.documents.pdf_reader import read_pdf

        return _accounted(read_pdf(data, name), "pdf")
    text = decoded(data, content_type).replace("\r\n", "\n").replace("\r", "\n")
    form = format_of(form, text, content_type, url)
    if len(text) > _LONG and form in ("html", "markdown"):
        text = _DATA_ADDRESS.sub("data:,", text)
    if len(text) > MAX_TEXT:
        raise ReadFailed(f"its {len(text) / 1e6:,.1f} million characters exceed the limit of {MAX_TEXT / 1e6:g} million")
    document = _read(form, text, name, is_page=not path)
    if document.text.count("\n") < 2:
        raise ReadFailed("it holds no text")
    if is_mojibake(document.text[:20_000]):
        raise ReadFailed("its text is garbled: its bytes were once read in a wrong charset")
    return _accounted(document, form)


def _file(data: bytes, path: Path) -> tuple[Format, str, bytes]:
    refuse_by_name_and_size(path, len(data))
    kind = kind_of(path)
    assert kind is not None  # noqa: S101 - it was not refused
    if kind.packed:
        data = unpack(data, size_limit(kind))
    if not data.strip():
        raise ReadFailed("it is empty")
    _refuse_binary(data)
    form: Format = "pdf" if b"%PDF-" in data[:1024] else kind.format
    return form, squash(default_title(path, kind)) or "document", data


def _page(data: bytes, url: str) -> tuple[Format, str, bytes]:
    if not data.strip():
        raise ReadFailed("it is empty")
    address = urlsplit(url)
    name = squash(unquote(address.path.rstrip("/").rsplit("/", 1)[-1])) or address.hostname or "page"
    if b"%PDF-" in data[:1024]:
        return "pdf", name, data
    _refuse_binary(data)
    return "unnamed", name, data


def _refuse_binary(data: bytes) -> None:
    for magic, name in _BINARY:
        if data.startswith(magic):
            raise ReadFailed(f"it is {name}, not a page of text")


def _read(form: Format, text: str, name: str, *, is_page: bool) -> Document:
    if form == "html":
        from pipeline.documents.html_reader import read_html
        from pipeline.documents.soft_404 import soft_404_reason

        try:
            document = read_html(text, name)
        except ReadFailed as error:
            without_text = is_page and error.message.startswith("it holds no text")
            raise ReadFailed((without_text and soft_404_reason(text, "", "")) or error.message) from None
        if is_page and (why := soft_404_reason(text, document.title, document.text)):
            raise ReadFailed(why)
        return document
    if form == "markdown":
        from pipeline.documents.markdown_reader import read_markdown

        return read_markdown(text, name)
    if form == "manual":
        from pipeline.documents.manuals import read_manual

        return read_manual(text, name)
    from pipeline.documents.text_reader import read_text

    return read_text(text, name)


def _accounted(document: Document, form: Format) -> Document:
    """Return the document with the name of what read it, and the words that are stored counted."""
    reader = form
    if form == "manual":
        from pipeline.documents.manuals import mandoc

        reader = "mandoc" if mandoc() else "text"  # type: ignore[assignment]
    stored = word_count(document.text) if not document.losses.visible else document.losses.stored
    losses = replace(document.losses, stored=stored, visible=max(document.losses.visible, stored))
    return replace(document, losses=losses, extractor=f"{'text' if reader in ('unnamed', 'rst') else reader} {VERSION}")
