"""A file's bytes → a document: size limit, unpacking, text decoding, and the parser for its type."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.documents.file_types import Kind, default_title, format_of, kind_of, unpack
from pipeline.documents.page_writer import Document, squash
from pipeline.errors import ReadFailed

MAX_BYTES = 10_000_000
MAX_PDF_BYTES = 30_000_000

_CHARSETS = {
    "utf-8": "utf-8", "utf8": "utf-8", "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "iso-8859-15": "iso-8859-15",
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
    **{f"cp125{n}": f"cp125{n}" for n in range(9)},
}  # fmt: skip
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([a-zA-Z0-9_-]{1,20})""", re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def parse(data: bytes, path: Path) -> Document:
    """Return the document in ``data``, the bytes of the file ``path``.

    Raises:
        ReadFailed: the file cannot be read as a document; the message gives the reason without the path.
    """
    refuse_by_name_and_size(path, len(data))
    kind = _kind(path)
    if kind.packed:
        data = unpack(data, _limit(kind))
    if not data.strip():
        raise ReadFailed("it is empty")
    document = _parse_as(data, kind, squash(default_title(path, kind)) or "document")
    if document.text.count("\n") < 2:
        raise ReadFailed("it holds no text")
    return document


def refuse_by_name_and_size(path: Path, size: int) -> None:
    """Check a file's name and size in bytes before it is opened.

    Raises:
        ReadFailed: the name is not that of a document, or the file is too large.
    """
    limit = _limit(_kind(path))
    if size > limit:
        raise ReadFailed(f"its {size / 1e6:,.0f} MB exceed the limit of {limit / 1e6:,.0f} MB")


def _kind(path: Path) -> Kind:
    kind = kind_of(path)
    if kind is None:
        raise ReadFailed(f"unsupported file type ({''.join(path.suffixes[-2:]).lower()})")
    return kind


def _limit(kind: Kind) -> int:
    return MAX_PDF_BYTES if kind.format == "pdf" else MAX_BYTES


def _parse_as(data: bytes, kind: Kind, name: str) -> Document:
    if kind.format == "pdf":
        from pipeline.documents.pdf_to_page import read_pdf

        return read_pdf(data, name)
    text = decoded(data)
    form = format_of(kind, text)
    if form == "html":
        from pipeline.documents.html.html_to_page import read_html

        return read_html(text, name)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if form == "markdown":
        from pipeline.documents.markdown.markdown_to_page import read_markdown

        return read_markdown(text, name)
    if form == "manual":
        from pipeline.documents.manual.manual_to_page import read_manual

        return read_manual(text, name)
    from pipeline.documents.manual.printed_manual import as_displayed, is_printed_manual, read_printed_manual

    text = as_displayed(text)
    if form == "text" and is_printed_manual(text):
        return read_printed_manual(text, name)
    from pipeline.documents.plaintext.plaintext_to_page import read_text

    return read_text(text, name, markup=form == "rst")


def decoded(data: bytes) -> str:
    """Return the text of ``data``: decoded by byte order mark, as UTF-8, by its declared charset, or as Windows-1252.

    Raises:
        ReadFailed: ``data`` holds NUL bytes.
    """
    for mark, charset in _BOMS:
        if data.startswith(mark):
            return data.decode(charset, "replace")
    if b"\0" in data:
        raise ReadFailed("it is binary: it holds NUL bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_declared_charset(data), "replace")


def _declared_charset(data: bytes) -> str:
    found = _CHARSET.search(data[:2048])
    return _CHARSETS.get(found[1].decode("ascii").lower(), "cp1252") if found else "cp1252"
