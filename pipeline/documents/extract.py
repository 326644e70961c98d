"""Bytes → document: what kind of file it is, by its name, its server's word and its content, and the reader for it.

Runs in the extraction process, whose limits hold for hostile files and pages.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.documents.decoding import decoded, is_mojibake
from pipeline.documents.page import squash
from pipeline.documents.text_reader import is_manual, read_text
from pipeline.errors import ReadFailed
from pipeline.ports import Page

Format = Literal["markdown", "html", "text", "pdf", "manual", "unnamed"]

_SUFFIXES: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".txt": "text", ".text": "text", ".rst": "text", ".pdf": "pdf",
}  # fmt: skip
_BINARY = {
    b"\x89PNG": "an image", b"GIF8": "an image", b"\xff\xd8\xff": "an image", b"RIFF": "a picture or recording",
    b"PK\x03\x04": "an archive or an office document", b"\x1f\x8b": "compressed", b"BZh": "compressed",
    b"\xfd7zXZ": "compressed", b"7z\xbc\xaf": "compressed", b"\xd0\xcf\x11\xe0": "an office document",
    b"\x7fELF": "a program", b"MZ\x90": "a program", b"OggS": "a recording", b"ID3": "a recording",
    b"\x00\x00\x01\x00": "an image", b"wOF": "a font", b"{\\rtf": "a word processing document", b"%!PS": "PostScript",
}  # fmt: skip
# Well-known names of documents without a suffix of their own: README.Debian, coreutils-NEWS, changelog.
_WELL_KNOWN = re.compile(
    r"(?:(.*)[-_.])?((?:readme|news|copyright|changelog|changes|install|license|licence|todo|authors|copying|thanks|history"
    r"|contributing|faq|credits|hacking|maintainers|notice|bugs|releases)(?:\.[\w.+-]*)?)\Z",
    re.IGNORECASE,
)
# A file without a suffix that tells, and a page whose server does not say what it is, are known by how they begin.
_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,200}>\s*)*"
    r"<(?:!doctype\s+html|html|head|body|script|iframe|h[1-6]|div|font|table|a|style|title|b|br|p|meta|link|main|article)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
# Two of these make a text Markdown: a heading, a fence, a link.
_MARKDOWN = re.compile(r"^#{1,4} \w[^\n]*\n\s*\n|^```|\[[^\[\]\n]{1,80}\]\(https?://", re.MULTILINE)
_START = 8_000
MAX_BYTES = 10_000_000
MAX_PDF_BYTES = 30_000_000


class Kind(NamedTuple):
    """A file's type: ``format`` of its content, unpacked if ``packed`` (.gz); ``title`` is for a document without one."""

    format: Format
    packed: bool
    title: str


def kind_of(path: Path) -> Kind | None:
    """Return the type by the file's name, or None if it is not the name of a document.

    Its title is the name without suffixes, or with what it is about: ``coreutils NEWS`` for ``coreutils/NEWS.gz``.
    """
    packed = path.name.lower().endswith(".gz")
    inner = Path(path.name[:-3] if packed else path.name)
    suffix, form = inner.suffix.lower(), _SUFFIXES.get(inner.suffix.lower())
    if known := _WELL_KNOWN.match(inner.name):
        return Kind(
            form or "unnamed", packed, f"{known[1] or path.parent.name} {Path(known[2]).stem if form else known[2]}".strip()
        )
    if form:
        return Kind(form, packed, inner.stem)
    if suffix[1:2] in set("123456789") and suffix[2:3] not in set("0123456789") and len(suffix) < 12:  # "ls.1", "open.3posix"
        return Kind("manual", packed, inner.stem)
    return Kind("unnamed", packed, inner.name) if not suffix else None


def format_of(named: Format, text: str, content_type: str = "", url: str = "") -> Format:
    """Return the format of ``text``: as its name says, else as its beginning, its server or its address do.

    Raises:
        ReadFailed: it is of a kind that is not read.
    """
    start = text[:_START]
    if named == "manual":
        return "manual" if is_manual(text) else "text"
    if named != "unnamed":
        return named
    if _HTML.match(start):
        return "html"
    declared = content_type.partition(";")[0].strip().lower()
    if start.lstrip()[:5].lower() in ("<?xml", "<rss ", "<feed", "<svg ", "<svg>"):
        raise ReadFailed("it is XML, not a page of text")
    if declared.split("/")[0] in ("image", "audio", "video", "font"):
        raise ReadFailed(f"the server declares it as {declared[:40]}")
    if declared in ("text/html", "application/xhtml+xml"):
        return "html"
    if declared == "text/markdown" or url.partition("?")[0].lower().endswith((".md", ".markdown")):
        return "markdown"
    is_markdown = not url and not start.startswith("#!") and len(set(_MARKDOWN.findall(start))) > 1
    return "markdown" if is_markdown else "text"


def size_limit(kind: Kind) -> int:
    """Return how many bytes a file of this kind may have."""
    return MAX_PDF_BYTES if kind.format == "pdf" else MAX_BYTES


def refuse_by_name_and_size(path: Path, size: int) -> None:
    """Check a file's name and size in bytes before it is opened.

    Raises:
        ReadFailed: the name is not that of a document, or the file is too large.
    """
    kind = kind_of(path)
    if kind is None:
        raise ReadFailed(f"unsupported file type ({''.join(path.suffixes[-2:]).lower()})")
    if size > size_limit(kind):
        raise ReadFailed(f"its {size / 1e6:,.0f} MB exceed the limit of {size_limit(kind) / 1e6:,.0f} MB")


def refuse_binary(data: bytes) -> None:
    """Check that bytes do not begin as those of a kind that is no text.

    Raises:
        ReadFailed: they do.
    """
    for magic, name in _BINARY.items():
        if data.startswith(magic):
            raise ReadFailed(f"it is {name}, not a page of text")


def unpack(data: bytes, limit: int) -> bytes:
    """Return the content of the gzip file ``data``, unpacking at most ``limit`` + 1 bytes.

    Raises:
        ReadFailed: the file is damaged, or its content is larger than ``limit`` bytes.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadFailed("it cannot be unpacked: the .gz file is damaged, or is not a gzip file") from error
    if len(content) > limit:
        raise ReadFailed(f"its content is larger than the limit of {limit / 1e6:,.0f} MB")
    return content


VERSION = 4  # of the text that the readers give; raised when they give another for the same bytes
MAX_TEXT = 10_000_000  # characters
_LONG = 500_000
# Pictures that are written into a page as letters make it many times as large; they hold no text.
_DATA_ADDRESS = re.compile(r"data:[\w/+.;=-]{1,100},[A-Za-z0-9+/=%_-]{200,}")


def extract(data: bytes, *, path: str = "", content_type: str = "", url: str = "") -> Page:
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

        return replace(read_pdf(data, name), url=url, extractor=f"pdf {VERSION}")
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
    return replace(document, url=url, extractor=f"{reader} {VERSION}")


def _read(form: Format, text: str, name: str) -> tuple[Page, str]:
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
    return read_text(text, name), "text"
