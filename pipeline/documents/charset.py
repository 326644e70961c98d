"""Decoding of pages: by their byte order mark, what they declare, and what their bytes look like."""

from __future__ import annotations

import re

from pipeline.errors import ReadFailed

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
# What is tried if nothing usable is declared, by the names of charset-normalizer.
_SNIFFED = (
    "utf_8", "cp1252", "cp1251", "koi8_r", "cp866", "cp1250", "iso8859_2", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "cp874", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949",
)  # fmt: skip
_UTF_16 = ("utf_16_le", "utf_16_be")
# The letters beyond ASCII by language, and the charsets that are used for it. They tell Latin charsets apart.
_EASTERN = ("cp1250", "iso8859_2")
_ALPHABETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((letters, ("cp1252",)) for letters in (
        "äöüß", "àâçéèêëîïôùûüœæ", "áéíñóúü", "àèéìòù", "áâãàçéêíóôõúü", "åäöæøé", "áéëïóöü", "áðéíóúýþæö",
    )),
    *((letters, _EASTERN) for letters in (
        "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţșț", "čćđšž",
    )),
    ("çğıöşüâ", ("cp1254",)), ("ąčęėįšųūž", ("cp1257",)), ("āčēģīķļņšūž", ("cp1257",)), ("äöõüšž", ("cp1257",)),
)  # fmt: skip
_LATIN = frozenset(codec for _, codecs in _ALPHABETS for codec in codecs)
_LEAST_KNOWN = 0.9  # of the signs beyond ASCII, so many are letters of one language
_PUNCTUATION = frozenset("“”„‘’‚–—…«»‹›•·§©®°€£\xa0\xad")
_TAGS = re.compile(rb"<(script|style)\b.{0,3000}?</\1|<[^<>]{0,2000}>", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_START = 4_096
_SAMPLE = 60_000  # bytes that are judged
_LOSSY = 0.02  # of the letters beyond ASCII, so many may be damaged
_MOJIBAKE = 0.3  # no language writes so many of its letters with those of U+0080 to U+00FF
_FEW = 20


def decoded(data: bytes, content_type: str) -> str:
    """Return the text of ``data``: by byte order mark, as UTF-8 if it is, by header or own declaration, or by what it looks like.

    Only charsets of a fixed list count. A declaration that gives no plausible text is not followed. Undecodable bytes become
    U+FFFD.

    Raises:
        ReadFailed: no charset gives plausible text.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    codec = _codec_in(_CHARSET, content_type) or _declared_codec(data[:_START])
    if b"\0" not in data[:_START] and not codec.startswith("utf-16") and b"\x1b" not in data[:_SAMPLE]:
        if (text := _as_utf_8(data)) is not None:
            return text
        codec = "" if codec == "utf-8" else codec
    if codec and _gives_text(data, codec):
        return data.decode(codec, "replace")
    return data.decode(_sniffed(data), "replace")


def is_mojibake(text: str) -> bool:
    """Return whether ``text`` looks as if its bytes were decoded by a wrong charset: "Øëþçû", "Ã©Ã¨"."""
    letters = sum(map(str.isalpha, text))
    high = sum("\x80" <= sign <= "\xff" and not sign.isspace() for sign in text)
    return high > _FEW and high > _MOJIBAKE * letters


def _as_utf_8(data: bytes) -> str | None:
    """Return the text if ``data`` is UTF-8 but for some damage."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        beyond = sum(sign > "\x7f" for sign in text)
        return text if text.count("\ufffd") <= _LOSSY * beyond else None


def _gives_text(data: bytes, codec: str) -> bool:
    """Return whether what ``data`` gives by the declared ``codec`` is plausible."""
    text = _sample(data).decode(codec, "replace")
    if text.count("\ufffd") > _LOSSY * sum(sign > "\x7f" for sign in text) + 1 or is_mojibake(text):
        return False
    return codec in ("cp1252", "utf-8") or codec.startswith("utf-16") or bool(_best(data, (codec,))) or len(text) < _FEW


def _sniffed(data: bytes) -> str:
    """Return the codec that fits best.

    Raises:
        ReadFailed: none does.
    """
    sample = _sample(data)
    best = _best(data, _UTF_16 if b"\0" in data[:_START] else _SNIFFED)
    if best in _LATIN or (not best and not is_mojibake(sample.decode("latin-1"))):
        best = _latin(sample) or best or ("cp1252" if len(_NOT_ASCII.findall(sample)) < _FEW else "")
    if not best:
        raise ReadFailed("it is binary, or in a charset that it does not declare and that cannot be recognised")
    return best


def _latin(sample: bytes) -> str:
    """Return the Latin codec by which most signs are letters of one language, or "" if none gives enough."""
    share, _, codec = max(
        (_known(sample.decode(codec, "replace"), letters), -place, codec)
        for place, (letters, codecs) in enumerate(_ALPHABETS)
        for codec in codecs
    )
    return codec if share >= _LEAST_KNOWN else ""


def _known(text: str, letters: str) -> float:
    beyond = [sign for sign in text.lower() if sign > "\x7f" and sign not in _PUNCTUATION]
    return sum(sign in letters for sign in beyond) / len(beyond) if beyond else 1.0


def _best(data: bytes, codecs: tuple[str, ...]) -> str:
    from charset_normalizer import from_bytes

    found = from_bytes(_sample(data), cp_isolation=list(codecs), preemptive_behaviour=False).best()
    return found.encoding if found is not None else ""


def _sample(data: bytes) -> bytes:
    """Return the part of ``data`` that is judged, without markup, from shortly before its first sign beyond ASCII."""
    if b"\0" in data[:_START]:
        return data[: _SAMPLE // 2 * 2]
    plain = _TAGS.sub(b" ", data[: 3 * _SAMPLE])
    first = _NOT_ASCII.search(plain)
    start = max(0, first.start() - 100) if first else 0
    return plain[start : start + _SAMPLE]


def _declared_codec(beginning: bytes) -> str:
    source = beginning.decode("latin-1")
    codec = _codec_in(_CHARSET, source) or _codec_in(_ENCODING, source)
    # A declaration that can be read as ASCII is not in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec


def _codec_in(pattern: re.Pattern[str], source: str) -> str:
    found = pattern.search(source)
    return _CHARSETS.get(found[1].lower(), "") if found else ""
