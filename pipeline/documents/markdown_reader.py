"""Markdown → page: what its many flavours mean is put into CommonMark, and that goes through the HTML reader.

Front matter is YAML or TOML, also where a careless title breaks it; Obsidian's comments, links and marks, footnotes, definition
lists, admonitions and containers are read as what they mean; template tags of site generators are left out, their content stays.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import date
from html import escape
from typing import Any, cast

import pyromark
import yaml
from pyromark import Options

from pipeline.documents.html_reader import BOXES, ELEMENTS, read_html
from pipeline.documents.page_writer import squash
from pipeline.errors import ReadFailed
from pipeline.ports import Page

_OPTIONS = (
    Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_DEFINITION_LIST | Options.ENABLE_MATH | Options.ENABLE_WIKILINKS | Options.ENABLE_HEADING_ATTRIBUTES
)  # fmt: skip
_BOXES = ("!!!", "???", "???+", "===", "===!", "===+")  # MkDocs: a box, a folded one, a tab; what is in it is set in
_LONGEST_FRONT_MATTER = 64_000
_POOR_NAMES = ("index", "readme", "untitled")
# Tags of template languages (Hugo, Jekyll, Liquid) and attribute lists (kramdown) stand in text that other programs turn into
# pages; no parser knows them all.
_GENERATOR_TAG = re.compile(
    r"\{\{[<%][^\n]{0,500}?[>%]\}\}|\{%-?[^\n]{0,500}?-?%\}"
    r"|(?=\{:)(?:(?<=[*_)])|(?<![^ \t])(?=[^{}\n]*\{[^{}\n]*\}\Z))\{:(?:[ \t]|[#.][A-Za-z]|:)[^{}\n]{0,300}\}"
)
# The beginning and end of a tab, and of a group of them: components of MDX, shortcodes of Hugo, tags of GitBook.
_TAB = re.compile(r"(?i)(?:(<)/?|\{\{[<%]|\{%) */?(tab(?:item|-item|s)?)(?: ([^\n]{0,300}?))?/?(?(1)(?<![=-])>|(?:[>%]\}\}|%\}))")
_TEXT_OF_TAG = re.compile(r"([\w-]*)=?\{?[\"']([^\"'\n]+)[\"']")  # an attribute, or a text without a name
_LABELS = ("label", "title", "header", "name", "", "value")  # what names a tab, the best first
# What MDX has beside Markdown: modules, comments, values of attributes in JavaScript, tags of components; code stays as it is.
_MDX = re.compile(
    r"(?P<code>^ *(?P<fence>```+|~~~+)[^\n]*$.*?(?:^ *(?P=fence)|\Z)|`[^`\n]+`)"
    r"|^(?:import|export) [^\n]+(?:\n[^\n]*\S[^\n]*)*|\{/\*(?:(?!\{/\*).)*?\*/\}"
    r"|\s[\w-]+=\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\}"
    r"|</?(?!TabItem)[A-Z][\w.]*(?:\s(?:\"[^\"]{0,999}\"|[^<>\"]){0,999})?>|</?>",
    re.MULTILINE | re.DOTALL,
)
_CONFLICT = ("<<<<<<<", ">>>>>>>", "|||||||")  # the marks that git leaves where two versions of a line meet


def read_markdown(source: str, name: str, *, is_mdx: bool = False) -> Page:
    """Return the document in ``source``; ``name`` is the title if it has none; MDX has modules and components beside Markdown.

    Raises:
        ReadFailed: it holds no text, or is a note that this program generated, which must not be a source of its own research.
    """
    properties, body = _front_matter(source)
    kind, tags = properties.get("kind"), properties.get("tags")
    if isinstance(kind, str) and isinstance(tags, list) and f"research/{kind}" in tags:
        raise ReadFailed("it is a note that this program generated")
    for _ in range(2 * is_mdx):  # the values of attributes, then the tags that have none left
        body = _MDX.sub(lambda found: found["code"] or ("<Tabs>" if found[0].startswith("<Tabs") else ""), body)
    body, headings = _mended(_without_marks(body))
    html, *notes = pyromark.html(body, options=_OPTIONS).split('<sup class="footnote-definition-label">')
    html += "".join(note.partition("</sup>")[2] for note in notes)  # the reader of HTML gives a note its mark
    if (aliases := _property(properties, "aliases")) and "/" not in aliases:  # those of Hugo are addresses
        html = f"<p>Also known as: {escape(aliases)}.</p>{html}"
    titles = [text for level, text in headings if level == "H1"]
    if name.casefold().startswith(_POOR_NAMES) or not any(map(str.isalpha, name)):
        titles += [text for _, text in headings]
    title = _property(properties, "title") or squash(next(iter(titles), "")) or name
    published = next((found for key in ("date", "published", "created") if (found := _property(properties, key))), "")
    document = read_html(f"<title>{escape(title)}</title><body>{html}", title, all_is_content=True)
    author = _property(properties, "author") or _property(properties, "authors")
    language = (_property(properties, "lang") or _property(properties, "language"))[:2].lower()
    return replace(document, media_type="text/markdown", author=author, published=published, language=language, notices=())


def _mended(source: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the source with what CommonMark reads as something else than its writer meant changed, and its headings.

    A heading is its level and text; one that opens the document has the level "H1".
    """
    data = source.encode("utf-8", "replace")
    headings: list[tuple[str, str]] = []
    edits: list[tuple[int, int, bytes]] = []  # from, to, what stands there instead
    inside = ""  # the kind of block that is open, if it matters
    block = image = -1  # where the latest block of HTML began, and where the latest image ends
    for number, (event, place) in enumerate(pyromark.events_with_range(data.decode(), options=_OPTIONS)):
        kind, value = cast(tuple[str, Any], next(iter(event.items())) if isinstance(event, dict) else (event, ""))
        start, end = place["start"], place["end"]
        written = data[start:end]
        if kind in ("Start", "End"):
            what, about = next(iter(value.items())) if isinstance(value, dict) else (value, {})
            inside = what if kind == "Start" and what in ("Heading", "CodeBlock") else "" if what == inside else inside
            if what == "HtmlBlock" and kind == "Start":
                block = start
            elif what == "Heading" and kind == "Start":
                headings.append(("H1" if number == 0 else about["level"], ""))
            elif what == "Image" and "WikiLink" not in about.get("link_type", ""):
                image = end
            elif what in ("Link", "Image") and kind == "Start" and "WikiLink" in about["link_type"]:
                note, _, part = about["dest_url"].partition("#")
                names = (note, "" if part.startswith("^") else part.replace("#", " > "))
                if what == "Image":  # it shows another document
                    edits.append((start, end, b""))
                elif not about["link_type"]["WikiLink"]["has_pothole"]:
                    edits.append((start, end, " > ".join(name for name in names if name).encode()))
        elif inside == "Heading" and kind in ("Text", "Code", "InlineMath") and start >= image:
            headings[-1] = (headings[-1][0], headings[-1][1] + value)
        elif kind == "InlineHtml" or (kind == "Html" and start == block):
            name = value.strip().lstrip("</").split(">")[0].split()
            if name and name[0][0].isalpha() and name[0].rstrip("/").lower() not in ELEMENTS:
                edits.append((start + written.find(b"<"),) * 2 + (b"\\",))  # vector<int>
        elif kind == "Text" and not inside and written.count(b"==") % 2 == 0 and b" == " not in written:
            edits.append((start, end, written.replace(b"==", b"")))  # Obsidian's highlighting
        elif kind == "TaskListMarker":
            edits.append((start, end, ("☑" if value else "☐").encode()))
        elif kind == "InlineMath" and (data[start - 1 : start].isalnum() or data[end : end + 1].isdigit()):
            edits += [(start, start, b"\\"), (end - 1, end - 1, b"\\")]  # from US$5 to A$6
    parts, at = [], 0
    for start, end, instead in sorted(edits):
        if start >= at:
            parts += [data[at:start], instead]
            at = end
    return b"".join([*parts, data[at:]]).decode(), headings


def _front_matter(source: str) -> tuple[dict[str, Any], str]:
    """Return the properties at the beginning of ``source`` and what follows them."""
    source = source.lstrip("\n")
    mark = source[:3]
    lines = source[:_LONGEST_FRONT_MATTER].split("\n")
    ends = ("---", "...") if mark == "---" else ("+++",)
    if mark not in ("---", "+++") or lines[0].strip() != mark:
        return {}, source
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    if not end:
        return {}, source
    head, body = "\n".join(lines[1:end]), source[sum(len(line) + 1 for line in lines[: end + 1]) :]
    try:
        found = tomllib.loads(head) if mark == "+++" else yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        # A title with a colon breaks the whole of it: then each line is a name and its value.
        pairs = (line.partition(":" if mark == "---" else "=") for line in lines[1:end] if line[:1].isalpha())
        found = {key.strip().lower(): value.strip(" \"'[]") for key, _, value in pairs}
    return (found, body) if isinstance(found, dict) else ({}, source if mark == "---" and not head.strip() else body)


def _property(properties: dict[str, Any], key: str) -> str:
    value = properties.get(key)
    if isinstance(value, list):
        return ", ".join(squash(str(entry)) for entry in value if isinstance(entry, str | int | float))
    if isinstance(value, date):
        return value.isoformat()[:10]
    return squash(str(value)) if isinstance(value, str | int | float) else ""


