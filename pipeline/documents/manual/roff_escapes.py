"""roff escape sequences → characters. Every pattern is linear in its input or bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

# The names of groff_char(7) that occur in real pages.
_NAMED = {
    "aq": "'", "oq": "‘", "cq": "’", "dq": '"', "lq": "“", "rq": "”", "Bq": "„", "bq": "‚", "ga": "`", "ha": "^", "ti": "~",
    "at": "@", "sh": "#", "Do": "$", "rs": "\\", "sl": "/", "ba": "|", "bv": "|", "or": "|", "bb": "¦", "ul": "_", "rn": "‾",
    "em": "—", "en": "–", "hy": "-", "mi": "−", "-": "-", "bu": "•", "ci": "○", "sq": "□", "lz": "◊", "ps": "¶", "sc": "§",
    "dg": "†", "dd": "‡", "co": "©", "rg": "®", "tm": "™", "de": "°", "mc": "µ", "fm": "′", "sd": "″", "pd": "∂", "if": "∞",
    "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "la": "⟨", "ra": "⟩", "lB": "[", "rB": "]", "lC": "{", "rC": "}",
    "<-": "←", "->": "→", "<>": "↔", "da": "↓", "ua": "↑", "lA": "⇐", "rA": "⇒", "hA": "⇔", "OK": "✓", "CR": "↵",
    "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "~~": "≈", "~=": "≅", "+-": "±", "mu": "×", "di": "÷", "pl": "+", "eq": "=",
    "md": "⋅", "**": "∗", "ap": "∼", "sr": "√", "is": "∫", "mo": "∈", "nm": "∉", "sb": "⊂", "sp": "⊃", "ca": "∩", "cu": "∪",
    "fa": "∀", "te": "∃", "no": "¬", "AN": "∧", "OR": "∨", "tf": "∴", "gr": "∇", "es": "∅", "ss": "ß", "ae": "æ", "AE": "Æ",
    "oe": "œ", "OE": "Œ", "o/": "ø", "O/": "Ø", "oa": "å", "oA": "Å", "-D": "Ð", "Sd": "ð", "TP": "Þ", "Tp": "þ", "/l": "ł",
    "/L": "Ł", "r!": "¡", "r?": "¿", "Of": "ª", "Om": "º", "S1": "¹", "S2": "²", "S3": "³", "12": "½", "14": "¼", "34": "¾",
    "Eu": "€", "eu": "€", "ct": "¢", "Po": "£", "Ye": "¥", "Cs": "¤", "Fn": "ƒ", "fi": "fi", "fl": "fl", "ff": "ff", "Fi": "ffi",
    "Fl": "ffl", "%0": "‰", "aa": "´", "a^": "^", "a~": "~", "ad": "¨", "ac": "¸", "ao": "˚", "ah": "ˇ", "a.": "˙", "a-": "¯",
    "lh": "☜", "rh": "☞", "IJ": "Ĳ", "ij": "ĳ", ".i": "ı", ".j": "ȷ", "shc": "", "an": "―",
}  # fmt: skip
_GREEK_NAMES = "*a *b *g *d *e *z *y *h *i *k *l *m *n *c *o *p *r ts *s *t *u *f *x *q *w"
_GREEK = dict(zip(_GREEK_NAMES.split(), "αβγδεζηθικλμνξοπρςστυφχψω", strict=True))
_GREEK |= {name.replace(name[1], name[1].upper()): sign.upper() for name, sign in _GREEK.items() if name[0] == "*"}
_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    ":": "\u0308",
    "~": "\u0303",
    ",": "\u0327",
    "v": "\u030c",
    "o": "\u030a",
}
_ESCAPE = re.compile(
    r"""\\(?:
      \((?P<two>..) | \[(?P<long>[^\]\n]{1,80})\] | C'(?P<called>[^'\n]{1,80})' | N'(?P<code>\d{1,7})'
    | n[+-]?(?:\((?P<register>..)|\[(?P<register_>[^\]\n]{0,60})\]|(?P<register1>.))
    | s(?:[+-]\d|[1-3]\d|\d|[+-]?\([+-]?..|\[[+-]?\w{1,9}\]|[+-]?'[^'\n]{0,20}')
    | [fFmMgkYV](?:\(..|\[[^\]\n]{0,60}\]|.)
    | h'(?P<moved>(?:\\w'[^'\n]{0,99}'|[^'\n]){0,199})'
    | [ABDHLRSXbvwlx]'(?:\\w'[^'\n]{0,99}'|[^'\n]){0,399}'
    | [oZ]'(?P<over>[^'\n]{0,99})'
    | \$(?:[\d*@]|\(..|\[[^\]\n]{0,60}\])
    | \*(?:\(..|\[[^\]\n]{0,60}\]|.)
    | (?P<other>.)
    )""",
    re.VERBOSE,
)
_SINGLE = {**dict.fromkeys("&|^%:/,)!?{}acdprtuz", ""), **dict.fromkeys(" 0~", " "), "t": "\t", "e": "\\", "E": "\\", "'": "´"}
_STRING = re.compile(r"\\\*(?:\((..)|\[([^\]\s\n]{1,60})[^\]\n]{0,200}\]|(.))")
_REGISTER = re.compile(r"\\n[+-]?(?:\((..)|\[([^\]\n]{1,60})\]|(.))")
_LONGEST = 20_000
_STRING_ROUNDS = 4


def plain(text: str) -> str:
    """Return ``text`` with special characters put in and all other escapes (fonts, sizes, movements) removed."""
    return _ESCAPE.sub(_replacement, text) if "\\" in text else text


def character(name: str) -> str:
    """Return the special character named ``name`` (``bu``, ``u2014``, ``'e``), or "" if there is none."""
    if found := _NAMED.get(name) or _GREEK.get(name):
        return found
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6}){0,5}", name):
        return "".join(_code_point(int(part, 16)) for part in name[1:].split("_"))
    if re.fullmatch(r"char\d{1,3}", name):
        return _code_point(int(name[4:]))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return name if len(name) == 1 else ""


def interpolate(text: str, strings: Mapping[str, str], registers: Mapping[str, int]) -> str:
    """Return ``text`` with roff's strings and number registers put in; an undefined string is "", a register 0."""
    for _ in range(_STRING_ROUNDS):
        if "\\*" not in text:
            break
        text = _STRING.sub(lambda found: strings.get(_escape_name(found), ""), text)[:_LONGEST]
    return _REGISTER.sub(lambda found: str(registers.get(_escape_name(found), 0)), text) if "\\n" in text else text


def _escape_name(found: re.Match[str]) -> str:
    return found[1] or found[2] or found[3]


def _replacement(found: re.Match[str]) -> str:
    if name := found["two"] or found["long"] or found["called"]:
        return character(name)
    if found["code"]:
        return _code_point(int(found["code"]))
    if found["moved"] is not None:
        return "" if found["moved"].startswith("-") else " "
    if found["over"] is not None:
        return plain(found["over"].replace("\\o", "").replace("\\Z", ""))
    if any(found[group] is not None for group in ("register", "register_", "register1")):
        return "0"
    other = found["other"]
    return _SINGLE.get(other, other) if other is not None else ""


def _code_point(code: int) -> str:
    return chr(code) if 0x1F < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
