"""Inline Markdown → plain text: removes emphasis, links, elements and escapes.

Every pattern is linear in its input or bounded, so a hostile file takes no longer than other files of its length.
"""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"(`{1,3})(?!`)([^\n]{1,200}?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\](?:\([^()\n]{0,500}(?:\([^()\n]{0,500}\)[^()\n]{0,500})?\)|\[[^\[\]\n]{0,200}\])")
_WIKI = re.compile(r"!?\[\[([^\[\]|\n]{1,300})(?:\\?\|([^\[\]\n]{1,300}))?\]\]")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]{1,2000})>")
_ELEMENT = re.compile(r"</?[a-zA-Z][\w-]{0,30}(?:\s[^<>]{0,1000})?/?>")
_OPEN = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~|==)(?=[^\s*_~=])")
_CLOSE = re.compile(r"(?<=[^\s*_~=])(?:\*{1,3}|_{1,3}|~~|==)(?!\w)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def without_marks(text: str) -> str:
    """Return one block's ``text`` without its inline marks; the content of code spans is not changed."""
    parts: list[str] = []
    start = 0
    for span in _CODE.finditer(text):
        parts += [_unmarked(text[start : span.start()]), span[2].strip()]
        start = span.end()
    return "".join([*parts, _unmarked(text[start:])])


def _unmarked(text: str) -> str:
    text = _WIKI.sub(_wikilink_text, text)
    text = _LINK.sub(lambda found: found[1], _LINK.sub(lambda found: found[1], text))
    text = _ELEMENT.sub("", _AUTOLINK.sub(lambda found: found[1], text))
    return html.unescape(_ESCAPED.sub(r"\1", _without_emphasis(text)))


def _wikilink_text(link: re.Match[str]) -> str:
    """Return the text that Obsidian shows for a link to a note; an embed gives "", as it is another document's text."""
    if link[0].startswith("!"):
        return ""
    note, _, part = link[1].partition("#")
    heading = "" if part.startswith("^") else part.replace("#", " > ")
    return link[2] or " > ".join(name for name in (note, heading) if name)


def _without_emphasis(text: str) -> str:
    """Remove emphasis marks that come in pairs; an unpaired one, as in ``*args``, stays."""
    opened: dict[str, int] = {}
    dropped: list[tuple[int, int]] = []
    marks = [(found.start(), 1, found[0]) for found in _OPEN.finditer(text)]
    marks += [(found.start(), 0, found[0]) for found in _CLOSE.finditer(text)]
    for at, opens, mark in sorted(marks):
        if opens:
            opened[mark] = at
        elif mark in opened:
            dropped += [(opened.pop(mark), len(mark)), (at, len(mark))]
    kept: list[str] = []
    start = 0
    for at, length in sorted(dropped):
        kept.append(text[start:at])
        start = max(start, at + length)
    return "".join([*kept, text[start:]])