def _without_marks(source: str) -> str:
    """Return the source without what no reader of the page sees: comments of Obsidian, tags and attributes of site generators.

    The lines of code fences stay as they are. A comment that is never closed is none; ``%%`` inside a word or number is a sign.
    """
    kept: list[str] = []
    fence, comment = "", -1  # the index in ``kept`` at which an open comment began
    boxes: list[int] = []  # the columns of the marks of open boxes
    myst: list[str] = []  # the fences of its open boxes, which hold no code
    keys = () if "</tab" in source.lower() else ("<tab>", "<tabs>")  # no tab ends: the line is the name of a key, or text
    for line in source.split("\n"):
        column = len(line) - len(line.lstrip(" "))
        while boxes and line.strip() and column < boxes[-1] + 4:
            boxes.pop()
        line = line[min(column, 4 * len(boxes)) :]
        bare = line.strip()
        mark = bare[: len(bare) - len(bare.lstrip(bare[:1]))] if bare[:1] in ("`", "~") else ""
        name, _, title = bare[len(mark) :].partition("}")  # "```{note} Its title"
        if not fence and len(mark) > 2 and name[:1] == "{" and name[1:] in BOXES:
            myst.append(mark)
            kept += ["", title.strip(), ""]
        elif not fence and myst and bare == myst[-1]:
            kept.append("")
            myst.pop()
        elif fence or (len(mark) > 2 and comment < 0 and "`" not in bare[len(mark) :]):
            fence = ("" if bare == mark and mark.startswith(fence) else fence) if fence else mark
            kept.append(line)
        elif bare in ("{:toc}", "{: toc}", "[TOC]", "[[_TOC_]]"):
            kept = kept[:-1] if bare[0] == "{" else kept  # an item that stands for the table of contents
        elif line == "=======" or (line.startswith(_CONFLICT) and line[7:8] in ("", " ")) or bare == ":::":
            kept.append("")
        elif bare.startswith(":::"):  # "::: tip Its title", ":::note[Its title]", "::: {.note}"
            title = bare.strip(": ").partition("{")[0]
            kept += ["", title[title.find("[") + 1 : -1] if title.endswith("]") else title.partition(" ")[2], ""]
        elif comment < 0 and bare.partition(" ")[0] in _BOXES and bare[-1] in "'\"abcdefghijklmnopqrstuvwxyz":
            boxes.append(column)
            title = bare.partition(" ")[2]
            title = title[title.find(title[-1]) + 1 : -1] if title[-1] in "'\"" else title
            kept += ["", f"{line[: len(line) - len(line.lstrip())]}{title}", ""]
        elif comment >= 0 and bare.endswith("%%"):
            kept, comment = kept[:comment], -1
        elif comment < 0 and bare.startswith("%%") and not bare.endswith("%%", 2):
            comment = len(kept)
            kept.append(line)
        else:
            is_tab = _TAB.match(bare) and bare.lower() not in keys
            line = _GENERATOR_TAG.sub("", _TAB.sub(_tab_label, line) if is_tab else line.rstrip())
            before, mark, name = line.rpartition("^")  # Obsidian's name of a paragraph, at its end
            if (
                mark
                and before[-1:] in ("", " ", "\t")
                and len(name) > 1
                and not name.isdecimal()
                and name.replace("-", "").isalnum()
            ):
                line = before.rstrip()
            quoted, mark, callout = line.partition("[!")  # "> [!note|right]- Its title"
            if mark and ">" in quoted and not quoted.strip("> ") and "]" in callout:
                line = quoted + callout.partition("]")[2].lstrip("+- ")
            kept.append(_without_comments(line) if comment < 0 and 0 < line.count("%%") < 1_000 else line)
    return "\n".join(kept)


def _tab_label(tag: re.Match[str]) -> str:
    """Return a tab's label as a paragraph, set in as its tag is; of other tags an empty line. A key's name, <Tab>, stays."""
    rest = tag.string[tag.end() :].strip()
    if tag[0].lower() == "<tab>" and (tag.string[tag.start() - 1 : tag.start()] == "`" or (rest and "</tab" not in rest.lower())):
        return tag[0]
    indent = tag.string[: len(tag.string) - len(tag.string.lstrip())]
    names = dict(_TEXT_OF_TAG.findall(tag[3] or "")) if tag[2].lower() != "tabs" else {}
    return f"\n\n{indent}{next((names[key] for key in _LABELS if key in names), '')}\n\n{indent}"


def _without_comments(line: str) -> str:
    """Return a line without ``%%comments%%`` that open after a blank and close before one; code spans stay."""
    kept, *parts = line.split("%%")
    while parts:
        opens = kept[-1:] in ("", " ", "\t") and kept.count("`") % 2 == 0
        if opens and len(parts) > 1 and parts[1][:1] in ("", " ", "\t", ".", ","):
            kept, parts = kept + parts[1], parts[2:]
        else:
            kept, parts = f"{kept}%%{parts[0]}", parts[1:]
    return kept
