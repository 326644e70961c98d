"""Obsidian's inline syntax as rules for markdown-it: wikilinks, embeds, comments, tags, highlights, formulas."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who reads the catalogue alone has no need of it
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_LINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_TAG = re.compile(r"#([^\W_]*[\w/-]*)")
_NOT_NUMBER = re.compile(r"[^\d/]")
_MARKED = re.compile(r"==(?=[^\s=])([^\n]*?[^\s=])==(?!=)")
_MATH = re.compile(r"\$(?=[^\s$])([^$`\n]+?)(?<=[^\s\\])\$(?![\w$])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰ", "0123456789abcdefgh")
# In the words of a link a vault has look-alikes of these signs; few fonts have them.
_PLAIN_SIGNS = str.maketrans("＄＃", "$#")
_SIGN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+[ᵃᵇᶜᵈᵉᶠᵍʰ]?")


@dataclass(frozen=True, slots=True)
class Wikilink:
    """A parsed wikilink: the note's name ("" for this note), heading or ``^block`` or "", and the words or ""."""

    target: str
    place: str
    words: str

    @property
    def shown(self) -> str:
        """The words to show."""
        return self.words.translate(_PLAIN_SIGNS) or " > ".join(part for part in (self.target, *self.place.split("#")) if part)

    @property
    def block(self) -> str:
        """The block id, "" when the link leads to no block."""
        return self.place[1:] if self.place.startswith("^") else ""

    @property
    def sign(self) -> str:
        """The sign of a citation, such as ``12`` or ``12a`` for a link shown as ¹² or ¹²ᵃ that leads to a block; else ""."""
        return self.words.translate(_SUPERSCRIPTS) if self.block and _SIGN.fullmatch(self.words) else ""

    @property
    def number(self) -> str:
        """The number in a citation's sign, "" for any other link."""
        return self.sign.rstrip("abcdefgh")


def wikilink(inside: str) -> Wikilink:
    """Parse the text between ``[[`` and ``]]``. In a table the bar is escaped."""
    address, _, words = inside.partition("|")
    target, _, place = address.removesuffix("\\").partition("#")
    return Wikilink(target.strip(), place.strip(), words.strip())


def use(md: MarkdownIt) -> None:
    """Add these rules to ``md``."""
    md.inline.ruler.before("link", "wikilink", _wikilink)
    md.inline.ruler.before("image", "embed", _wikilink)
    md.inline.ruler.push("comment", _comment)
    md.inline.ruler.push("tag", _tag)
    md.inline.ruler.push("mark", _mark)
    md.inline.ruler.before("emphasis", "math", _math)
    md.block.ruler.before("paragraph", "comment", _comment_lines, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _wikilink(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos, state.posMax) if state.src[state.pos] in "[!" else None
    if not found:
        return False
    if not silent:
        token = state.push("embed" if found[1] else "wikilink", "", 0)
        token.meta["link"] = wikilink(found[2])
        token.content = found[2]
    state.pos = found.end()
    return True


def _comment(state: StateInline, _silent: bool) -> bool:
    if not state.src.startswith("%%", state.pos):
        return False
    end = state.src.find("%%", state.pos + 2, state.posMax)
    if end < 0:
        return False
    state.pos = end + 2
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    found = _TAG.match(state.src, state.pos, state.posMax)
    if not found or not _NOT_NUMBER.search(found[1]):
        return False
    if not silent:
        state.push("tag", "", 0).content = found[1].strip("/")
    state.pos = found.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    found = _MARKED.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "=" else None
    if not found:
        return False
    if not silent:
        end = state.posMax
        state.push("mark_open", "mark", 1)
        state.pos, state.posMax = found.start(1), found.end(1)
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
        state.posMax = end
    state.pos = found.end()
    return True


def _math(state: StateInline, silent: bool) -> bool:
    """A formula between dollar signs; what stands in it is shown as it is written."""
    before = state.src[state.pos - 1] if state.pos else " "
    found = _MATH.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "$" else None
    if not found or before.isalnum() or before in "$\\":
        return False
    if not silent:
        state.push("math", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _comment_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines from one that begins with ``%%`` to the one that ends the comment; without an end, all that follows."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if not first.startswith("%%") or first.count("%%") > 2:
        return False
    line = start
    if first.count("%%") == 1:
        line = next((n for n in range(start + 1, end) if "%%" in state.src[state.bMarks[n] : state.eMarks[n]]), end - 1)
    elif not first.rstrip().endswith("%%"):
        return False
    if not silent:
        state.line = line + 1
        state.push("comment", "", 0).hidden = True
    return True
