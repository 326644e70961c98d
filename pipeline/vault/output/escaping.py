"""The one place where text from outside becomes text that does nothing in a vault.

Titles, quotes, addresses, questions and error messages come from pages, models and people. In a note they must be read, never
obeyed: not by Obsidian (links, embeds, tags, block ids, comments, callouts, headings, lists, maths, HTML), not by Dataview
(``key:: value``, inline queries, fenced queries) and not by Templater, which looks for its opening sign in the raw file, code
and properties included. Escapes are those of CommonMark, so the note still reads as the text it came from.

Five contexts, one function each: ``inert`` for running text, tables and headings; ``label`` for the words of a wikilink, where a
backslash would show; ``address`` for a link to the outside; ``plain`` for a property, which a YAML emitter quotes
afterwards; ``fenced`` for code.

The numbers of citations come last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from pipeline.text.cleaning import clean, one_line

_RISKY = re.compile(
    r"[\\`*\[\]<>#^|$]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # emphasis; not snake_case
    r"|(?<=[%<>])%|%(?=[%<>])|\A%|%\Z"  # comments, Templater's signs
    r"|(?<==)=|=(?==)|\A=|=\Z|(?<=~)~|~(?=~)|\A~|~\Z"  # highlights, underlined headings, strike-through, fences
    r"|(?<=:):|:(?=:)|\A:|(?<=[A-Za-z]):(?=\S)|:(?=//)"  # inline fields, addresses that would link themselves
    r"|(?<=\{)\{|(?<=\})\}"  # placeholders
    r"|(?<=\S)@(?=\S)|(?<=[Ww]{3})\.|&(?=[#A-Za-z])"  # mail addresses, hosts, entities
    r"|\A[-+(]"  # lists; an address after a link
)
_TICKS = re.compile("`+")
_NUMBERED = re.compile(r"\A(\d{1,9})([.)])")
# A last character that would join with what a template writes next: `!` with a link is an embed, `:` with a colon a field.
# An entity hides the raw characters from plugins that search for them; the very common `!` gets only a backslash.
_JOINING = {"!": "\\!", ":": "&#58;", "[": "&#91;", "<": "&lt;"}
_IN_LABEL = str.maketrans("[]|<>`\\^*$#{}", "()/‹›'/ˆ∗＄＃()")  # signs that mean something in a link, and look-alikes
_REPEATED_IN_LABEL = re.compile(r"([%:=~_])\1+")
_SCHEME_IN_LABEL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*:/+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT_IN_URL = "/?&=+,@%-._~:"


# A wikilink or an embed, as Obsidian reads it; in a table its bar is escaped.
WIKILINK = re.compile(r"(?P<embed>!?)\[\[(?P<to>[^\[\]|#\\\n]*)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<words>[^\[\]\n]*))?\]\]")


class Inert(str):
    """Text that goes into a note unchanged: escaped here, or written by this program."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A wikilink to another note of the vault: its path without suffix, the words shown, and a block id or ""."""

    path: str
    label: str
    block: str = ""

    @property
    def inline(self) -> Inert:
        """The link for running text."""
        return Inert(f"[[{self.path}{'#^' if self.block else ''}{self.block}|{label(self.label)}]]")

    @property
    def cell(self) -> Inert:
        """The link for a table, where a bare bar would end the cell."""
        return Inert(self.inline.replace("|", "\\|", 1))


def inert(text: str) -> Inert:
    """Return ``text`` on one line, harmless wherever a template puts it; ``Inert`` comes back unchanged.

    White space at its ends goes, but white space alone stays a space: templates print it between things.
    """
    return text if isinstance(text, Inert) else _inert(text)


@lru_cache(maxsize=4_096)  # a title or a quote occurs in several notes, most of them rendered one after the other
def _inert(text: str) -> Inert:
    line = " ".join(clean(text).split())
    if text.isspace():
        return Inert(" ")
    tail = _JOINING.get(line[-1:], "")
    body = _RISKY.sub(lambda found: "\\" + found[0], line[:-1] if tail else line)
    return Inert(_NUMBERED.sub(r"\1\\\2", body) + tail)


