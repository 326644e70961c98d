"""What kind of document a file is: told by its name, and for a name that does not say it, by how its text begins."""

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
# Files that are known by the word they are called: README.Debian, coreutils-NEWS, changelog.
_WORDS = (
    "readme news copyright changelog changes install license licence todo authors copying thanks history contributing faq "
    "credits hacking maintainers notice bugs releases"
)
_CALLED = re.compile(rf"(?:(.*)[-_.])?({'|'.join(_WORDS.split())})(?:\.[\w.+-]*)?\Z", re.IGNORECASE)
_REQUEST = re.compile(r"^[.'][ \t]*(?:TH|SH|Dd|Dt|Sh|so)\b", re.MULTILINE)
_HTML = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_MARKDOWN_TITLE = re.compile(r"\s*#{1,2} \S[^\n]*\n(?:\s*\n|\Z)")
_MARKDOWN_SIGNS = (
    re.compile(r"^\n?#{2,4} \w[^\n]*\n\n", re.MULTILINE),
    re.compile(r"^```", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]{1,80}\]\(https?://"),
)
_LOOKED_AT = 8_000


class Kind(NamedTuple):
    """``format`` is that of the content, after unpacking when ``packed``; ``stem`` the name without suffixes."""

    format: Format
    packed: bool
    stem: str


def kind_of(path: Path) -> Kind | None:
    """Return what the file's name says of it, or None when it is no name of a document."""
    name = path.name
    packed = name.lower().endswith(".gz")
    inner = Path(name[:-3] if packed else name)
    suffix = inner.suffix
    if known := _SUFFIXES.get(suffix.lower()):
        return Kind(known, packed, inner.stem)
    if _SECTION.match(suffix):
        return Kind("manual", packed, inner.stem)
    if not suffix or _CALLED.match(inner.name):
        return Kind("unnamed", packed, inner.name)
    return None


def format_of(kind: Kind, text: str) -> Format:
    """Return the format of ``text``: its kind's, or what its beginning shows when the name does not say it."""
    start = text[:_LOOKED_AT]
    if kind.format == "manual":
        return "manual" if _REQUEST.search(text) else "text"
    if kind.format != "unnamed":
        return kind.format
    if _HTML.match(start):
        return "html"
    signs = sum(bool(sign.search(start)) for sign in _MARKDOWN_SIGNS)
    is_markdown = signs > 1 or (signs and _MARKDOWN_TITLE.match(start))
    return "markdown" if is_markdown and not start.startswith("#!") else "text"


def name_for(path: Path, kind: Kind) -> str:
    """Return what a document without a title is called: ``coreutils NEWS`` for ``coreutils/NEWS.gz``; else its file's name."""
    called = _CALLED.match(path.name[:-3] if kind.packed else path.name)
    if not called:
        return kind.stem
    about = called[1] or path.parent.name
    word = path.name[called.start(2) :].removesuffix(".gz")
    return f"{about} {re.sub(r'[.](?:md|markdown|html?|txt|rst)$', '', word)}".strip()


def unpacked(data: bytes, limit: int) -> bytes:
    """Return what the gzip file ``data`` holds; no more than ``limit`` bytes and one are ever unpacked.

    Raises:
        ReadFailed: it is damaged, or holds more than ``limit`` bytes.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadFailed("it is called .gz and cannot be unpacked: it is damaged, or no gzip file") from error
    if len(content) > limit:
        raise ReadFailed(f"it unpacks to more than the {limit / 1e6:,.0f} MB that are read of one file")
    return content
