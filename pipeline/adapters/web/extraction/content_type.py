"""Content type detection from the bytes of a page, then from the server's header; decoding by charset."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import ReadFailed

Kind = Literal["html", "pdf", "markdown", "text"]

# Charset names of servers → Python's codecs. The list is closed, because Python also knows "utf-7", "unicode_escape" and "zlib".
_CHARSETS = {
    "utf-8": "utf-8", "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8",
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "us-ascii": "cp1252", "ascii": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252", "iso-8859-9": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874", "windows-874": "cp874",
    **{f"iso-8859-{n}": f"iso-8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
    **{f"cp125{n}": f"cp125{n}" for n in range(9)},
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "macintosh": "mac-roman",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "windows-31j": "cp932", "euc-jp": "euc-jp",
    "iso-2022-jp": "iso-2022-jp", "euc-kr": "cp949", "ks_c_5601-1987": "cp949",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs",
}  # fmt: skip
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?\s{0,9}([a-zA-Z0-9_:.-]{1,40})""", re.IGNORECASE)
_ENCODING = re.compile(r"""<\?xml[^>]{0,100}encoding\s{0,9}=\s{0,9}["']([a-zA-Z0-9_:.-]{1,40})""", re.IGNORECASE)
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


def decoded(data: bytes, content_type: str) -> str:
    """Return the text of ``data``, decoded by byte order mark, header, the page's own declaration, UTF-8 or Windows-1252.

    The first of these that applies is used; only charsets of a fixed list count. Undecodable bytes become U+FFFD.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    codec = _codec_in(_CHARSET, content_type) or _declared_codec(data[:_START])
    if codec:
        return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _declared_codec(beginning: bytes) -> str:
    source = beginning.decode("latin-1")
    codec = _codec_in(_CHARSET, source) or _codec_in(_ENCODING, source)
    # A declaration that can be read as ASCII is not in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec


def _codec_in(pattern: re.Pattern[str], source: str) -> str:
    found = pattern.search(source)
    return _CHARSETS.get(found[1].lower(), "") if found else ""
