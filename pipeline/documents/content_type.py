"""Content type detection from the bytes of a page, then from the server's header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pipeline.documents.charset import decoded
from pipeline.errors import ReadFailed

Kind = Literal["html", "pdf", "markdown", "text"]

_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,200}>\s*)*"
    r"<(?:!doctype\s+html|html|head|body|script|iframe|h[1-6]|div|font|table|a|style|title|b|br|p|meta|link|main|article)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_BINARY = (
    (b"\x89PNG", "an image"), (b"GIF8", "an image"), (b"\xff\xd8\xff", "an image"), (b"RIFF", "a picture or recording"),
    (b"PK\x03\x04", "an archive or an office document"), (b"\x1f\x8b", "compressed"), (b"BZh", "compressed"),
    (b"\xfd7zXZ", "compressed"), (b"7z\xbc\xaf", "compressed"), (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x7fELF", "a program"), (b"MZ\x90", "a program"), (b"OggS", "a recording"), (b"ID3", "a recording"),
    (b"\x00\x00\x01\x00", "an image"), (b"wOF", "a font"), (b"{\\rtf", "a word processing document"), (b"%!PS", "PostScript"),
)  # fmt: skip
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_START = 4_096


@dataclass(frozen=True, slots=True)
class Detected:
    """The kind of a page and its decoded ``text`` ("" for a PDF)."""

    kind: Kind
    text: str = ""


def detect(data: bytes, content_type: str, url: str) -> Detected:
    """Return the kind of ``data`` and its text. ``content_type`` is the server's header, "" if there is none.

    Raises:
        ReadFailed: ``data`` is empty, or of a kind that is not read.
    """
    if not data.strip():
        raise ReadFailed("it is empty")
    if b"%PDF-" in data[:1024]:
        return Detected("pdf")
    for magic, name in _BINARY:
        if data.startswith(magic):
            raise ReadFailed(f"it is {name}, not a page of text")
    text = decoded(data, content_type)
    beginning = text[:_START]
    if len(_NOT_TEXT.findall(beginning)) > len(beginning) // 20:
        raise ReadFailed("it is binary, or in an encoding that it does not declare")
    return Detected(_kind_of(beginning, content_type.partition(";")[0].strip().lower(), url), text)


def _kind_of(beginning: str, declared: str, url: str) -> Kind:
    if _HTML.match(beginning):
        return "html"
    if beginning.lstrip()[:5].lower() in ("<?xml", "<rss ", "<feed", "<svg ", "<svg>"):
        raise ReadFailed("it is XML, not a page of text")
    if declared.split("/")[0] in ("image", "audio", "video", "font"):
        raise ReadFailed(f"the server declares it as {declared[:40]}")
    if declared in ("text/html", "application/xhtml+xml"):
        return "html"
    path = url.partition("?")[0].lower()
    return "markdown" if declared == "text/markdown" or path.endswith((".md", ".markdown")) else "text"
