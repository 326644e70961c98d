"""``Draft``, the HTML of a note while it is read with the data that other pages need of it, and the render rules that fill it.

All text is escaped; links lead to the web, to mail or into the vault. Quotes of sources are filled in later: behind a paragraph
that is the first to cite some, the HTML has a placeholder of NUL and a number, which no note can contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.site.obsidian_syntax import Wikilink
from pipeline.site.paths import (
    IMAGES,
    LISTS,
    Places,
    block_anchor,
    encoded,
    file_of,
    fragment,
    heading_anchor,
    key_of,
    list_page,
    page_of,
    quote_anchor,
    stem_of,
    suffix_of,
    tag_list,
    whole,
)

_MARK = re.compile("\0(\\d+)\0")
_WEB = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)
_FILE = "file:///"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\d+|\w))")  # TeX's signs for what stands higher or lower
_RANK = {"^": "sup", "_": "sub"}
_SIZE = re.compile(r"(\d{1,4})(?:x(\d{1,4}))?")
_OUTSIDE = 'class="external" rel="noopener noreferrer nofollow"'
# A table scrolls by itself on a narrow page, so it must be a stop of the keyboard.
TABLE = '<div class="table-wrap" role="group" aria-label="Table" tabindex="0">'
Env = MutableMapping[str, Any]
Rule = Callable[[Sequence[Token], int, Any, Env], str]


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation: the number shown, the source note's path, the quote's block id, and the quote's id on the citing page."""

    number: str
    path: str
    block: str
    anchor: str


class Around(NamedTuple):
    """What a source's note says around a quote: the sentences beside it, who confirms or disputes it, its place on the web."""

    before: str = ""
    after: str = ""
    standing: str = ""
    there: str = ""


@dataclass(slots=True)
class Draft:
    """The data of a note, complete when the note is read.

    ``at_hand``: citations lead to the quotes at the end of the same page. ``links`` are the paths of the files that the note
    leads to; ``names`` maps each name in a link that is no whole path to the path it means now, or "". ``asides`` are the
    citations that belong to each placeholder.
    """

    path: str
    root: str
    places: Places
    at_hand: bool = False
    html: str = ""
    heading: str = ""
    heading_text: str = ""
    summary: str = ""
    first: str = ""
    asides: list[tuple[Cite, ...]] = field(default_factory=list)
    toc: list[tuple[str, str]] = field(default_factory=list)
    links: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    around: dict[str, Around] = field(default_factory=dict)
    cites: dict[tuple[str, str], Cite] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def find(self, target: str) -> str:
        """Return the path that a wikilink leads to, "" if it is broken; record the result."""
        path = self.places.find(target, self.path)
        self.link(path)
        self.name(key_of(target), path)
        return path

    def find_relative(self, target: str) -> str:
        """Return the path that a Markdown link leads to, "" if it is broken; record the result."""
        path = self.places.find_relative(target, self.path)
        self.link(path)
        self.name(key_of(whole(target, self.path)), path)
        self.name(key_of(target).rpartition("/")[2], path)
        return path

    def name(self, key: str, path: str) -> None:
        """Record the path that a name means, unless the name is that whole path."""
        if key and key != key_of(path):
            self.names[key] = path

    def link(self, path: str) -> None:
        """Record that the note links to ``path``."""
        if path and path != self.path:
            self.links.add(path)

    def cite(self, number: str, path: str, block: str) -> Cite:
        """Return the citation of a quote; the same quote has one place on the page."""
        self.link(path)
        if (path, block) not in self.cites:
            anchor = self.unique(quote_anchor(block))
            self.cites[path, block] = Cite(number, path, block, anchor)
        return self.cites[path, block]

    def unique(self, anchor: str) -> str:
        """Return ``anchor``, with a number appended if the page has it already."""
        name, number = anchor, 1
        while name in self.anchors:
            number += 1
            name = f"{anchor}-{number}"
        self.anchors.add(name)
        return name

    def aside(self, cites: tuple[Cite, ...]) -> str:
        """Add a place for quotes; return its placeholder."""
        self.asides.append(cites)
        return f"\0{len(self.asides) - 1}\0"

    def parts(self) -> list[str | tuple[Cite, ...]]:
        """Return the HTML in pieces, with the places for quotes between them."""
        pieces = _MARK.split(self.html)
        return [self.asides[int(piece)] if number % 2 else piece for number, piece in enumerate(pieces)]


