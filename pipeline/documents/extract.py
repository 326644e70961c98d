"""Bytes → document: its charset, what kind of file it is, the reader for it; and the process in which that runs.

A charset is known by its byte order mark, as UTF-8, as declared, or by what the bytes look like; what none makes plausible is
refused rather than stored as other text. The kind is known by name, by the server's word and by content.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import resource
import sys
import unicodedata
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.documents.page_writer import megabytes, squash
from pipeline.documents.text_and_manual_reader import is_manual, mandoc, read_manual, read_text
from pipeline.errors import ReadFailed
from pipeline.ports import Page

# -- what charset -------------------------------------------------------------------------------------------------------------

# What is tried if nothing usable is declared, by charset-normalizer's names: the charsets that documents are found in.
_TRIED = [
    "iso2022_jp", "euc_jp", "cp932", "cp949", "gb18030", "big5hkscs", "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256",
    "cp874", "cp1250", "iso8859_2", "cp1252", "cp1254", "cp1257", "utf_16_le", "utf_16_be",
]  # fmt: skip
# Declared charsets that browsers read as a larger one, by Python's names; and the beginnings of the names that are followed. The
# list is closed, because Python also knows "utf-7", "unicode_escape" and "zlib".
_LARGER = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip
_FOLLOWED = (
    "iso8859-", "iso2022_jp", "cp125", "cp866", "cp874", "cp932", "cp949", "koi8-", "mac-roman", "euc_jp", "utf-8", "gb18030",
    "big5hkscs",
)  # fmt: skip
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# Where HTML, XML, and comments of other files declare a charset; it must be found before the bytes can be parsed.
_DECLARED = re.compile(
    r"""(?:charset\s{0,9}=\s{0,9}["']?|<\?xml[^>]{0,100}encoding\s{0,9}=\s{0,9}["']|-\*-[^\n]{0,80}coding:\s{0,9})([a-zA-Z0-9_:.-]{1,40})""",
    re.IGNORECASE,
)
# Markup is taken out of the sample that is judged, because its ASCII would outweigh the few signs that tell charsets apart.
_TAGS = re.compile(rb"<(script|style)\b.{0,3000}?</\1|<[^<>]{0,2000}>", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff\x1b]")  # the escape sign opens the other alphabets of ISO-2022
_ODD = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")  # signs that text has none of, but for damage
# A sign where a Latin charset has letters, inside a word: what charset-normalizer does not mind.
_INSIDE_WORD = re.compile(r"(?<=[^\W\d_])[\x80-\xa9\xab-\xac\xae-\xb6\xb8-\xb9\xbb-\xbf×÷](?=[^\W\d_])")
_HIGH = re.compile("[\x80-\x84\x86-\x9f\xa1-\xff]")  # counted in each text, in a tenth of the time of a loop
_START, _SAMPLE = 8_000, 60_000
_FEW = 20  # bytes beyond ASCII, which tell no charset
_LOSSY = 0.02  # of the signs beyond ASCII, so many may be damaged
_REFUSED = "it is binary, or in a charset that it does not declare and that cannot be recognised"


def decoded(data: bytes, content_type: str = "") -> str:
    """Return the text of ``data``, in composed form. ``content_type`` is what a server said of it, or "".

    Only charsets of a fixed list count. A declaration that gives no plausible text is not followed. Undecodable bytes become
    U+FFFD.

    Raises:
        ReadFailed: no charset gives plausible text.
    """
    text = _decoded(data, content_type)
    start = text[:_START]
    if len(_ODD.findall(start)) > 1 + len(start) // 20:
        raise ReadFailed(_REFUSED)
    return unicodedata.normalize("NFC", text)


def _decoded(data: bytes, content_type: str) -> str:
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    if wide := _utf_16(data[:_START]):
        return data.decode(wide, "replace")
    declared = _codec_in(content_type) or _codec_in(data[:_START].decode("latin-1"))
    if b"\x1b" not in data[:_SAMPLE] or declared == "utf-8":
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            if mixed := _mostly_utf_8(data):
                return mixed
    return data.decode(_fitting(data, declared), "replace")


def _utf_16(start: bytes) -> str:
    """Return the codec of UTF-16 without a mark: every other byte is zero, at least where lines end."""
    start = start[: len(start) // 2 * 2]
    even, odd = start[::2].count(0), start[1::2].count(0)
    ends = b"\n\0" in start or b"\0\n" in start
    if odd == even or min(odd, even) > len(start) // 100 or (odd + even < 2 and not ends):
        return ""
    codec = "utf-16-le" if odd > even else "utf-16-be"
    text = start.decode(codec, "replace")
    is_text = text.count("\ufffd") <= 1 and sum(sign.isalnum() or sign.isspace() for sign in text) > 0.6 * len(text)
    return codec if is_text else ""


def _mostly_utf_8(data: bytes) -> str:
    """Return text in UTF-8 with some damage, or with lines that somebody added in another charset; "" if it is no UTF-8."""
    text = data.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    if damage <= _LOSSY * (len(text) - len(text.encode("ascii", "ignore"))):
        return text
    lines = text.split("\n")
    damaged = [at for at, line in enumerate(lines) if "\ufffd" in line]
    sound = sum(not line.isascii() for line in lines) - len(damaged)
    if len(damaged) > sound:
        return ""
    raw = data.split(b"\n")
    for at in damaged:
        lines[at] = raw[at].decode("cp1252", "replace")
    return "\n".join(lines)


def _fitting(data: bytes, declared: str) -> str:
    """Return the codec that fits best, the ``declared`` one if it fits about as well.

    Raises:
        ReadFailed: none does.
    """
    plain = _TAGS.sub(b" ", data[: 3 * _SAMPLE])
    first = _NOT_ASCII.search(plain)
    start = max(0, first.start() - 100) if first else 0
    sample = plain[start : start + _SAMPLE]
    beyond = len(_NOT_ASCII.findall(sample))
    if beyond < _FEW and declared not in ("", "utf-8") and "\ufffd" not in sample.decode(declared, "replace"):
        return declared
    from charset_normalizer import from_bytes

    names = {name: codecs.lookup(name).name for name in _TRIED} | ({declared.replace("-", "_"): declared} if declared else {})
    tried = [name for name in names if name != "utf_8"]
    found = list(from_bytes(sample, cp_isolation=tried, preemptive_behaviour=False, threshold=0.3))
    if not found and beyond >= _FEW:
        raise ReadFailed(_REFUSED)
    best = max(
        found,
        key=lambda one: (
            -one.chaos, -len(_INSIDE_WORD.findall(str(one))), beyond < 4 and one.encoding == "cp1252", one.coherence
        ),
        default=None,
    )  # fmt: skip
    for match in found:
        as_good = best is not None and match.chaos <= best.chaos + 0.02 and match.coherence > best.coherence - 0.1
        if as_good and names.get(match.encoding) == declared:
            return declared
    return best.encoding if best is not None else "cp1252"


def _codec_in(source: str) -> str:
    """Return the codec that ``source`` declares, "" if it declares none that is followed."""
    found = _DECLARED.search(source)
    try:
        name = codecs.lookup(found[1].lower()).name if found else ""
    except (LookupError, ValueError):
        return ""
    codec = codecs.lookup(_LARGER.get(name, name)).name if name else ""
    # A declaration that can be read as ASCII is not in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec if codec.startswith(_FOLLOWED) else ""


# -- what kind of file --------------------------------------------------------------------------------------------------------

Format = Literal["markdown", "html", "rst", "text", "pdf", "manual", "unnamed"]

_SUFFIXES: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".txt": "text", ".text": "text", ".rst": "rst", ".pdf": "pdf",
}  # fmt: skip
# What is no text, though its bytes may pass for some: pictures, archives, office documents, RTF, PostScript.
_NO_TEXT = (b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"{\\rtf", b"%!PS", b"\x1f\x8b", b"\xd0\xcf\x11\xe0")
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
    if declared == "text/markdown" or url.partition("?")[0].lower().endswith((".md", ".markdown", ".mdx")):
        return "markdown"
    is_markdown = not url and not start.startswith("#!") and len(set(_MARKDOWN.findall(start))) > 1
    return "markdown" if is_markdown else "text"


def size_limit(kind: Kind) -> int:
    """Return how many bytes a file of this kind may have."""
    return MAX_PDF_BYTES if kind.format == "pdf" else MAX_BYTES


def accepted_kind(path: Path, size: int) -> Kind:
    """Return the kind of a file by its name and its size in bytes, before it is opened.

    Raises:
        ReadFailed: the name is not that of a document, or the file is too large.
    """
    kind = kind_of(path)
    if kind is None:
        raise ReadFailed(f"unsupported file type ({''.join(path.suffixes[-2:]).lower()})")
    if size > size_limit(kind):
        raise ReadFailed(f"its {size / 1e6:,.0f} MB exceed the limit of {size_limit(kind) / 1e6:,.0f} MB")
    return kind


VERSION = 10  # of the text that the readers give; raised when they give another for the same bytes
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
        kind = accepted_kind(Path(path), len(data))
        form, name = kind.format, squash(kind.title) or "document"
        if kind.packed:
            limit = size_limit(kind)
            try:
                with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                    data = file.read(limit + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise ReadFailed("it cannot be unpacked: the .gz file is damaged, or is not a gzip file") from error
            if len(data) > limit:
                raise ReadFailed(f"its content is larger than the limit of {limit / 1e6:,.0f} MB")
    else:
        address = urlsplit(url)
        form, name = "unnamed", squash(unquote(address.path.rstrip("/").rsplit("/", 1)[-1])) or address.hostname or "page"
    if not data.strip():
        raise ReadFailed("it is empty")
    # Readers are imported when they are needed: most runs need one. Some PDF files have a few bytes before their mark.
    file_name = (path or url.partition("?")[0]).lower().removesuffix(".gz")
    may_be_pdf = file_name.endswith(".pdf") or "pdf" in content_type.lower()
    if b"%PDF-" in (data[:1024] if may_be_pdf else data[:1024].lstrip()[:5]):
        from pipeline.documents.pdf_reader import read_pdf

        return replace(read_pdf(data, name), url=url, extractor=f"pdf {VERSION}")
    if data.startswith(_NO_TEXT):
        raise ReadFailed("it is an image, an archive or an office document, not a page of text")
    text = decoded(data, content_type).replace("\r\n", "\n").replace("\r", "\n")
    form = format_of(form, text, content_type, url)
    if len(text) > _LONG and form in ("html", "markdown"):
        text = _DATA_ADDRESS.sub("data:,", text)
    if len(text) > MAX_TEXT:
        raise ReadFailed(f"its {len(text) / 1e6:,.1f} million characters exceed the limit of {MAX_TEXT / 1e6:g} million")
    reader: str = form if form in ("html", "markdown", "rst") else "text"
    if form == "html":
        from pipeline.documents.html_reader import read_html

        page = read_html(text, name)
    elif form == "markdown":
        from pipeline.documents.markdown_reader import read_markdown

        page = read_markdown(text, name, is_mdx=file_name.endswith(".mdx"))
    elif form == "rst":
        from pipeline.documents.rst_reader import read_rst

        page = read_rst(text, name)
    elif form == "manual":
        page, reader = read_manual(text, name), "mandoc" if mandoc() else "text"
    else:
        page = read_text(text, name)
    if page.text.count("\n") < 2:
        raise ReadFailed("it holds no text")
    # No language writes so many of its letters with those of U+0080 to U+00FF: "Øëþçû", "Ã©Ã¨".
    start = page.text[:20_000]
    high = len(_HIGH.findall(start))
    if high > _FEW and high > 0.3 * sum(map(str.isalpha, start)):
        raise ReadFailed("its text is garbled: its bytes were once read in a wrong charset")
    return replace(page, url=url, extractor=f"{reader} {VERSION}")


# -- the extraction process ---------------------------------------------------------------------------------------------------


def serve(requests: BinaryIO, answers: BinaryIO, cpu_s: int, memory_bytes: int) -> None:
    """Read documents from ``requests`` one by one until it ends; ``cpu_s`` are seconds of CPU time for each begun megabyte.

    ``extractor`` starts it. A request is a line of JSON (size, and the path of a file or the content type and address of
    a page) followed by that many bytes; an answer is one line of JSON, in which ``spent`` means that this process should be
    replaced. The process's environment holds no keys, and it neither writes files nor opens connections.
    """
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # which is gone after this line: no file has a name here
    for what, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_AS, memory_bytes)):
        resource.setrlimit(what, (value, value))
    while line := requests.readline():
        request = json.loads(line)
        data = requests.read(request.pop("size"))
        used, hard = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)[1]
        allowed = int(used.ru_utime + used.ru_stime) + cpu_s * megabytes(len(data)) + 1  # after that the kernel ends the process
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, hard))
        answer: dict[str, object]
        try:
            answer = {"document": asdict(extract(data, **request))}
        except ReadFailed as error:
            answer = {"failed": error.message}
        except MemoryError:
            answer = {"failed": "reading it takes too much memory", "spent": True}
        except Exception as error:  # noqa: BLE001 - a bug in a parser costs one page, never the night
            answer = {"failed": f"reading it failed ({type(error).__name__})", "spent": True}
        answers.write(json.dumps(answer).encode("ascii") + b"\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, cpu_s=int(sys.argv[1]), memory_bytes=int(sys.argv[2]))
