"""Obsidian's syntax as rules for markdown-it: links, embeds, comments, tags, highlights, formulas; callouts, block ids, tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from pipeline.site.paths import is_image

_LINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_TAG = re.compile(r"#([^\W_]*[\w/-]*)")
_NOT_NUMBER = re.compile(r"[^\d/]")
_MARKED = re.compile(r"==(?=[^\s=])([^\n]*?[^\s=])==(?!=)")
_MATH = re.compile(r"\$(?=[^\s$])([^$`\n]+?)(?<=[^\s\\])\$(?![\w$])")  # as Obsidian has it
_TEX = frozenset("\\^_{")  # what tells a formula from two sums of money
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰ", "0123456789abcdefgh")
# In the words of a link a vault has look-alikes of these signs; few fonts have them.
_PLAIN_SIGNS = str.maketrans("＄＃", "$#")
_SIGN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+[ᵃᵇᶜᵈᵉᶠᵍʰ]?")
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\]([+-]?)[ \t]*([^\n]*)(?:\n|\Z)")
_BLOCK_ID = re.compile(r"(?:\A|\s)\^([A-Za-z0-9-]{1,100})[ \t]*\Z")
_TASK = re.compile(r"\[([ xX])\] ")


@dataclass(frozen=True, slots=True)
class Wikilink:
    """A parsed wikilink: the note's name ("" for this note), heading or ``^block`` or "", and the words or ""."""

    target: str
    place: str
    words: str

    @property
    def shown(self) -> str:
        """The words to show."""
        parts = (self.target,) if self.block else (self.target, *self.place.split("#"))
        return self.words.translate(_PLAIN_SIGNS) or " > ".join(filter(None, parts)) or self.place

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
    md.core.ruler.before("inline", "callouts", _callouts)
    md.core.ruler.before("inline", "block_ids", _block_ids)
    md.core.ruler.push("lone_embeds", _lone_embeds)
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
    """A formula between dollar signs. Without a sign of TeX it is text, such as two sums of money."""
    before = state.src[state.pos - 1] if state.pos else " "
    found = _MATH.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "$" else None
    if not found or before.isalnum() or before in "$\\" or (len(found[1]) > 1 and _TEX.isdisjoint(found[1])):
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


def _callouts(state: StateCore) -> None:
    if not any(token.type == "blockquote_open" for token in state.tokens):
        return
    made: list[Token] = []
    opened: list[Token] = []
    tokens = iter(enumerate(state.tokens))
    for number, token in tokens:
        if token.type == "blockquote_open":
            found = _opening(state.tokens, number)
            opened.append(token)
            if found:
                for _ in range(3):
                    next(tokens)
                made += _callout(token, found, state.tokens[number + 2])
                continue
        elif token.type == "blockquote_close" and (opening := opened.pop()).type == "callout_open":
            token.type, token.meta = "callout_close", dict(opening.meta)
        made.append(token)
    state.tokens = made


def _opening(tokens: list[Token], number: int) -> re.Match[str] | None:
    """What the first line of a block quote says, if it makes it a callout."""
    following = tokens[number + 1 : number + 3]
    if len(following) == 2 and following[0].type == "paragraph_open":
        return _CALLOUT.match(following[1].content)
    return None


def _callout(opening: Token, found: re.Match[str], first: Token) -> Iterator[Token]:
    opening.type, opening.tag = "callout_open", "div"
    opening.meta = {"kind": found[1].lower(), "fold": found[2]}
    yield opening
    title = Token("inline", "", 0, level=first.level, content=found[3].strip(), children=[], block=True)
    yield Token("callout_title_open", "p", 1, level=opening.level + 1, block=True, meta=dict(opening.meta))
    yield title
    yield Token("callout_title_close", "p", -1, level=opening.level + 1, block=True, meta=dict(opening.meta))
    rest = first.content[found.end() :]
    if rest:
        first.content = rest
        yield Token("paragraph_open", "p", 1, level=opening.level + 1, block=True)
        yield first
        yield Token("paragraph_close", "p", -1, level=opening.level + 1, block=True)


def _block_ids(state: StateCore) -> None:
    """Move each `` ^id`` from the text to the block that it names: its own, or the one before when it stands alone."""
    taken: set[str] = set()
    made: list[Token] = []
    for token in state.tokens:
        made.append(token)
        found = _BLOCK_ID.search(token.content) if token.type == "inline" and "^" in token.content else None
        if found and made[-2].type in {"paragraph_open", "heading_open"}:
            token.content = token.content[: found.start()]
            if not token.content and len(made) > 2:
                made[-2].meta["gone"] = True
            target = _before(made[:-2]) if not token.content else _holder(made)
            if target and found[1] not in taken:
                taken.add(found[1])
                target.meta["block"] = found[1]
    state.tokens = list(_without_gone(made))


def _holder(made: list[Token]) -> Token:
    """The block that shows the text of the last token: in a tight list that is the item."""
    return made[-3] if made[-2].hidden and len(made) > 2 else made[-2]


def _before(made: list[Token]) -> Token | None:
    """The block that ended last."""
    if not made or made[-1].nesting == 1:
        return None
    if made[-1].nesting == 0:
        return made[-1]
    level = made[-1].level
    return next((token for token in reversed(made) if token.level == level and token.nesting == 1), None)


def _without_gone(tokens: list[Token]) -> Iterator[Token]:
    waiting = 0
    for token in tokens:
        waiting = 3 if token.meta.get("gone") else waiting
        if waiting:
            waiting -= 1
        else:
            yield token


def _lone_embeds(state: StateCore) -> None:
    """An embed that is all of its paragraph stands by itself; the words ``[ ]`` before an item's text are a box."""
    tokens = state.tokens
    for number, token in enumerate(tokens):
        if token.type == "paragraph_open" and (lone := _lone(tokens[number + 1])):
            token.hidden = tokens[number + 2].hidden = True
            lone.block = True
        elif token.type == "inline" and number > 1 and tokens[number - 2].type == "list_item_open":
            _task(tokens[number - 2], token)


def _lone(inline: Token) -> Token | None:
    children = [child for child in inline.children or () if child.type != "text" or child.content.strip()]
    alone = children[0] if len(children) == 1 else None
    is_figure = alone and (alone.type == "image" or (alone.type == "embed" and is_image(alone.meta["link"].target)))
    return alone if is_figure else None


def _task(item: Token, inline: Token) -> None:
    children = inline.children or []
    found = _TASK.match(children[0].content) if children and children[0].type == "text" else None
    if found:
        children[0].content = children[0].content[found.end() :]
        item.meta["checked"] = found[1] != " "