def _is_link(url: str) -> bool:
    """Web and mail addresses, places in the vault, and files of the reader's own, of which a page shows the words alone."""
    return bool(_WEB.fullmatch(url)) or url.startswith(_FILE) or not _SCHEME.match(url)


def use(md: MarkdownIt) -> None:
    """Add these render rules to ``md``."""
    # Web and mail addresses may be followed, and places in the vault: no scheme, no host.
    md.validateLink = _is_link  # type: ignore[method-assign]
    rules: dict[str, Rule] = md.renderer.rules  # type: ignore[attr-defined]
    rules |= {
        "wikilink": _wikilink,
        "embed": _embed,
        "image": _image,
        "tag": _tag,
        "math": _math,
        "link_open": _link_open,
        "link_close": lambda tokens, number, *_: f"</{tokens[number].tag}>",
        "fence": _fence,
        "table_open": lambda tokens, number, *_: f"{TABLE}\n{opening('table', dir=str(tokens[number].attrs.get('dir', '')))}\n",
        "table_close": lambda *_: "</table>\n</div>\n",
        "th_open": _cell,
        "td_open": _cell,
        "callout_open": _callout_open,
        "callout_close": lambda tokens, number, *_: f"</div>\n</{'details' if tokens[number].meta['fold'] else 'div'}>\n",
        "callout_title_open": _callout_title_open,
        "callout_title_close": lambda tokens, number, *_: f'</{_title_tag(tokens[number])}>\n<div class="callout-body">\n',
        "list_item_open": _item,
    }