def before_space(text: str) -> Inert:
    """Return ``inert(text)`` for a place where white space follows, so that a colon at its end can join with nothing."""
    body = inert(text)
    if body.endswith("&#58;") and not body.endswith(":&#58;"):
        return Inert(body.removesuffix("&#58;") + ":")
    return body


def label(text: str) -> str:
    """Return ``text`` for the words of a wikilink: signs that mean something there become look-alikes. Never empty."""
    line = one_line(_SCHEME_IN_LABEL.sub("", text), 160).translate(_IN_LABEL)
    return _REPEATED_IN_LABEL.sub(r"\1", line) or "untitled"


def fenced(code: str) -> list[Inert]:
    """Return ``code`` as the lines of a fence that nothing in it ends, without a language that a plugin would run.

    Templater looks for its opening sign inside code too: there a sign without width keeps its two halves apart.
    """
    lines = clean(code).replace("\u2028", "\n").replace("\u2029", "\n").split("\n")
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return [Inert(line) for line in (fence, *(line.replace("<%", "<\u200b%") for line in lines), fence)]


def plain(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line for a property: what would be a link there is none, nothing else changes."""
    return one_line(text, limit).replace("[[", "[ [").replace("]]", "] ]")


def address(url: str, words: str = "") -> Inert:
    """Return a link to ``url`` if it is one of ``http`` or ``https`` that hides nothing, else its inert text.

    ``words`` are shown instead of the address.
    """
    safe = web_address(url)
    if not safe:
        return inert(url)
    shown = one_line(words or safe.partition(":")[2].lstrip("/").removesuffix("/"), 80)
    return Inert(f"[{inert(shown)}]({safe})")


def file_address(file: Path, words: str, sheet: int = 0) -> Inert:
    """Return a link that opens a file of the user's own, with ``sheet`` at that page of a PDF."""
    return Inert(f"[{inert(words)}]({file.as_uri()}{f'#page={sheet}' if sheet else ''})")


def web_address(url: str) -> str:
    """Return ``url`` as it may be followed: host in punycode, all else percent-encoded; "" if it may not.

    Not followed are other schemes, names before the host (``https://bank.example@evil.example``) and literal IPv6 hosts.
    """
    try:
        parts = urlsplit(clean(url).strip())
        host, port = (parts.hostname or "").encode("idna").decode("ascii").lower(), parts.port
    except (ValueError, UnicodeError):
        return ""
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host) or "@" in parts.netloc:
        return ""
    place = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
    return place + _encoded(parts.path) + _encoded(parts.query, "?") + _encoded(parts.fragment, "#")


def linked_host(url: str) -> str:
    """Return the host of a web address in punycode, "" for any other address."""
    safe = web_address(url)
    return (urlsplit(safe).hostname or "") if safe else ""


def _encoded(part: str, lead: str = "") -> str:
    if not part:
        return ""
    encoded = quote(_STRAY_PERCENT.sub("%25", part), safe=_KEPT_IN_URL)
    return lead + encoded.replace("::", "%3A%3A").replace("==", "%3D%3D").replace("~~", "%7E%7E").replace("://", "%3A//")


SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰ"  # of citations


def superscript(number: int, place: int = -1) -> str:
    """Return a citation's sign: ``¹²``, with a letter when ``place`` (from 0) is given: ``¹²ᵃ``."""
    letter = SIGNS[10 + place : 11 + place] if place >= 0 else ""
    return "".join(SIGNS[int(digit)] for digit in str(number)) + letter


def sentence(text: str) -> str:
    """Return ``text`` with a capital first and a full stop last."""
    ended = text.strip()
    if ended and ended[-1] not in ".!?…":
        ended += "."
    return ended[:1].upper() + ended[1:]
