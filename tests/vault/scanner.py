"""A small reader of Obsidian's markdown that finds what a note would *do*; written from the format, not from our escapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import yaml

from pipeline.vault.output import frontmatter

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


@lru_cache(1_000)
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
        links=tuple((inner.partition("|")[0], inner.partition("|")[2]) for bang, inner in links if not bang),
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


def fields(note: str) -> list[str]:
    """The keys of Dataview's inline fields: in brackets, escaped or in code too; in a line without these, what it begins with."""
    found = []
    for line in note.split("\n"):
        inside = re.findall(r"[\[(]([^\[\]()]*?)::", line)
        key, colons, _ = line.partition("::")
        begins = colons and re.fullmatch(r"[^\w]*((?:[\w\s/-]|[^\x00-\x7f])*)[_*~`]*", key.strip())
        found += inside or ([begins[1]] if begins else [])
    return found


Files = Mapping[str, str]  # the text of each file by its path in the vault


def targets(text: str) -> set[str]:
    """What a note's links name, those in its properties too, and what it shows in place."""
    in_properties, found = re.findall(r"\[\[([^\[\]|]+)\|", frontmatter.split(text)[0]), scan(body_of(text))
    return {*in_properties, *(target for target, _ in found.links), *(embed.partition("|")[0] for embed in found.embeds)}


def leading_nowhere(files: Files) -> list[tuple[str, str]]:
    """The links and embeds, as (note, target), that have no file, heading, block or view at their end."""
    found = ((path, target) for path, text in files.items() if path.endswith(".md") for target in targets(text))
    return [(path, target) for path, target in found if _leads_nowhere(files, path, target)]


def _leads_nowhere(files: Files, path: str, target: str) -> bool:
    name, sign, place = target.partition("#")
    if name.endswith(".base"):
        return name not in files or (bool(sign) and place not in {view["name"] for view in yaml.safe_load(files[name])["views"]})
    if "." in name:
        return name not in files or bool(sign)
    text = files.get(f"{name}.md") if name else files[path]
    if text is None:
        return True
    found = scan(body_of(text))
    if place.startswith("^"):
        return place[1:] not in found.blocks
    return bool(sign) and _words(place) not in map(_words, found.headings)


def _words(heading: str) -> str:
    """A heading as Obsidian compares it with the one that a link names."""
    return re.sub(r"""[!"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+""", " ", heading).strip().casefold()
