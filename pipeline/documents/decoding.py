"""Bytes → text, for files and web pages alike: by byte order mark, declaration, or what the bytes look like.

The text is composed (NFC). What no charset makes plausible is refused rather than stored as other text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise

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
# Where HTML, XML, and comments of other files declare a charset; it must be found before the bytes can be parsed.
_DECLARED = re.compile(
    r"""(?:charset\s{0,9}=\s{0,9}["']?|<\?xml[^>]{0,100}encoding\s{0,9}=\s{0,9}["']|-\*-[^\n]{0,80}coding:\s{0,9})([a-zA-Z0-9_:.-]{1,40})""",
    re.IGNORECASE,
)
# Markup is taken out of the sample that is judged, because its ASCII would outweigh the few signs that tell charsets apart.
_TAGS = re.compile(rb"<(script|style)\b.{0,3000}?</\1|<[^<>]{0,2000}>", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ODD = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")  # signs that text has none of, but for damage
_START, _SAMPLE = 4_096, 60_000
_LOSSY = 0.02  # of the signs beyond ASCII, so many may be damaged
# What is tried if nothing usable is declared: charsets of two bytes a sign, which refuse most other bytes; then of one byte.
_WIDE = ("iso-2022-jp", "euc-jp", "cp932", "cp949", "gb18030", "big5hkscs")
_CYRILLIC = ("cp1251", "koi8-r", "cp866", "iso-8859-5")
_OTHERS = ("cp1253", "cp1255", "cp1256", "cp874")
# The letters beyond ASCII by language, and the charsets that are used for it. They tell Latin charsets apart.
_EASTERN = ("cp1250", "iso-8859-2")
_ALPHABETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((letters, ("cp1252",)) for letters in (
        "äöüß", "àâçéèêëîïôùûüœæ", "áéíñóúü", "àèéìòù", "áâãàçéêíóôõúü", "åäöæøé", "áéëïóöü", "áðéíóúýþæö",
    )),
    *((letters, _EASTERN) for letters in (
        "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţșț", "čćđšž",
    )),
    ("çğıöşüâ", ("cp1254",)), ("ąčęėįšųūž", ("cp1257",)), ("āčēģīķļņšūž", ("cp1257",)), ("äöõüšž", ("cp1257",)),
)  # fmt: skip
_LEAST_KNOWN = 0.9
_PUNCTUATION = frozenset("“”„‘’‚–—…«»‹›•·§©®°€£№\xa0\xad")
# The commonest letters of languages with another script; text that was decoded wrongly has few of them.
_COMMON = {
    "cyrillic": "оеаинтсрвлкмдпу", "greek": "αοιετνσυρηπκμλςί", "hebrew": "יוהלאתרמבש", "arabic": "الينموتربة",
    "thai": "านรอกเงมยล่วด",
    "hangul": "이다는의에을를고가하은로지기사도어리자인",
    "han": "的一是不了在人有我他这中大来上国个到说们时年和地出会于以成生可下也子自这为学水月日",
    "kanji": "のにはをたがでてとしれさあるいなもらかりことよ",
    "traditional": "的一是不了在人有我他這中大來上國個到說們時年和地出會於以成生可下也子自為學水月日",
}  # fmt: skip
_FEW = 20


def decoded(data: bytes, content_type: str = "") -> str:
    """Return the text of ``data``, in composed form. ``content_type`` is what a server said of it, or "".

    Only charsets of a fixed list count. A declaration that gives no plausible text is not followed. Undecodable bytes become
    U+FFFD.

    Raises:
        ReadFailed: no charset gives plausible text.
    """
    text = _decoded(data, content_type)
    start = text[:_START]
    odd = len(_ODD.findall(start))
    if odd > 1 + len(start) // 20:
        raise ReadFailed("it is binary, or in a charset that it does not declare and that cannot be recognised")
    return unicodedata.normalize("NFC", text)


def is_mojibake(text: str) -> bool:
    """Return whether ``text`` looks as if its bytes were decoded by a wrong charset: "Øëþçû", "Ã©Ã¨"."""
    if text.isascii():
        return False
    letters = sum(map(str.isalpha, text))
    high = sum("\x80" <= sign <= "\xff" and not sign.isspace() for sign in text)
    return high > _FEW and high > 0.3 * letters  # no language writes so many of its letters with those of U+0080 to U+00FF


def _decoded(data: bytes, content_type: str) -> str:
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    if wide := _utf_16(data[:_START]):
        return data.decode(wide, "replace")
    codec = _codec_in(content_type) or _codec_in(data[:_START].decode("latin-1"))
    if b"\x1b" not in data[:_SAMPLE] or codec == "utf-8":
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
            if text.count("\ufffd") <= _LOSSY * sum(sign > "\x7f" for sign in text):
                return text
    sample = _sample(data)
    if codec and not codec.startswith("utf") and _gives_text(sample, codec):
        return data.decode(codec, "replace")
    return data.decode(_sniffed(sample), "replace")


def _utf_16(start: bytes) -> str:
    """Return the codec of UTF-16 without a mark: every other byte is zero, or the high half of few blocks of signs."""
    start = start[: len(start) // 2 * 2]
    if len(start) < 4 or (start.count(0) < 2 and not _is_wide_text(start)):
        return ""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if odd != even and min(odd, even) <= len(start) // 100:
        codec = "utf-16-le" if odd > even else "utf-16-be"
        text = start.decode(codec, "replace")
        if text.count("\ufffd") <= 1 and sum(sign.isalnum() or sign.isspace() for sign in text) > 0.6 * len(text):
            return codec
    return ""


def _is_wide_text(start: bytes) -> bool:
    return b"\n\0" in start or b"\0\n" in start


def _gives_text(sample: bytes, codec: str) -> bool:
    """Return whether what ``sample`` gives by the declared ``codec`` is plausible."""
    text = sample.decode(codec, "replace")
    beyond = sum(sign > "\x7f" for sign in text)
    if text.count("\ufffd") > _LOSSY * beyond + 1 or is_mojibake(text):
        return False
    controls = sum("\x80" <= sign < "\xa0" for sign in text)
    return controls <= _LOSSY * beyond and (beyond < _FEW or codec in ("cp1252",) or _plausibility(text) > 0.7)


def _sniffed(sample: bytes) -> str:
    """Return the codec that fits best.

    Raises:
        ReadFailed: none does.
    """
    scored: list[tuple[float, str]] = []
    for codec in (*_WIDE, *_CYRILLIC, *_OTHERS):
        text = sample.decode(codec, "replace")
        beyond = [sign for sign in text if sign > "\x7f"]
        if text.count("\ufffd") <= _LOSSY * len(beyond) and "\x80" not in text:
            foreign = codec in ("gb18030", "big5hkscs", "cp949") and any("\u3041" <= sign <= "\u3096" for sign in text)
            scored.append((_plausibility(text) * (0.8 if foreign else 1.05 if codec in _WIDE else 1.0), codec))
    latin, codec = _latin(sample)
    scored.append((latin, codec))
    best, codec = max(scored, key=lambda one: one[0])
    if best >= 0.75 or (best > 0 and len(_NOT_ASCII.findall(sample)) < _FEW):
        return codec
    from charset_normalizer import from_bytes

    found = from_bytes(
        sample, cp_isolation=sorted(set(_CHARSETS.values()) - {"utf-8", "utf-16"}), preemptive_behaviour=False
    ).best()
    if found is not None and _plausibility(str(found)) >= 0.75:
        return found.encoding
    if len(_NOT_ASCII.findall(sample)) < _FEW:
        return "cp1252"
    raise ReadFailed("it is binary, or in a charset that it does not declare and that cannot be recognised")


def _plausibility(text: str) -> float:
    """Return how much the signs beyond ASCII look like text, 0 to 1: letters of one script, the common ones among them."""
    signs = [sign for sign in text if sign > "\x7f" and sign not in _PUNCTUATION]
    if not signs:
        return 0.0
    scripts = Counter(map(_script, signs))
    script, most = scripts.most_common(1)[0]
    if script in ("", "latin"):
        return max(_known(text, letters) for letters, _ in _ALPHABETS) * 0.9 if script else 0.0
    if script in ("han", "kana"):  # Japanese writes with both, and Chinese without kana
        most = scripts["han"] + scripts["kana"] + scripts["cjk"]
        common = "kanji" if scripts["kana"] > 0.1 * len(signs) else "han"
        often = max(_often(signs, common), _often(signs, "traditional") if common == "han" else 0.0)
    else:
        often = _often(signs, script)
    usual = {"han": 0.12, "kana": 0.25, "hangul": 0.15}.get(script, 0.7)
    shouted = usual == 0.7 and 2 * sum(sign.isupper() for sign in signs) > len(signs)
    odd = 0  # a capital after a small letter, two alphabets in one word
    for a, b in pairwise(text):
        odd += (a.islower() and b.isupper()) or (usual == 0.7 and a.isalpha() and b.isalpha() and (a < "\x80") != (b < "\x80"))
    return max(0.0, most / len(signs) * min(1.0, often / usual) * (0.5 if shouted else 1.0) - odd / len(signs))


def _often(signs: list[str], script: str) -> float:
    common = _COMMON.get(script, "")
    return sum(sign.lower() in common for sign in signs) / len(signs)


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "").split()
    if not name:
        return ""
    known = {
        "CJK": "han",
        "HIRAGANA": "kana",
        "KATAKANA": "kana",
        "IDEOGRAPHIC": "cjk",
        "FULLWIDTH": "cjk",
        "LEFT": "cjk",
        "RIGHT": "cjk",
    }
    return known.get(name[0], name[0].lower() if sign.isalpha() or name[0] == "THAI" else "")


def _latin(sample: bytes) -> tuple[float, str]:
    """Return by which Latin codec most signs are letters of one language, and their share."""
    share, _, codec = max(
        (_known(sample.decode(codec, "replace"), letters), -place, codec)
        for place, (letters, codecs) in enumerate(_ALPHABETS)
        for codec in codecs
    )
    return (share if share >= _LEAST_KNOWN else 0.0), codec


def _known(text: str, letters: str) -> float:
    beyond = [sign for sign in text.lower() if sign > "\x7f" and sign not in _PUNCTUATION]
    return sum(sign in letters for sign in beyond) / len(beyond) if beyond else 1.0


def _sample(data: bytes) -> bytes:
    """Return the part of ``data`` that is judged, without markup, from shortly before its first sign beyond ASCII."""
    plain = _TAGS.sub(b" ", data[: 3 * _SAMPLE])
    first = _NOT_ASCII.search(plain)
    start = max(0, first.start() - 100) if first else 0
    return plain[start : start + _SAMPLE]


def _codec_in(source: str) -> str:
    found = _DECLARED.search(source)
    codec = _CHARSETS.get(found[1].lower(), "") if found else ""
    # A declaration that can be read as ASCII is not in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec
