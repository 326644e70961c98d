"""File type detection by name and, where the name does not decide, by the beginning of the text; unpacking of .gz."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.documents.manuals import is_manual
from pipeline.errors import ReadFailed

Format = Literal["markdown", "html", "text", "rst", "pdf", "manual", "unnamed"]

_SUFFIXES: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".txt": "text", ".text": "text", ".rst": "rst", ".pdf": "pdf",
}  # fmt: skip
_SECTION = re.compile(r"\.[1-9](?:[a-zA-Z][a-zA-Z0-9+]{0,9})?\Z")
# Well-known names of documents without a suffix of their own: README.Debian, coreutils-NEWS, changelog.
_WELL_KNOWN_NAMES = (
    "readme news copyright changelog changes install license licence todo authors copying thanks history contributing faq "
    "credits hacking maintainers notice bugs releases"
)
_WELL_KNOWN = re.compile(rf"(?:(.*)[-_.])?({'|'.join(_WELL_KNOWN_NAMES.split())})(?:\.[\w.+-]*)?\Z", re.IGNORECASE)
# A file without a suffix that tells, and a page whose server does not say what it is, are known by how they begin.
_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*|<\?xml[^>]{0,200}>\s*)*"
    r"<(?:!doctype\s+html|html|head|body|script|iframe|h[1-6]|div|font|table|a|style|title|b|br|p|meta|link|main|article)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_MARKDOWN_TITLE = re.compile(r"\s*#{1,2} \S[^\n]*\n(?:\s*\n|\Z)")
_MARKDOWN_SIGNS = (
    re.compile(r"^\n?#{2,4} \w[^\n]*\n\n", re.MULTILINE),
    re.compile(r"^```", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]{1,80}\]\(https?://"),
)
_START = 8_000
MAX_BYTES = 10_000_000
MAX_PDF_BYTES = 30_000_000


class Kind(NamedTuple):
    """A file's type: ``format`` of its content, unpacked if ``packed`` (.gz); ``stem`` is the name without suffixes."""

    format: Format
    packed: bool
    stem: str


def kind_of(path: Path) -> Kind | None:
    """Return the type by the file's name, or None if it is not the name of a document."""
    name = path.name
    packed = name.lower().endswith(".gz")
    inner = Path(name[:-3] if packed else name)
    suffix = inner.suffix
    if by_suffix := _SUFFIXES.get(suffix.lower()):
        return Kind(by_suffix, packed, inner.stem)
    if _SECTION.match(suffix):
        return Kind("manual", packed, inner.stem)
    if not suffix or _WELL_KNOWN.match(inner.name):
        return Kind("unnamed", packed, inner.name)
    return None


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
    signs = sum(bool(sign.search(start)) for sign in _MARKDOWN_SIGNS) if not url else 0
    is_markdown = signs > 1 or (signs and _MARKDOWN_TITLE.match(start))
    return "markdown" if is_markdown and not start.startswith("#!") else "text"


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


def default_title(path: Path, kind: Kind) -> str:
    """Return the title for a document without one: ``coreutils NEWS`` for ``coreutils/NEWS.gz``, else the file's stem."""
    well_known = _WELL_KNOWN.match(path.name[:-3] if kind.packed else path.name)
    if not well_known:
        return kind.stem
    about = well_known[1] or path.parent.name
    word = path.name[well_known.start(2) :].removesuffix(".gz")
    return f"{about} {re.sub(r'[.](?:md|markdown|html?|txt|rst)$', '', word)}".strip()


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
