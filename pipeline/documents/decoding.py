"""Bytes → text, for files and web pages alike: by byte order mark, as UTF-8, as declared, or by what the bytes look like.

The text is composed (NFC). What no charset makes plausible is refused rather than stored as other text.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from pipeline.errors import ReadFailed

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
_START, _SAMPLE = 4_096, 60_000
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


def is_mojibake(text: str) -> bool:
    """Return whether ``text`` looks as if its bytes were decoded by a wrong charset: "Øëþçû", "Ã©Ã¨"."""
    high = len(_HIGH.findall(text))  # no language writes so many of its letters with those of U+0080 to U+00FF
    return high > _FEW and high > 0.3 * sum(map(str.isalpha, text))


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
