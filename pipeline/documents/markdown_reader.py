"""Markdown → page: markdown-it's tokens with the flavours as its plugins, then through the HTML reader.

Front matter is YAML or TOML, also where a careless title breaks it; Obsidian's comments, links and marks, footnotes, definition
lists, admonitions and containers are read as what they mean; template tags of site generators are left out, their content stays.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import date
from functools import cache
from html import escape
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.attrs import attrs_block_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from pipeline.documents.html_reader import read_html
from pipeline.documents.page import Document, squash
from pipeline.errors import ReadFailed

_LONGEST_FRONT_MATTER = 64_000
_HTML_TAGS_NAMES = (
    "a abbr address article aside audio b blockquote body br button caption center cite code col colgroup dd del details "
    "dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd "
    "label li link main map mark math meta nav noscript object ol option p picture pre q rp rt ruby s samp script section "
    "select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time "
    "title tr tt u ul var video wbr"
)
_HTML_TAGS = frozenset(_HTML_TAGS_NAMES.split())
_POOR_NAMES = ("index", "readme", "untitled")
# Tags of template languages (Hugo, Jekyll, Liquid) and attribute lists (kramdown) stand in text that other programs turn into
# pages; no parser knows them all.
_GENERATOR_TAG = re.compile(
    r"\{\{[<%][^\n]{0,500}?[>%]\}\}|\{%-?[^\n]{0,500}?-?%\}"
    r"|(?:(?<=[*_)])|(?<![^ \t])(?=[^{}\n]*\{[^{}\n]*\}\Z))\{:(?:[ \t]|[#.][A-Za-z]|:)[^{}\n]{0,300}\}"
)
_CONFLICT = ("<<<<<<<", ">>>>>>>", "|||||||")  # the marks that git leaves where two versions of a line meet


def read_markdown(source: str, name: str) -> Document:
    """Return the document in ``source``; ``name`` is the title if it has none.

    Raises:
        ReadFailed: it holds no text, or is a note that this program generated, which must not be a source of its own research.
    """
    properties, body = _front_matter(source)
    kind, tags = properties.get("kind"), properties.get("tags")
    if isinstance(kind, str) and isinstance(tags, list) and f"research/{kind}" in tags:
        raise ReadFailed("it is a note that this program generated")
    environment: dict[str, Any] = {}
    tokens = _parser().parse(_without_marks(body), environment)
    for token in tokens:
        _mend(token)
    aliases = _property(properties, "aliases")
    html = (f"<p>Also known as: {escape(aliases)}.</p>" if aliases else "") + _parser().renderer.render(
        tokens, _parser().options, environment
    )
    heads = [at for at, token in enumerate(tokens) if token.type == "heading_open"]
    # The first heading is the title if it opens the document or is of the first level.
    own = next((at for at in heads if tokens[at].tag == "h1"), 0 if heads[:1] == [0] else -1)
    if own < 0 and (name.casefold().startswith(_POOR_NAMES) or not any(map(str.isalpha, name))):
        own = heads[0] if heads else -1
    own_title = squash(_plain(tokens[own + 1])) if own >= 0 else ""
    title = _property(properties, "title") or own_title or name
    published = next((found for key in ("date", "published", "created") if (found := _property(properties, key))), "")
    document = read_html(f"<title>{escape(title)}</title><body>{html}", title, all_is_content=True)
    author = _property(properties, "author") or _property(properties, "authors")
    language = (_property(properties, "lang") or _property(properties, "language"))[:2].lower()
    return replace(document, media_type="text/markdown", author=author, published=published, language=language, notices=())


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin).use(dollarmath_plugin, allow_space=False, allow_digits=False)
    parser.use(admon_plugin).use(attrs_block_plugin)
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    rules: dict[str, Any] = vars(parser.renderer)["rules"]
    rules["math_inline"] = rules["math_inline_double"] = lambda tokens, at, *_: f" {escape(tokens[at].content)} "
    rules["math_block"] = rules["math_block_label"] = lambda tokens, at, *_: f"<p>{escape(tokens[at].content)}</p>"
    rules["image"] = lambda tokens, at, *_: f'<img alt="{escape(tokens[at].content)}">'
    return parser


def _wikilink(state: StateInline, silent: bool) -> bool:
    """Read Obsidian's ``[[note#part|text]]`` as its text; ``![[note]]`` shows another document and has none."""
    start = state.pos + (state.src[state.pos] == "!")
    if not state.src.startswith("[[", start):
        return False
    end = state.src.find("]]", start, start + 700)
    inner = state.src[start + 2 : end]
    if end < 0 or "\n" in inner or "[" in inner:
        return False
    if not silent and start == state.pos:
        target, _, shown = inner.replace("\\|", "|").partition("|")
        note, _, part = target.partition("#")
        names = (note, "" if part.startswith("^") else part.replace("#", " > "))
        state.push("text", "", 0).content = shown or " > ".join(name for name in names if name)
    state.pos = end + 2
    return True


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
        found = {key.strip().lower(): _value(value) for key, _, value in pairs}
    return (found, body) if isinstance(found, dict) else ({}, source if mark == "---" and not head.strip() else body)


