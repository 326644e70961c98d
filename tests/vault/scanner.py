"""A small reader of Obsidian's markdown that finds what a note would *do*; written from the format, not from our escapes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]+?(?<!`)\1(?!`)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_HIDDEN = "\ue000"  # a private-use letter in place of an escaped sign


@dataclass(frozen=True)
class Found:
    """What a note holds besides words. Wikilinks as (target, words)."""

    links: tuple[tuple[str, str], ...]
    embeds: tuple[str, ...]
    addresses: tuple[str, ...]
    images: tuple[str, ...]
    tags: tuple[str, ...]
    blocks: tuple[str, ...]
    callouts: tuple[str, ...]
    headings: tuple[str, ...]
    fences: tuple[str, ...]
    html: tuple[str, ...]
    code: tuple[str, ...]
    maths: tuple[str, ...]
    rules: int
    quotes: int


def body_of(note: str) -> str:
    assert note.startswith("---\n")
    return re.sub(r"\n%% generated: [\w.-]* %%\n\Z", "", note.split("\n---\n", 1)[1])


def fenced(body: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """The fenced blocks as (what opens them, content), those in quotes too; and the text without them. An open one runs on."""
    blocks: list[tuple[str, list[str]]] = []
    outside: list[str] = []
    fence = ""
    for line in body.split("\n"):
        found = re.match(r"((?:\s{0,3}>)*)\s*(`{3,}|~{3,})(.*)$", line)
        if fence and found and found[2].startswith(fence) and not found[3].strip():
            fence = ""
        elif fence:
            blocks[-1][1].append(re.sub(r"^(?:\s{0,3}> ?)+", "", line))
        elif found and not ("`" in found[3] and found[2][0] == "`"):
            fence = found[2]
            blocks.append((found[2] + found[3], []))
        else:
            outside.append(line)
    return tuple((head, "\n".join(lines) + "\n") for head, lines in blocks), "\n".join(outside)


def scan(body: str) -> Found:
    blocks, body = fenced(body)
    in_tables = re.sub(r"(\[\[[^\[\]|]*)\\\|", r"\1|", body)  # a table's link has its bar escaped
    seen = _ESCAPE.sub(_HIDDEN, in_tables)
    links = re.findall(r"(!?)\[\[([^\[\]]+)\]\]", seen)
    rest = re.sub(r"!?\[\[[^\[\]]+\]\]", " L ", seen)
    addresses = re.findall(r"(!?)\[[^\[\]]*\]\(([^()\s]*)\)", rest)
    rest = re.sub(r"!?\[[^\[\]]*\]\([^()\s]*\)", " A ", rest)
    lines = rest.split("\n")
    outside_code = _CODE_SPAN.sub(" C ", rest)  # in code, Obsidian sees no tag, address or HTML
    return Found(
        links=tuple(_split(inner) for bang, inner in links if not bang),
        embeds=tuple(inner for bang, inner in links if bang),
        addresses=(
            *(url for bang, url in addresses if not bang),
            *re.findall(r"[A-Za-z][\w+.-]*://\S+|\bwww\.\S+|\S+@\w+\.\w+", outside_code),
        ),
        images=tuple(url for bang, url in addresses if bang),
        tags=tuple(re.findall(r"(?<!\S)#([^\s#]*[^\s#\d][^\s#]*)", outside_code)),
        blocks=tuple(re.findall(r"(?m)(?:^|\s)\^([A-Za-z0-9-]+)\s*$", rest)),
        callouts=tuple(re.findall(r"(?m)^\s*(?:>\s*)+\[!(\w+)\]", seen)),
        headings=tuple(re.findall(r"(?m)^ {0,3}#{1,6}[ \t]+(.*)$", in_tables)),
        fences=tuple(head for head, _ in blocks),
        html=tuple(re.findall(r"</?[A-Za-z!?][^>]*>?", outside_code)),
        code=tuple(re.findall(r"`+([^`]+)`+", rest)),
        maths=tuple(re.findall(r"\$[^$\n]+\$", rest)),
        rules=sum(bool(re.fullmatch(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*|=+\s*", line)) for line in lines),
        quotes=sum(bool(re.match(r"\s{0,3}>", line)) for line in lines),
    )


def _split(inner: str) -> tuple[str, str]:
    target, _, words = inner.partition("|")
    return target, words
