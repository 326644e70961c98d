"""Obsidian's block syntax as rules for markdown-it: callouts, block ids, embeds on their own line, tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_CALLOUT = re.compile(r"\[!([\w-]{1,40})\]([+-]?)[ \t]*([^\n]*)(?:\n|\Z)")
_BLOCK_ID = re.compile(r"(?:\A|\s)\^([A-Za-z0-9-]{1,100})[ \t]*\Z")
_TASK = re.compile(r"\[([ xX])\] ")
_FIGURES = {"embed", "image"}
_SAME_AS = {
    "summary": "abstract", "tldr": "abstract", "hint": "tip", "important": "tip", "check": "success", "done": "success",
    "help": "question", "faq": "question", "caution": "warning", "attention": "warning", "fail": "failure",
    "missing": "failure", "error": "danger", "cite": "quote",
}  # fmt: skip


def use(md: MarkdownIt) -> None:
    """Add these rules to ``md``."""
    md.core.ruler.before("inline", "callouts", _callouts)
    md.core.ruler.before("inline", "block_ids", _block_ids)
    md.core.ruler.push("lone_embeds", _lone_embeds)


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
    word = found[1].lower()
    opening.type, opening.tag = "callout_open", "div"
    opening.meta = {"kind": _SAME_AS.get(word, word), "fold": found[2]}
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
    return children[0] if len(children) == 1 and children[0].type in _FIGURES else None


def _task(item: Token, inline: Token) -> None:
    children = inline.children or []
    found = _TASK.match(children[0].content) if children and children[0].type == "text" else None
    if found:
        children[0].content = children[0].content[found.end() :]
        item.meta["checked"] = found[1] != " "