def opening(tag: str, attributes: str = "", **more: str) -> str:
    """Return a start tag; values of ``more`` are escaped, and left out when empty.

    An ``_`` within a name becomes ``-``, one at its end goes.
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in more.items() if value)
    return f"<{tag}{' ' + attributes if attributes else ''}{given}>"


def href_of(root: str, path: str, place: str = "", *, own: str = "") -> str:
    """Return the address of a file of the vault, "" if the site does not have it.

    ``root`` leads from the page to the top; ``own`` is the path of the page's own note. A base leads to the list of its kind.
    """
    block = place.startswith("^")
    anchor = fragment(block_anchor(place[1:]) if block else heading_anchor(place.rpartition("#")[2])) if place else ""
    if path == own and anchor:
        return anchor
    suffix = suffix_of(path)
    if suffix == ".md":
        return root + encoded(page_of(path)) + anchor
    if suffix == ".base":
        listed = stem_of(path).removesuffix(".base")
        return root + list_page(listed) if listed in LISTS else ""
    return root + encoded(file_of(path)) if suffix in IMAGES else ""


def _wikilink(tokens: Sequence[Token], number: int, _options: Any, env: Env) -> str:
    draft: Draft = env["draft"]
    link: Wikilink = tokens[number].meta["link"]
    path = draft.find(link.target)
    if path and link.number:
        return _citation(draft, tokens[number], path)
    href = href_of(draft.root, path, link.place, own=draft.path) if path else ""
    return _internal(href, link.shown) if href or not path else f'<span class="internal">{escape(link.shown)}</span>'


def _internal(href: str, words: str) -> str:
    if not href:
        return f'<span class="internal broken">{escape(words)}</span>'
    return f'<a class="internal" href="{escape(href)}">{escape(words)}</a>'


def _citation(draft: Draft, token: Token, path: str) -> str:
    """A number. The first to cite a quote has an id, for the way back."""
    link: Wikilink = token.meta["link"]
    first, href = "", href_of(draft.root, path, link.place, own=draft.path)
    if draft.at_hand:
        known = (path, link.block) in draft.cites
        anchor = draft.cite(link.number, path, link.block).anchor
        href, first = fragment(anchor), "" if known else f' id="from-{escape(anchor)}"'
    return f'<sup class="cite"{first}><a href="{escape(href)}" aria-label="Source {link.sign}">{link.sign}</a></sup>'


def _embed(tokens: Sequence[Token], number: int, _options: Any, env: Env) -> str:
    draft: Draft = env["draft"]
    token = tokens[number]
    link: Wikilink = token.meta["link"]
    path = draft.find(link.target)
    if path and suffix_of(path) in IMAGES:
        return _figure(draft, path, link.words, token.block)
    return _internal(href_of(draft.root, path, link.place, own=draft.path) if path else "", link.shown)


def _image(tokens: Sequence[Token], number: int, _options: Any, env: Env) -> str:
    """A Markdown image: shown if it lies in the vault; an address elsewhere is a link, so that nothing is fetched by reading."""
    draft: Draft = env["draft"]
    token = tokens[number]
    source = str(token.attrs.get("src", ""))
    words = token.content or source
    if _WEB.fullmatch(source):
        return f'<a {_OUTSIDE} href="{escape(source)}">{escape(words)}</a>'
    path = draft.find_relative(source)
    if path and suffix_of(path) in IMAGES:
        return _figure(draft, path, token.content, token.block)
    return _internal("", words)


def _figure(draft: Draft, path: str, words: str, alone: bool) -> str:
    size = _SIZE.fullmatch(words)
    alt = stem_of(path).rpartition(".")[0].replace("-", " ") if size or not words else words
    sizes = {"width": size[1], "height": size[2] or ""} if size else {}
    image = opening("img", src=draft.root + encoded(file_of(path)), alt=alt, loading="lazy", **sizes)
    return f'<figure class="embed image">{image}</figure>\n' if alone else image


def _math(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    """A formula as it is written, but for what stands above or below the line."""
    shown = _SCRIPT.sub(lambda at: f"<{_RANK[at[1]]}>{at[2] or at[3]}</{_RANK[at[1]]}>", escape(tokens[number].content))
    return f'<span class="math">{shown}</span>'


def _tag(tokens: Sequence[Token], number: int, _options: Any, env: Env) -> str:
    draft: Draft = env["draft"]
    tag = tokens[number].content
    draft.tags.add(tag)
    return f'<a class="tag" href="{escape(draft.root + encoded(list_page(tag_list(tag))))}">#{escape(tag)}</a>'


def _link_open(tokens: Sequence[Token], number: int, _options: Any, env: Env) -> str:
    draft: Draft = env["draft"]
    token = tokens[number]
    href = str(token.attrs.get("href", ""))
    if _WEB.fullmatch(href):
        return f'<a {_OUTSIDE} href="{escape(href)}">'
    target, _, place = href.partition("#")
    path = "" if href.startswith(_FILE) else draft.find_relative(target) if target else draft.path
    inside = href_of(draft.root, path, place, own=draft.path) if path else ""
    if not inside:
        closing = (token for token in tokens[number:] if token.type == "link_close" and token.level == tokens[number].level)
        next(closing).tag = "span"
        return "<span>" if href.startswith(_FILE) else '<span class="internal broken">'
    return f'<a class="internal" href="{escape(inside)}">'


def _fence(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    token = tokens[number]
    return f"{opening('pre', **_id(token))}<code>{escape(token.content)}</code></pre>\n"


def _id(token: Token) -> dict[str, str]:
    return {"id": str(token.attrs["id"])} if "id" in token.attrs else {}


def _cell(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    """A cell; its alignment as a class, because the pages' policy allows no style in the page."""
    token = tokens[number]
    aligned = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return opening(token.tag, class_=f"align-{aligned}" if aligned else "")


def _callout_open(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    token = tokens[number]
    folds = token.meta["fold"]
    attributes = 'class="callout"' + (" open" if folds == "+" else "")
    return opening("details" if folds else "div", attributes, data_callout=token.meta["kind"], **_id(token)) + "\n"


def _callout_title_open(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    title = "" if tokens[number + 1].content else escape(str(tokens[number].meta["kind"]).capitalize())
    return f'<{_title_tag(tokens[number])} class="callout-title">{title}'


def _title_tag(token: Token) -> str:
    return "summary" if token.meta["fold"] else "p"


def _item(tokens: Sequence[Token], number: int, _options: Any, _env: Env) -> str:
    token = tokens[number]
    if "checked" not in token.meta:
        return opening("li", **_id(token))
    label = "done" if token.meta["checked"] else "to do"
    box = opening("input", "disabled checked" if token.meta["checked"] else "disabled", type="checkbox", aria_label=label)
    return opening("li", class_="task", **_id(token)) + box + " "
