"""``Record``: a file of the vault as the site read it. ``read_into`` fills a note's from its Markdown.

All text is escaped; links lead to the web, to mail or into the vault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from pipeline.site import paths
from pipeline.site.markdown_tree import Block, Item, Items, Span, Wikilink, plain, tree, wikilink
from pipeline.text.translations import ENGLISH, in_all_languages


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation: the number shown, the source note's path, the quote's block id, and the quote's id on the citing page."""

    number: str
    path: str
    block: str
    anchor: str


@dataclass(slots=True)
class Record:
    """A file of the vault as the site read it. Of what is no note only ``path`` and ``kind`` say anything.

    What lists and other pages need of it is kept between builds: ``created`` is ISO 8601 or ""; ``facts`` are short texts such
    as ``5 sources``. ``links`` are the paths of the files that the note leads to; ``names`` maps each name in a link that is no
    whole path to the path it means now, or "". ``quoted`` are the paths of the notes whose blocks it shows; ``blocks`` has the
    words of each block with an id, and the address that opens the web page at them, or "". ``place`` says where a source is and
    of when it is, as far as its note knows.

    Its own page alone needs what follows; there is no ``html`` where it was not read by this build.
    """

    path: str
    kind: str
    title: str
    digest: str
    created: str = ""
    status: str = ""
    description: str = ""
    facts: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    links: dict[str, None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    quoted: list[str] = field(default_factory=list)
    blocks: dict[str, tuple[str, str]] = field(default_factory=dict)
    place: str = ""
    html: str = ""
    heading: str = ""
    toc: list[tuple[str, str]] = field(default_factory=list)
    cites: dict[tuple[str, str], Cite] = field(default_factory=dict)
    properties: list[tuple[str, list[str]]] = field(default_factory=list)
    lang: str = ENGLISH

    @property
    def date(self) -> str:
        """The day, ``2026-11-21`` or ""."""
        return self.created[:10]

    @property
    def label(self) -> str:
        """What stands before the title where no page shows the status: ``Not found: `` or ""."""
        return "Not found: " if self.kind == "report" and self.status == NOT_FOUND else ""

    def packed(self) -> str:
        """Return what is kept of it as one text, of which ``unpacked`` makes it again."""
        return json.dumps([getattr(self, name) for name in _KEPT], ensure_ascii=False)


_KEPT = Record.__slots__[: Record.__slots__.index("html")]


def unpacked(packed: str) -> Record:
    """Return the record that ``packed`` made one text of."""
    return Record(*json.loads(packed))


def href_of(root: str, path: str, place: str = "", *, own: str = "") -> str:
    """Return the address of a file of the vault, "" if the site does not have it.

    ``root`` leads from the page to the top; ``own`` is the path of the page's own note. A base leads to the list of its kind.
    """
    named = place if place.startswith("^") else paths.heading_anchor(place.rpartition("#")[2])
    anchor = paths.fragment(named) if place else ""
    if path == own and anchor:
        return anchor
    suffix = paths.suffix_of(path)
    if suffix == ".md":
        return root + paths.encoded(paths.page_of(path)) + anchor
    if suffix == ".base":
        listed = paths.stem_of(path).removesuffix(".base")
        return root + paths.list_page(listed) if listed in paths.LISTS else ""
    return root + paths.encoded(paths.file_of(path)) if suffix in paths.IMAGES else ""


NOT_FOUND = "not-found"  # the status of a report that is none: the sources do not answer
EARLIER = "earlier"  # a report that a newer one on the same question supersedes: it has lists of its own
LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")  # in a property
_QUOTATION_MARKS = "“”„\"' "
_PLACE = "— "  # what begins the line below a passage that says where it is from
_TO_TEXT = "#:~:text="  # in an address that opens a page at a quote
_SUMMARY, _NO_ANSWER = "abstract", "question"  # callouts that say what a note comes to; questions have other titles too
# Letters of the scripts that are written from right to left, Hebrew and Arabic among them (Unicode's blocks for them).
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OBSIDIAN_ONLY = ("mermaid", "base")  # fences
_NOT_FOUND = in_all_languages("Not found")
_WEB = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)  # what may be followed
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}")  # what leads out of the vault
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\d+|\w))")  # TeX's signs for what stands higher or lower
_RANK = {"^": "sup", "_": "sub"}
_SIZE = re.compile(r"(\d{1,4})(?:x(\d{1,4}))?")  # of an image, as Obsidian has it
_OUTSIDE = 'class="external" rel="noopener noreferrer nofollow"'
# A table scrolls by itself on a narrow page, so it must be a stop of the keyboard.
_TABLE = '<div class="table-wrap" role="group" aria-label="Table" tabindex="0">'
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_DIRECTED = _HEADINGS | {"p", "ul", "ol", "table"}
Line = tuple[str, Items, bool]  # words, what they are made of, and whether they stand in a quote


