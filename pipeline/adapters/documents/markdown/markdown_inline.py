"""Markdown's marks inside a line: taken away, so that the words stay.

Every pattern is linear in its input or bounded: a hostile file costs no more than a long one.
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


def plain(text: str) -> str:
    """Return one block's ``text`` without its inline marks; what stands in code spans is left as it is."""
    parts: list[str] = []
    start = 0
    for span in _CODE.finditer(text):
        parts += [_unmarked(text[start : span.start()]), span[2].strip()]
        start = span.end()
    return "".join([*parts, _unmarked(text[start:])])


def _unmarked(text: str) -> str:
    text = _WIKI.sub(_shown, text)
    text = _LINK.sub(lambda found: found[1], _LINK.sub(lambda found: found[1], text))
    text = _ELEMENT.sub("", _AUTOLINK.sub(lambda found: found[1], text))
    return html.unescape(_ESCAPED.sub(r"\1", _unstressed(text)))


def _shown(link: re.Match[str]) -> str:
    """Return what Obsidian shows of a link to a note; what is embedded is another document's."""
    if link[0].startswith("!"):
        return ""
    note, _, part = link[1].partition("#")
    heading = "" if part.startswith("^") else part.replace("#", " > ")
    return link[2] or " > ".join(name for name in (note, heading) if name)


def _unstressed(text: str) -> str:
    """Take away the marks of emphasis that come in pairs; ``*args`` alone keeps its star."""
    opened: dict[str, int] = {}
    gone: list[tuple[int, int]] = []
    marks = [(found.start(), 1, found[0]) for found in _OPEN.finditer(text)]
    marks += [(found.start(), 0, found[0]) for found in _CLOSE.finditer(text)]
    for at, opens, mark in sorted(marks):
        if opens:
            opened[mark] = at
        elif mark in opened:
            gone += [(opened.pop(mark), len(mark)), (at, len(mark))]
    kept: list[str] = []
    start = 0
    for at, length in sorted(gone):
        kept.append(text[start:at])
        start = max(start, at + length)
    return "".join([*kept, text[start:]])
