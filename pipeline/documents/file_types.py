"""File type detection by name and, where the name does not decide, by the beginning of the text; unpacking of .gz."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from pathlib import Path
from typing import Literal, NamedTuple

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
_REQUEST = re.compile(r"^[.'][ \t]*(?:TH|SH|Dd|Dt|Sh|so)\b", re.MULTILINE)
_HTML = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_MARKDOWN_TITLE = re.compile(r"\s*#{1,2} \S[^\n]*\n(?:\s*\n|\Z)")
_MARKDOWN_SIGNS = (
    re.compile(r"^\n?#{2,4} \w[^\n]*\n\n", re.MULTILINE),
    re.compile(r"^```", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]{1,80}\]\(https?://"),
)
_START = 8_000


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


def format_of(kind: Kind, text: str) -> Format:
    """Return the format of ``text``: that of its kind, or, for an unnamed one, the format recognised from its beginning."""
    start = text[:_START]
    if kind.format == "manual":
        return "manual" if _REQUEST.search(text) else "text"
    if kind.format != "unnamed":
        return kind.format
    if _HTML.match(start):
        return "html"
    signs = sum(bool(sign.search(start)) for sign in _MARKDOWN_SIGNS)
    is_markdown = signs > 1 or (signs and _MARKDOWN_TITLE.match(start))
    return "markdown" if is_markdown and not start.startswith("#!") else "text"


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
