"""Bytes of a web page → its document. Runs in the extraction process, whose limits hold for hostile pages."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from pipeline.documents.charset import is_mojibake
from pipeline.documents.content_type import Detected, detect
from pipeline.documents.page_writer import Document, squash
from pipeline.documents.usage_notices import notices_in_html
from pipeline.errors import ReadFailed

MAX_HTML = 3_000_000
MAX_TEXT = 3_000_000
MAX_MARKDOWN = 500_000
_JUDGED = 20_000

_LD_DATE = re.compile(r'"datePublished"\s{0,9}:\s{0,9}"(\d{4}-\d{2}-\d{2})')
_LD_AUTHOR = re.compile(
    r'"author"\s{0,9}:\s{0,9}[\[{\s]{0,20}(?:"@type"\s{0,9}:\s{0,9}"Person"\s{0,9},\s{0,9})?"name"\s{0,9}:\s{0,9}"([^"\\]{2,80})"'
)
_TIME = re.compile(r"""<time[^>]{0,200}datetime\s{0,5}=\s{0,5}["'](\d{4}-\d{2}-\d{2})""", re.IGNORECASE)


def page_text(data: bytes, content_type: str, url: str) -> Document:
    """Return the document in ``data``, the body that a server sent for ``url`` with the header ``content_type``.

    Raises:
        ReadFailed: the page cannot be read, or is a soft 404; the message gives the reason without the address.
    """
    found = detect(data, content_type, url)
    name = squash(unquote(urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1])) or urlsplit(url).hostname or "page"
    if found.kind == "pdf":
        from pipeline.documents.pdf_to_page import read_pdf

        return read_pdf(data, name)
    document = _READERS[found.kind](found, name)
    if is_mojibake(document.text[:_JUDGED]):
        raise ReadFailed("its text is garbled: its bytes were once read in a wrong charset")
    return document


def _html(found: Detected, name: str) -> Document:
    from pipeline.documents.boilerplate import visible_content
    from pipeline.documents.html.html_to_page import read_html, refuse_costly_markup
    from pipeline.documents.soft_404 import soft_404_reason

    source = _text_within(found, MAX_HTML)
    refuse_costly_markup(source)
    try:
        document = read_html(visible_content(source), name)
    except ReadFailed as error:
        raise ReadFailed(soft_404_reason(source, "", "") or error.message) from None
    if why := soft_404_reason(source, document.title, document.text):
        raise ReadFailed(why)
    return _with_metadata(document, source)


def _with_metadata(document: Document, source: str) -> Document:
    date = _LD_DATE.search(source) or _TIME.search(source)
    author = _LD_AUTHOR.search(source)
    return replace(
        document,
        published=document.published or (date[1] if date else ""),
        author=document.author or (squash(author[1]) if author else ""),
        notices=notices_in_html(source),
    )


def _markdown(found: Detected, name: str) -> Document:
    from pipeline.documents.markdown.markdown_to_page import read_markdown

    return read_markdown(_lines(_text_within(found, MAX_MARKDOWN)), name)


def _text(found: Detected, name: str) -> Document:
    from pipeline.documents.plaintext.plaintext_to_page import read_text

    document = read_text(_lines(_text_within(found, MAX_TEXT)), name)
    if document.text.count("\n") < 2:
        raise ReadFailed("it holds no text")
    return document


def _text_within(found: Detected, limit: int) -> str:
    if len(found.text) > limit:
        raise ReadFailed(f"its {len(found.text) / 1e6:,.1f} million characters exceed the limit of {limit / 1e6:g} million")
    return found.text


def _lines(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")


_READERS = {"html": _html, "markdown": _markdown, "text": _text}