def read_into(note: Record, text: str, places: paths.Places, root: str) -> str:
    """Fill ``note`` from its text (without its properties), and the links in these; return the words of the text.

    A title and a description that its properties have stay. ``root`` leads from its page to the top of the site.
    """
    blocks = list(_shown(tree(text)))
    page = _Page(note, places, root, "auto" if _RIGHT_TO_LEFT.search(text) else "")
    if blocks and blocks[0].tag == "h1":
        title = blocks.pop(0)
        note.title, note.heading = note.title or plain(title.items), page.inline(title.items)
    first = ""
    for block in blocks:
        first = first or (plain(block.items) if block.tag != "callout" else "")
        list(page.describe(block, top=True))
    note.description = note.description or page.summary or first
    for inside in LINK.findall(" ".join(value for _, values in note.properties for value in values)):
        page.find(wikilink(inside).target)
    for block in blocks:
        note.html += page.block(block)
    note.quoted = sorted({cite.path for cite in note.cites.values()})
    return "\n".join(page.text)


def _shown(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks without comments and what only Obsidian draws, and without sections that hold nothing else."""
    gone = [block.tag == "comment" or (block.tag == "pre" and block.value in _OBSIDIAN_ONLY) for block in blocks]
    for number, block in enumerate(blocks):
        if gone[number]:
            continue
        if block.tag in _HEADINGS and number + 1 < len(blocks) and gone[number + 1]:
            following = next((one for one, out in zip(blocks[number:][1:], gone[number:][1:], strict=True) if not out), None)
            if following is None or following.tag == "hr" or (following.tag in _HEADINGS and following.tag <= block.tag):
                continue
        yield block


class _Page:
    """Writes the blocks of one note. ``dir`` is the direction that each has: ``auto`` if some are from right to left, else ""."""

    def __init__(self, note: Record, places: paths.Places, root: str, direction: str) -> None:
        self._note, self._places, self._root, self._dir = note, places, root, direction
        # Citations lead to the quotes at the end of the page. A report of passages has these in its text already.
        self._at_hand = note.kind in ("report", EARLIER) and note.status != "passages"
        self.summary, self.text, self._anchors = "", list[str](), set[str]()

    def _found(self, path: str, *names: str) -> str:
        """The path that a link leads to, "" if it is broken. The note keeps it, and which path each name means."""
        if path and path != self._note.path:
            self._note.links[path] = None
        self._note.names |= {name: path for name in names if name and name != paths.key_of(path)}
        return path

    def find(self, target: str) -> str:
        """Return the path that a wikilink leads to."""
        return self._found(self._places.find(target, self._note.path), paths.key_of(target))

    def _relative(self, target: str) -> str:
        """The path that a Markdown link leads to."""
        own, name = self._note.path, paths.key_of(target).rpartition("/")[2]
        return self._found(self._places.find_relative(target, own), paths.key_of(paths.whole(target, own)), name)

    def _unique(self, anchor: str) -> str:
        """An anchor, with a number appended if the page has it already."""
        name, number = anchor, 1
        while name in self._anchors:
            number += 1
            name = f"{anchor}-{number}"
        self._anchors.add(name)
        return name

    def describe(self, block: Block, *, top: bool = False, quoted: bool = False) -> Iterator[Line]:
        """Note the words of a block, its id, and what can be quoted of it; yield its lines."""
        note, lines = self._note, list[Line]()
        quoted = quoted or block.tag == "blockquote"
        if block.tag in _HEADINGS:
            block.anchor = self._unique(paths.heading_anchor(plain(block.items)))
            note.toc += [(plain(block.items), block.anchor)] if top and block.tag == "h2" else []
        elif block.id:
            block.anchor = self._unique(f"^{block.id}")
        if block.items or block.code:
            items = block.items if block.tag not in {"th", "td"} else []  # cells alone describe nothing
            lines.append((plain(block.items) or block.code, items, quoted))
            self.text.append(lines[0][0])
        for part in block.blocks:
            if part.tag != "text" or not block.mark:  # what a box says is no part of the text
                lines += self.describe(part, quoted=quoted)
        if block.tag == "callout":
            title = plain(block.items)
            if not self.summary and (block.value == _SUMMARY or (block.value == _NO_ANSWER and title in _NOT_FOUND)):
                said = (words for words, items, _ in lines[bool(block.items) :] if items and not words.startswith(_PLACE))
                self.summary = " ".join(said)
        if block.id:
            quotes = [words for words, _, within in lines if within]
            quotes = quotes or [words for words, *_ in lines if words.startswith("“") and words.endswith("”")]
            quote = " ".join(quotes or [words for words, *_ in lines]).strip(_QUOTATION_MARKS)
            spans = (item for _, items, _ in lines for item in items if isinstance(item, Span))
            note.blocks[block.id] = quote, next((span.address for span in spans if _TO_TEXT in span.address), "")
        yield from lines

    def block(self, block: Block) -> str:
        """Return a block as HTML."""
        tag, inside = block.tag, self.inline(block.items)
        parts = "".join(map(self.block, block.blocks))
        given = {"id": block.anchor, "dir": self._dir if tag in _DIRECTED else ""}
        if tag in {"text", "comment"}:
            return inside if tag == "text" else ""
        if tag == "hr":
            return "<hr>\n"
        if tag == "p" and inside.startswith("<img") and inside.count("<") == 1:  # an image that is all of its paragraph
            return f'<figure class="embed image">{inside}</figure>\n'
        if tag == "callout":
            outer, title = ("details", "summary") if block.mark else ("div", "p")
            folds = 'class="callout" open' if block.mark == "+" else 'class="callout"'
            head = f'<{title} class="callout-title">{inside or escape(block.value.capitalize())}</{title}>'
            start = _opening(outer, folds, data_callout=block.value, **given)
            return f'{start}\n{head}\n<div class="callout-body">\n{parts}</div>\n</{outer}>\n'
        if tag == "pre":
            inside = f"<code>{escape(block.code)}</code>"
        elif tag == "li" and block.mark:
            given["class_"], label = "task", "done" if block.mark == "x" else "to do"
            checked = "disabled checked" if block.mark == "x" else "disabled"
            inside = _opening("input", checked, type="checkbox", aria_label=label) + " "
        elif tag == "ol" and block.value != "1":
            given["start"] = block.value
        elif tag in {"th", "td"} and block.value:
            given["class_"] = f"align-{block.value}"
        gap = "\n" if block.blocks and tag != "li" else ""
        made = f"{_opening(tag, **given)}{gap}{inside}{parts}</{tag}>\n"
        return f"{_TABLE}\n{made}</div>\n" if tag == "table" else made

    def inline(self, items: Items) -> str:
        """Return running text as HTML."""
        return "".join(map(self._item, items))

    def _item(self, item: Item) -> str:
        if isinstance(item, str):
            return escape(item.replace("\0", ""), quote=False).replace("\n", "<br>\n")
        if isinstance(item, Wikilink):
            return self._wikilink(item)
        if isinstance(item, Span):
            made = {"a": self._link, "img": self._image}.get(item.tag)
            return made(item) if made else f"<{item.tag}>{self.inline(item.items)}</{item.tag}>"
        shown = escape(item.content)
        if item.kind == "code":
            return f"<code>{shown}</code>"
        if item.kind == "math":  # a formula as it is written, but for what stands above or below the line
            ranked = _SCRIPT.sub(lambda at: f"<{_RANK[at[1]]}>{at[2] or at[3]}</{_RANK[at[1]]}>", shown)
            return f'<span class="math">{ranked}</span>'
        self._note.tags.append(item.content)
        listed = paths.encoded(paths.list_page(paths.tag_list(item.content)))
        return f'<a class="tag" href="{escape(self._root + listed)}">#{shown}</a>'

    def _wikilink(self, link: Wikilink) -> str:
        note, path = self._note, self.find(link.target)
        if link.embed and path and paths.is_image(path):
            return self._figure(path, link.words)
        href = href_of(self._root, path, link.place, own=note.path) if path else ""
        if not path or not link.number or link.embed:
            shown = escape(link.shown)
            return _internal(href, shown) if href or not path else f'<span class="internal">{shown}</span>'
        first = ""  # the first to cite a quote has an id, for the way back
        if self._at_hand:
            key = (path, link.block)
            if key not in note.cites:  # the same quote has one place on the page
                note.cites[key] = Cite(link.number, *key, self._unique(f"quote-{link.block}"))
                first = f' id="from-{escape(note.cites[key].anchor)}"'
            href = paths.fragment(note.cites[key].anchor)
        return f'<sup class="cite"{first}><a href="{escape(href)}" aria-label="Source {link.sign}">{link.sign}</a></sup>'

    def _link(self, link: Span) -> str:
        """A link to the web, to mail or into the vault; of a file of the reader's own, and any other scheme, the words alone."""
        own, href, words = self._note.path, link.address, self.inline(link.items)
        if _WEB.fullmatch(href):
            return f'<a {_OUTSIDE} href="{escape(href)}">{words}</a>'
        if _SCHEME.match(href):
            return f"<span>{words}</span>"
        target, _, place = href.partition("#")
        path = self._relative(target) if target else own
        inside = href_of(self._root, path, place, own=own) if path else ""
        return _internal(inside, words)

    def _image(self, image: Span) -> str:
        """A Markdown image: shown if it lies in the vault; an address elsewhere is a link: nothing is fetched by reading."""
        source, alt = image.address, plain(image.items)
        if _WEB.fullmatch(source):
            return f'<a {_OUTSIDE} href="{escape(source)}">{escape(alt or source)}</a>'
        path = "" if _SCHEME.match(source) else self._relative(source)
        return self._figure(path, alt) if path and paths.is_image(path) else _internal("", escape(alt or source))

    def _figure(self, path: str, words: str) -> str:
        size = _SIZE.fullmatch(words)
        alt = paths.stem_of(path).rpartition(".")[0].replace("-", " ") if size or not words else words
        sizes = {"width": size[1], "height": size[2] or ""} if size else {}
        return _opening("img", src=self._root + paths.encoded(paths.file_of(path)), alt=alt, loading="lazy", **sizes)


def _internal(href: str, words: str) -> str:
    return f'<a class="internal" href="{escape(href)}">{words}</a>' if href else f'<span class="internal broken">{words}</span>'


def _opening(tag: str, attributes: str = "", **more: str) -> str:
    """A start tag; values of ``more`` are escaped, and left out when empty.

    An ``_`` within a name becomes ``-``, one at its end goes.
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in more.items() if value)
    return f"<{tag}{' ' + attributes if attributes else ''}{given}>"
