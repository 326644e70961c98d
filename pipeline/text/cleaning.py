"""Cleaning of untrusted text, comparison of quotes, slugs, digests, token estimates, and grouping. Leaf module, no I/O."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

# C0 and C1 controls except tab and newline; zero-width and bidirectional marks; Unicode tags; lone surrogates; BOM.
_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_QUOTES = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    }
)  # fmt: skip
_OF_SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def clean(text: str) -> str:
    """Return ``text`` without control, zero-width, bidirectional and tag characters; line ends become ``\\n``."""
    if text.isprintable():  # the usual case: no unwanted character and no line end is printable
        return text
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def normalised(text: str) -> str:
    """Return ``text`` with white space collapsed to single spaces and plain quotation marks, for comparing quotes."""
    return " ".join(text.translate(_QUOTES).split())


def same_question(a: str, b: str) -> bool:
    """Return whether two questions differ in case and white space at most."""
    return a == b or spelling_free(a) == spelling_free(b)


def spelling_free(question: str) -> str:
    """Return what all spellings of a question have in common that differ only in case and white space."""
    return " ".join(question.split()).casefold()


def one_line(text: str, limit: int = 200) -> str:
    """Return ``text`` cleaned and on one line, cut at a word with an ellipsis to at most ``limit`` characters."""
    line = " ".join(clean(text).split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def slug(text: str, limit: int = 48) -> str:
    """Return a file name part made of ``[a-z0-9-]``, 1 to ``limit`` characters long, cut at a word.

    Text without a Latin letter or digit becomes ``n`` and eight hex digits of its SHA-256.
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower().replace("'", "")
    plain = "-".join("".join(sign if sign in _OF_SLUG else " " for sign in ascii_text).split())
    if not plain:
        return "n" + digest_of(text.encode("utf-8", "replace"))[:8]
    if len(plain) <= limit:
        return plain
    cut = plain[: limit + 1].rsplit("-", 1)[0] if "-" in plain[: limit + 1] else plain[:limit]
    return cut[:limit].strip("-")


def name_slug(text: str, limit: int = 48) -> str:
    """Return a file name part as ``slug`` does, but in the text's own script where that has no Latin spelling: ``日本語``.

    It is made of lower-case letters, digits, their marks and ``-``, composed (NFC), and has at most ``limit`` characters and two
    and a half times as many bytes in UTF-8. Text whose letters ``slug`` keeps has the same name in both.
    """
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", clean(text)).lower().replace("'", ""))
    decomposed = (unicodedata.normalize("NFKD", sign) for sign in composed if sign.isalnum())
    if all(any(part.isascii() and part.isalnum() for part in parts) for parts in decomposed):  # Latin letters alone
        return slug(text, limit)
    parts = "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in composed).split()
    return _cut("-".join(parts), limit) or slug(text, limit)


def _cut(name: str, limit: int) -> str:
    """Cut a name at a word, or else at a letter with its marks."""
    room = limit * 5 // 2
    cut = name[:limit].encode()[:room].decode("utf-8", "ignore")
    if cut == name:
        return name
    if "-" in cut and name[len(cut)] != "-":
        return cut.rsplit("-", 1)[0].strip("-")
    while len(cut) > 1 and unicodedata.category(name[len(cut)])[0] == "M":
        cut = cut[:-1]
    return cut.strip("-")


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def tokens(text: str) -> int:
    """Return an estimate of the tokens of ``text``: UTF-8 bytes / 3, rounded up. It is rather too high than too low."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the second values by the first ones; both in the order in which they come up."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