def _value(written: str) -> object:
    try:
        value = yaml.safe_load(written)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        value = None
    return written.strip().strip("\"'") if value is None or isinstance(value, dict) else value


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
    for line in source.split("\n"):
        bare = line.strip()
        mark = bare[: len(bare) - len(bare.lstrip(bare[:1]))] if bare[:1] in ("`", "~") else ""
        if fence or (len(mark) > 2 and comment < 0 and "`" not in bare[len(mark) :]):
            fence = ("" if bare == mark and mark.startswith(fence) else fence) if fence else mark
            kept.append(line)
        elif bare in ("{:toc}", "{: toc}", "[TOC]", "[[_TOC_]]"):
            kept = kept[:-1] if bare[0] == "{" else kept  # an item that stands for the table of contents
        elif line == "=======" or (line.startswith(_CONFLICT) and line[7:8] in ("", " ")) or bare == ":::":
            kept.append("")
        elif bare.startswith(":::"):  # "::: tip Its title", ":::note[Its title]", "::: {.note}"
            title = bare.strip(": ").partition("{")[0]
            kept += ["", title[title.find("[") + 1 : -1] if title.endswith("]") else title.partition(" ")[2], ""]
        elif comment >= 0 and bare.endswith("%%"):
            kept, comment = kept[:comment], -1
        elif comment < 0 and bare.startswith("%%") and not bare.endswith("%%", 2):
            comment = len(kept)
            kept.append(line)
        else:
            line = _GENERATOR_TAG.sub("", line.rstrip())
            before, mark, name = line.rpartition("^")  # Obsidian's name of a paragraph, at its end
            if (
                mark
                and before[-1:] in ("", " ", "\t")
                and len(name) > 1
                and not name.isdecimal()
                and name.replace("-", "").isalnum()
            ):
                line = before.rstrip()
            tab = bare.partition(" ")[2] if bare.startswith(("=== ", "===! ", "===+ ")) else ""
            if tab[:1] in ("'", '"') and tab[-1:] == tab[:1]:  # a tab of MkDocs, which is written as its boxes are
                line = f"{line[: len(line) - len(line.lstrip())]}!!! tab {tab}"
            kept.append(_without_comments(line) if comment < 0 and 0 < line.count("%%") < 1_000 else line)
    return "\n".join(kept)


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


def _mend(token: Token) -> None:
    """Change a token that CommonMark reads as something else than its writer meant."""
    for child in token.children or ():
        _mend(child)
    if token.type in ("html_inline", "html_block"):
        name = token.content.strip().lstrip("</").split(">")[0].split()
        if name and name[0][0].isalpha() and name[0].rstrip("/").lower() not in _HTML_TAGS:
            token.type = "text"  # vector<int>: the renderer escapes it
    elif token.type == "text" and token.content.count("==") % 2 == 0 and " == " not in token.content:
        token.content = token.content.replace("==", "")  # Obsidian's highlighting
    elif token.type == "inline" and token.children and token.content.startswith("[!"):
        first = token.children[0]
        _, closed, title = first.content.partition("]")
        first.content = title.lstrip("+- ") if closed else first.content
    elif token.type == "inline" and token.children and token.content[:4].lower() in ("[ ] ", "[x] "):
        token.children[0].content = token.children[0].content[4:]


def _plain(token: Token) -> str:
    return "".join(child.content for child in token.children or () if child.type in ("text", "code_inline", "math_inline"))
