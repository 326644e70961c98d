"""HTML → page: every block in order, judged by what it is made of and not by its class names.

One walk turns elements into blocks and notes of each how much of it is links and whether it holds a sentence. Then menus, banners
and lists of links around the content are left out, and counted; a block that holds a sentence never is. Hidden text stays and is
marked; text of no size or of the colour of the paper is left out, because nobody has ever seen it.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from pipeline.documents.formulas import formula
from pipeline.documents.page import Document, Losses, PageText, squash, usage_notices
from pipeline.errors import ReadFailed
from pipeline.text.words import word_count

MAX_DEPTH = 1_000
MAX_ATTRIBUTES = 500
_DEEPEST = 150  # elements nested deeper are read as plain text, so that the walk may recurse
_NEVER_NAMES = (
    "-comment _comment !-- head title meta link noscript template iframe object canvas svg audio video select option "
    "datalist textarea input colgroup col rp style !doctype -document-type"
)
_NEVER = frozenset(_NEVER_NAMES.split())
_BLOCKS_NAMES = (
    "div section article main body blockquote ul ol dl dd li figure figcaption details summary address center fieldset hr p "
    "header form table thead tbody tfoot tr td th caption html menu hgroup search nav aside footer dialog legend pre dt h1 "
    "h2 h3 h4 h5 h6"
)
_BLOCKS = frozenset(_BLOCKS_NAMES.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LANDMARKS = {
    "nav": "menu", "navigation": "menu", "menu": "menu", "menubar": "menu", "search": "menu", "toolbar": "menu",
    "doc-toc": "menu", "footer": "menu", "contentinfo": "menu",
    "header": "banner", "banner": "banner", "aside": "aside", "complementary": "aside",
    "form": "aside", "dialog": "aside", "alertdialog": "aside",
}  # fmt: skip
_REGIONS = frozenset(("div", "section", "article", "main"))
_GENERIC_IDS = frozenset(("body", "content", "main", "page", "root", "app", "container", "wrapper", "document"))
_SENTENCE_ENDS = frozenset(".!?:;…。！？؟।։።")
_SENTENCE, _LONG = 5, 12  # words that are not links: with a full stop, without
_MOSTLY = 0.5  # the share of links in a menu's text
_MOST_NOTE_WORDS = 150
_LONG_DEFINITION = 60
_WIDEST, _LONGEST_SPAN = 200, 1_000
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_LINE_NUMBER = "\ue000"  # a private sign in front of a number that has an element of its own in code
# Tags and attributes are counted before parsing, because the parser's time is quadratic in both; a parser cannot be asked.
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)")
_ATTRIBUTE = re.compile(r"[\s\"'/][^\s\"'/=<>]")
_NOT_CLOSED_NAMES = (
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option "
    "optgroup colgroup rt rp html head body"
)
_NOT_CLOSED = frozenset(_NOT_CLOSED_NAMES.split())
# What stands in a noscript of the head would be put into the body by a parser; in a template it stays where nobody sees it.
_NOSCRIPT = re.compile(r"(</?)noscript\b", re.IGNORECASE)
# The separators between a page's title and its site's name.
_SITE = re.compile(r"\s*[—–|·:»\-]\s")
_POOR_TITLES = frozenset(("index", "untitled", "home", "document", "welcome", "title", ""))
_DATE_NAMES = ("date", "dc.date", "dcterms.date", "article:published_time", "datepublished", "publish-date", "citation_date")


@dataclass(slots=True)
class _Block:
    """A block as it was found. ``linked`` and ``local`` are words in links and in links to this page; ``region`` is an index."""

    kind: str
    text: str
    level: int = 0
    anchor: str = ""
    cells: Sequence[str] = ()
    words: int = 0
    linked: int = 0
    local: int = 0
    region: int = 0
    main: bool = False
    hidden: bool = False

    @property
    def is_sentence(self) -> bool:
        """Whether the words that are not links make a sentence, or several."""
        own = self.words - self.linked
        ends = any(text.rstrip("\"'”»)] ")[-1:] in _SENTENCE_ENDS for text in (self.cells or (self.text,)))
        return self.kind == "code" or (self.kind != "heading" and (own >= _LONG or (own >= _SENTENCE and ends)))

    @property
    def is_links(self) -> bool:
        """Whether it is mostly links."""
        return self.linked > _MOSTLY * self.words


def read_html(source: str, name: str, *, all_is_content: bool = False) -> Document:
    """Return the document in the HTML text ``source``; ``name`` is its title if it has none.

    ``all_is_content`` is said of HTML that was made from a document without menus.

    Raises:
        ReadFailed: the document would take too long to parse, or holds no text.
    """
    refuse_costly_markup(source)
    tree = LexborHTMLParser(_NOSCRIPT.sub(r"\1template", source))
    _style_elements(tree)
    walker = _Walker(tree)
    if tree.body is not None:
        walker.walk(tree.body)
    blocks, dropped = (walker.blocks, Counter[str]()) if all_is_content else _judged(walker.blocks, walker.regions)
    page = PageText()
    _write(page, blocks)
    if page.empty:
        empty = "it is an empty shell that JavaScript would fill" if tree.css_first("script") is not None else "it holds no text"
        raise ReadFailed("it holds no text other than navigation" if walker.blocks else empty)
    stored = sum(block.words for block in blocks)
    dropped += walker.dropped
    meta = _meta(tree)
    declared = squash(node.text(deep=True)) if (node := tree.css_first("title")) is not None else ""
    title = _title(declared, page.headings[:5]) or name
    published, author = _byline(tree, meta)
    html = tree.css_first("html")
    return Document(
        title, page.rendered(title), "text/html", author, published,
        language=((html.attributes.get("lang") or "") if html is not None else "").partition("-")[0].lower()[:8],
        notices=tuple(dict.fromkeys(one for key, value in meta.items() for one in usage_notices(key, value))),
        losses=Losses(stored + dropped.total(), stored, dict(sorted(dropped.items()))),
    )  # fmt: skip


def refuse_costly_markup(source: str) -> None:
    """Check, before parsing, that no element has too many attributes and none is nested too deep.

    Raises:
        ReadFailed: the markup exceeds ``MAX_DEPTH`` or ``MAX_ATTRIBUTES``; parsing it could take minutes.
    """
    depth = 0
    opened: dict[str, int] = {}
    for closing, raw, attributes in _TAG.findall(source):
        name = raw.lower()
        if len(attributes) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(attributes)) > MAX_ATTRIBUTES:
            raise ReadFailed(f"an element has more than {MAX_ATTRIBUTES} attributes")
        if name in _NOT_CLOSED or attributes.endswith("/"):
            continue
        step = -1 if closing else 1
        if step > 0 or opened.get(name, 0):
            opened[name] = opened.get(name, 0) + step
            depth += step
        if depth > MAX_DEPTH:
            raise ReadFailed(f"its elements are nested more than {MAX_DEPTH} levels deep")


# -- what is seen ---------------------------------------------------------------------------------------------------------------


def _style_elements(tree: LexborHTMLParser) -> None:
    """Write the declarations of the page's own style sheets that hide something into the ``style`` of what they hide."""
    sheets = "".join(node.text(deep=True) for node in tree.css("style"))[:200_000]
    depth, start, found, selector = 0, 0, 0, ""
    for at, sign in enumerate(sheets):
        if sign == "{":
            depth, selector, start = depth + 1, sheets[start:at] if depth == 0 else "@", at + 1
        elif sign == "}":
            style = sheets[start:at]
            if depth == 1 and not selector.lstrip().startswith("@") and _sight(style) and found < 300:
                found += 1
                _apply(tree, selector.rpartition("*/")[2].strip(), style)
            depth, start = max(0, depth - 1), at + 1


def _apply(tree: LexborHTMLParser, selector: str, style: str) -> None:
    try:
        nodes = tree.css(selector)
    except (SelectolaxError, ValueError):
        return
    for node in nodes:
        if node.tag not in ("html", "body", "main", "article"):
            node.attrs["style"] = f"{style};{node.attributes.get('style') or ''}"


def _sight(style: str) -> str:
    """Return "hidden" if these declarations hide an element that may be shown, "unseen" if nobody can ever see it, else ""."""
    if ":" not in style:
        return ""
    said = {
        key.strip(): value.split("!")[0].strip() for key, _, value in (one.partition(":") for one in style.lower().split(";"))
    }
    size = _number(said.get("font-size", "") or (said.get("font", "").split("/")[0].split() or [""])[0])
    boxes = [_number(said.get(side, "")) for side in ("height", "width", "max-height", "max-width")]
    shifts = [_number(said.get(side, "")) for side in ("text-indent", "left", "top", "right")]
    colour = said.get("color", "").replace(" ", "")
    white = colour in ("white", "#fff", "#ffffff", "rgb(255,255,255)") and not any(key.startswith("background") for key in said)
    clip = said.get("clip", "") + said.get("clip-path", "")
    if (
        ((size is not None and size <= 1 and not said.get("font-size", "").endswith(("em", "rem"))) or size == 0)
        or 0 in boxes or any(shift is not None and shift <= -100 for shift in shifts)
        or colour == "transparent" or (colour.startswith("rgba(") and _number(colour[:-1].rpartition(",")[2]) == 0) or white
        or clip.startswith(("rect(0", "rect(1px", "inset(50%", "inset(100%", "circle(0"))
        or said.get("transform", "").replace(" ", "") == "scale(0)"
    ):  # fmt: skip
        return "unseen"
    hides = (
        said.get("display") == "none" or said.get("visibility") in ("hidden", "collapse") or _number(said.get("opacity", "")) == 0
    )
    return "hidden" if hides else ""


def _number(value: str) -> float | None:
    try:
        return float(value.rstrip("abcdefghijklmnopqrstuvwxyz%"))
    except ValueError:
        return None


# -- elements to blocks ---------------------------------------------------------------------------------------------------------


class _Walker:
    """Walks one document in order and collects its blocks. ``regions`` are the kinds of the landmarks; the first is the page."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self.blocks: list[_Block] = []
        self.regions: list[str] = [""]
        self.dropped: Counter[str] = Counter()
        self._tree = tree
        self._mains = frozenset(("main",)) if tree.css_first("main, [role=main]") is not None else frozenset(("article",))
        self._parts: list[str] = []
        self._flat = 0  # inside a heading, a term or a cell blocks are only words
        self._links: list[tuple[str, int]] = []  # address and start of the open links
        self._linked = self._local = 0
        self._region, self._main, self._hidden = 0, False, False
        self._item = False  # the next text opens a list item
        self._ids: list[str] = []  # of the open regions; "" once a heading has used it
        self._target = ""  # the id of the empty element just before: <a name="x"></a>
        self._section, self._terms = (
            1,
            list[bool](),
        )  # level of the latest heading; whether the terms of each open list are headings
        self._lead = ""  # terms whose definition follows
        self._trail: list[tuple[int, str]] = []
        self._after_terms = False
        self._tabs: deque[str] = deque()
        self._notes: list[tuple[str, LexborNode]] = []
        self._noted: set[int] = set()
        self._by_id: dict[str, LexborNode] = {}

    def walk(self, root: LexborNode) -> None:
        """Collect all blocks of ``root``."""
        self._node(root, 0)
        self._flush()
        self._write_lead()

    def _node(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._parts.append(node.text_content or "")
            return
        if tag in _NEVER:
            return
        attributes = node.attributes
        if tag == "script":
            if (attributes.get("type") or "").startswith("math/tex"):
                self._parts.append(f" {node.text(deep=True)} ")
            return
        style = attributes.get("style")
        sight = _sight(style) if style else ""
        role = (attributes.get("role") or "").strip().lower()
        if sight == "unseen" or node.mem_id in self._noted:
            self.dropped["never seen" if sight else "moved"] += word_count(node.text(deep=True)) if sight else 0
            return
        if depth > _DEEPEST:
            self._parts.append(f" {node.text(deep=True, separator=' ')} ")
            return
        if self._is_control(tag, role, node, attributes):
            return
        hides = sight == "hidden" or "hidden" in attributes
        hidden = self._hidden
        if tag in _BLOCKS or role == "tabpanel":
            self._hidden = hidden or (hides and role != "tabpanel")
            self._block(tag, role, node, attributes, depth)
        elif not self._inline(tag, node, attributes, depth):
            if hides:
                self._flush()
            self._hidden = hidden or hides
            for child in node.iter(include_text=True):
                self._node(child, depth + 1)
            if hides:
                self._flush()
        self._hidden = hidden

    def _is_control(self, tag: str, role: str, node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
        """Return whether an element is something to press, and no text. A tab's name is kept for its panel."""
        if role == "tab":
            self._tabs.append(squash(node.text(deep=True)))
            return True
        if role == "tablist":
            self._tabs.clear()
        pressed = tag == "button" or role == "button"
        if not pressed or self._flat or "aria-expanded" in attributes or "aria-controls" in attributes:
            return False
        text = squash(node.text(deep=True))
        if _Block("paragraph", text, words=word_count(text)).is_sentence:
            return False
        self.dropped["controls"] += word_count(text)
        return True

    def _block(self, tag: str, role: str, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> None:
        if self._flat:
            self._parts.append(" ")
            for child in node.iter(include_text=True):
                self._node(child, depth + 1)
            self._parts.append(" ")
            return
        self._flush()
        before = self._region, self._main, self._item
        if landmark := _LANDMARKS.get(role) or _LANDMARKS.get(tag):
            self.regions.append(landmark)
            self._region = len(self.regions) - 1
        self._main = self._main or tag in self._mains or role == "main"
        if role == "tabpanel" and self._tabs and (label := self._tabs.popleft()):
            self._emit("paragraph", label)
        if tag in _HEADINGS:
            self._heading(_HEADINGS[tag], node, depth)
        elif tag == "pre":
            self._code(node)
        elif tag == "dt":
            self._term(node, attributes, depth)
        elif tag == "table" and _holds_data(node):
            self._rows(node, depth)
        else:
            self._children(tag, node, attributes, depth)
        self._flush()
        self._region, self._main, self._item = before

    def _children(self, tag: str, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> None:
        if tag == "dl":
            self._terms.append(_deserves_headings(node))
        self._item = tag == "li" or (self._item and tag not in ("ul", "ol", "dl", "table"))
        if tag in _REGIONS:
            own = attributes.get("id") or ""
            self._ids.append("" if own in _GENERIC_IDS else own)
        for child in node.iter(include_text=True):
            self._node(child, depth + 1)
        self._flush()
        if tag in _REGIONS:
            self._ids.pop()
        if tag in ("dd", "dl"):
            self._write_lead()
        if tag == "dl":
            self._after_terms = self._terms.pop() or self._after_terms

    def _inline(self, tag: str, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> bool:
        """Write an inline element that is more than its text; return False if it is not."""
        if tag in ("a", "span") and node.child is None:
            self._target = attributes.get("id") or attributes.get("name") or ""
        if tag == "br":
            self._parts.append("\n")
        elif tag == "math":
            self._parts.append(f" {formula(node)} ")
        elif tag == "img":
            self._image(node, attributes)
        elif tag in ("sup", "sub"):
            self._raised(tag, node, depth)
        elif tag == "a" and (attributes.get("href") or ""):
            self._link(node, attributes.get("href") or "", attributes.get("role") == "doc-noteref", depth)
        elif tag in ("del", "s", "strike"):
            if text := self._words_of(node, depth):
                self._parts.append(f"[deleted: {text}] ")
        elif tag == "rt":
            if text := self._words_of(node, depth):
                self._parts.append(f"({text})")
        elif tag == "q":
            self._parts += ["“", self._words_of(node, depth), "”"]
        else:
            # A formula's picture for the eye stands beside its MathML.
            around = node.parent
            return attributes.get("aria-hidden") == "true" and around is not None and around.css_first("math, script") is not None
        return True

    def _image(self, node: LexborNode, attributes: Mapping[str, str | None]) -> None:
        alt = squash(attributes.get("alt") or "")
        around = node.parent.parent if node.parent is not None else None
        beside_formula = around is not None and around.css_first("math") is not None
        if alt and " " in alt and not beside_formula and "." not in alt.split()[-1][1:-1]:
            self._parts.append(f" [image: {alt}] ")

    def _link(self, node: LexborNode, address: str, is_note: bool, depth: int) -> None:
        text = node.text(deep=True).strip()
        if address.startswith("#"):
            if text and not any(map(str.isalnum, text)):
                return  # the sign that links to a heading, or back from a note
            if (is_note or node.css_first("sup") is not None) and self._is_note(text, address):
                return
        start = len(self._parts)
        for child in node.iter(include_text=True):
            self._node(child, depth + 1)
        words = word_count("".join(self._parts[start:]))
        self._linked += words
        self._local += words if address.startswith("#") else 0

    def _is_note(self, mark: str, address: str) -> bool:
        """Return whether a link leads to a note of this page; if so, it is written behind the block that refers to it."""
        self._by_id = self._by_id or {node.attributes.get("id") or "": node for node in self._tree.css("[id]")}
        target = self._by_id.get(address[1:])
        while target is not None and target.tag in ("a", "sup", "span", "b"):
            target = target.parent
        if target is None or word_count(target.text(deep=True)) > _MOST_NOTE_WORDS or target.tag == "body":
            return False
        if target.mem_id not in self._noted:
            self._notes.append((mark.strip("[]() "), target))
        return True

    def _raised(self, tag: str, node: LexborNode, depth: int) -> None:
        link = node.css_first("a[href^='#']")
        text = squash(node.text(deep=True))
        if link is not None and self._is_note(text, link.attributes.get("href") or ""):
            return
        text = self._words_of(node, depth)
        before = next((part for part in reversed(self._parts) if part), "")[-1:]
        follows = before.isalnum() or before in (")", "]")
        if tag == "sup" and ((not any(map(str.isalnum, text)) and text.strip("+-−'′")) or text.startswith("[")):
            return  # the mark of a note that is not linked
        if tag == "sub" and follows and text and not text.strip("0123456789+-−=()"):
            self._parts.append(text.translate(_LOWERED))
        elif not follows or not text or (tag == "sup" and len(text) > 1 and text.isalpha()):
            self._parts.append(text)  # 1st, M.lle
        else:
            simple = text.strip("+-−").isdigit() or text.strip("+-−").isalpha() or not any(map(str.isalnum, text))
            self._parts.append(f"{'^' if tag == 'sup' else '_'}{text if simple else f'({text})'}")

    def _words_of(self, node: LexborNode, depth: int) -> str:
        """Return the text of an element as one line."""
        parts, self._parts = self._parts, []
        self._flat += 1
        for child in node.iter(include_text=True):
            self._node(child, depth + 1)
        self._flat -= 1
        text, self._parts = squash("".join(self._parts)), parts
        return text

    def _flush(self) -> None:
        if self._parts and not self._flat:
            text, self._parts = squash("".join(self._parts)), []
            if text:
                self._target = ""
                self._text(text)
        while self._notes and not self._flat:
            mark, target = self._notes.pop(0)
            if target.mem_id not in self._noted:
                note = self._words_of(target, 0)
                self._noted.add(target.mem_id)
                self._emit("paragraph", note if note.startswith(("[", mark)) else f"[{mark}] {note}")

    def _text(self, text: str) -> None:
        self._repeat_heading()
        if self._lead:
            text = f"{self._lead}: {text}"
        self._emit("item" if self._lead or self._item else "paragraph", text)
        self._lead, self._item = "", False

    def _emit(self, kind: str, text: str, level: int = 0, anchor: str = "", cells: Sequence[str] = ()) -> None:
        words = word_count(" ".join(cells) if cells else text)
        linked, local = min(self._linked, words), self._local
        self._linked = self._local = 0
        if words:
            self.blocks.append(
                _Block(kind, text, level, anchor, cells, words, linked, local, self._region, self._main, self._hidden)
            )

    def _heading(self, level: int, node: LexborNode, depth: int) -> None:
        self._write_lead()
        text, anchor = self._words_of(node, depth), self._anchor_of(node)
        if text:
            self._section = level
            self._write_heading(level, text, anchor)

    def _write_heading(self, level: int, text: str, anchor: str) -> None:
        self._trail = [entry for entry in self._trail if entry[0] < level] + [(level, text)]
        self._after_terms = False
        self._emit("heading", text, level, anchor)

    def _repeat_heading(self) -> None:
        """After a list of terms, repeat the heading of the section around it, so that its text is not read as the last term's."""
        if self._after_terms:
            self._after_terms = False
            level = self._section + len(self._terms)
            if self._trail and self._trail[-1][0] > level:
                self._trail = [entry for entry in self._trail if entry[0] <= level]
                if self._trail:
                    self._emit("repeated", self._trail[-1][1], self._trail[-1][0])

    def _anchor_of(self, heading: LexborNode) -> str:
        """Return the id for ``heading``: its own, else its region's, one inside it, or one just before it."""
        inside = heading.css_first("a[name], a[id], span[id]")
        region = next((own for own in reversed(self._ids) if own), "")
        self._ids = [""] * len(self._ids)
        target, self._target = self._target, ""
        return _id_of(heading) or region or (_id_of(inside) if inside is not None else "") or target

    def _term(self, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> None:
        text, own = self._words_of(node, depth), (attributes.get("id") or "").strip()
        if text and (own or (self._terms and self._terms[-1])):
            self._write_lead()
            self._write_heading(self._section + max(1, len(self._terms)), text, own)
        elif text:
            self._lead = f"{self._lead}, {text.rstrip(': ')}" if self._lead else text.rstrip(": ")

    def _write_lead(self) -> None:
        """Write the terms that no definition followed."""
        if self._lead:
            lead, self._lead = self._lead, ""
            self._repeat_heading()
            self._emit("item", lead)

    def _code(self, node: LexborNode) -> None:
        """Write code without the numbers of its lines: numbers in elements of their own that count up."""
        self._write_lead()
        self._repeat_heading()
        self._linked = 0
        text = "".join(_code_parts(node, 0))
        lines = text.split("\n")
        marked = [line.lstrip(" ") for line in lines if line.strip(f" {_LINE_NUMBER}")]
        numbers = [line[1:].split(_LINE_NUMBER)[0].strip() for line in marked if line.startswith(_LINE_NUMBER)]
        plain = [line.strip() for line in lines if line.strip()]
        own_column = _count_up([one.strip(_LINE_NUMBER) for one in plain])
        if own_column and node.parent is not None and node.parent.tag in ("td", "th", "div"):
            self.dropped["line numbers"] += len(plain)
            return
        if len(numbers) == len(marked) and _count_up(numbers):
            self.dropped["line numbers"] += len(numbers)
            text = "\n".join(line.lstrip(" ")[1:].partition(_LINE_NUMBER)[2] if _LINE_NUMBER in line else line for line in lines)
        self._emit("code", text.replace(_LINE_NUMBER, ""))

    def _rows(self, table: LexborNode, depth: int) -> None:
        self._write_lead()
        self._repeat_heading()
        caption = table.css_first("caption")
        if caption is not None:
            self._emit("paragraph", self._words_of(caption, depth))
        spans: dict[int, tuple[str, int]] = {}  # column → text of a cell that spans rows, and how many more rows it fills
        for row in sorted(table.css("tr"), key=lambda row: 0 if row.parent is not None and row.parent.tag == "thead" else 1):
            cells: list[str] = []
            below: dict[int, tuple[str, int]] = {}
            for cell in (*(cell for cell in row.iter() if cell.tag in ("td", "th")), None):
                while len(cells) in spans:
                    text, left = spans[len(cells)]
                    below |= {len(cells): (text, left - 1)} if left > 1 else {}
                    cells.append(text)
                if cell is None:
                    break
                text, high = self._words_of(cell, depth), _span(cell, "rowspan")
                for number in range(min(_span(cell, "colspan"), _WIDEST - len(cells))):
                    here = text if number == 0 or cell.tag == "th" else ""
                    below |= {len(cells): (here, high - 1)} if high > 1 else {}
                    cells.append(here)
            spans = below
            self._emit("row", "", cells=cells)


def _code_parts(node: LexborNode, depth: int) -> Iterator[str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield child.text_content or ""
        elif child.tag == "br":
            yield "\n"
        elif depth > _DEEPEST or (child.tag != "code" and (text := child.text(deep=True).strip()).isdecimal()):
            text = child.text(deep=True)
            yield f"{_LINE_NUMBER}{text.rstrip()}{_LINE_NUMBER}{text[len(text.rstrip()) :]}" if depth <= _DEEPEST else text
        elif child.tag not in _NEVER and child.tag != "script":
            yield from _code_parts(child, depth + 1)


def _count_up(numbers: Sequence[str]) -> bool:
    return len(numbers) > 1 and all(one.isdecimal() and len(one) < 8 for one in numbers) and (
        [int(one) - int(numbers[0]) for one in numbers] == list(range(len(numbers)))
    )  # fmt: skip


def _holds_data(table: LexborNode) -> bool:
    return table.css_first("pre, h1, h2, h3, h4") is None and len(table.css("table")) == 1


def _deserves_headings(terms: LexborNode) -> bool:
    """Return whether a list's terms become headings: one of them has an id, or a description that is long or has several blocks.

    All terms of a list are treated alike: a short item below another term's heading would seem to belong to that term.
    """
    children = list(terms.iter())
    if any(child.tag == "dt" and _id_of(child) for child in children):
        return True
    described = [child for child in children if child.tag == "dd"]
    return any(
        len(part.css("p, pre, li, table, dl")) > 1 or word_count(part.text(deep=True)) > _LONG_DEFINITION for part in described
    )


def _id_of(node: LexborNode) -> str:
    return (node.attributes.get("id") or node.attributes.get("name") or "").strip()


def _span(cell: LexborNode, name: str) -> int:
    said = (cell.attributes.get(name) or "1").strip()
    return max(1, min(int(said), _LONGEST_SPAN)) if said.isdecimal() and len(said) < 5 else 1


# -- what is content ------------------------------------------------------------------------------------------------------------


def _judged(blocks: Sequence[_Block], regions: Sequence[str]) -> tuple[list[_Block], Counter[str]]:
    """Return the blocks that are content, and the words of the others by reason."""
    reasons = [_reason_by_place(block, regions, telling) for telling in [_telling(blocks)] for block in blocks]
    if all(reason for reason, block in zip(reasons, blocks, strict=True) if block.kind not in ("heading", "repeated")):
        reasons = ["menu" if regions[block.region] == "menu" else "" for block in blocks]
    first = _drop_links_around(blocks, reasons)
    dropped: Counter[str] = Counter()
    kept: list[_Block] = []
    for at, block in enumerate(blocks):
        if block.kind == "heading" and not reasons[at] and _is_bare(blocks, reasons, at, first):
            reasons[at] = "links"
        if reasons[at]:
            dropped[reasons[at]] += block.words
        else:
            kept.append(block)
    return kept, dropped


def _telling(blocks: Sequence[_Block]) -> tuple[set[int], bool]:
    """Return the regions that hold a sentence, or the page's own heading, and whether there is a main element with text."""
    told = {block.region for block in blocks if block.is_sentence or (block.level == 1 and not block.is_links)}
    return told, any(block.main and block.kind != "heading" for block in blocks)


def _reason_by_place(block: _Block, regions: Sequence[str], telling: tuple[set[int], bool]) -> str:
    told, has_main = telling
    if block.is_sentence:
        return ""
    kind = regions[block.region]
    if block.region and (block.region not in told or (kind != "banner" and block.is_links)):
        return "" if kind == "aside" and not block.is_links and (block.main or not has_main) else kind
    return (
        "outside the content"
        if has_main and not block.main and block.kind != "heading" and block.region not in told - {0}
        else ""
    )


def _drop_links_around(blocks: Sequence[_Block], reasons: list[str]) -> int:
    """Give a reason to the links before the first and after the last block of the content, and to its table of contents.

    Return the index of the first block of the content.
    """
    content = [
        at
        for at, block in enumerate(blocks)
        if not reasons[at] and (block.is_sentence or (not block.is_links and (block.level == 1 or block.words > 2)))
    ]
    first, last = (content[0], content[-1]) if content else (0, len(blocks))
    for at, block in enumerate(blocks):
        if not reasons[at] and block.is_links and not block.is_sentence and block.kind not in ("heading", "repeated"):
            if block.local > _MOSTLY * block.words and block.kind == "item":
                reasons[at] = "table of contents"
            elif content and not first <= at <= last and not block.main:
                reasons[at] = "links"
    return first


def _is_bare(blocks: Sequence[_Block], reasons: Sequence[str], at: int, first: int) -> bool:
    """Return whether what stands below a heading was left out, and there was something."""
    below = at + 1
    while below < len(blocks) and blocks[below].kind != "heading" and reasons[below]:
        below += 1
    ends = below == len(blocks) or blocks[below].kind == "heading" or at < first == below
    return below > at + 1 and ends


def _write(page: PageText, blocks: Sequence[_Block]) -> None:
    hidden = False
    for block in blocks:
        mark = "[hidden] " if block.hidden and not hidden else ""
        hidden = block.hidden
        if block.kind in ("heading", "repeated"):
            page.heading(block.level, mark + block.text, block.anchor)
        elif block.kind == "row":
            page.row([mark + block.cells[0], *block.cells[1:]])
        elif block.kind == "code":
            if mark:
                page.paragraph("[hidden]")
            page.code(block.text)
        elif block.kind == "item":
            page.item(mark + block.text)
        else:
            page.paragraph(mark + block.text)


# -- title, date, author --------------------------------------------------------------------------------------------------------


def _meta(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        key = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
        found.setdefault(key, squash(attributes.get("content") or ""))
    return found


def _byline(tree: LexborHTMLParser, meta: Mapping[str, str]) -> tuple[str, str]:
    """Return date and author, as the page's metadata give them."""
    dates, author = [meta.get(name, "") for name in _DATE_NAMES], meta.get("author", "") or meta.get("dc.creator", "")
    for script in tree.css("script[type='application/ld+json']"):
        try:
            said = json.loads(script.text(deep=True))
        except (ValueError, RecursionError):
            continue
        items = _listed(said)
        parts = (part for item in items if isinstance(item, dict) for part in _listed(item.get("@graph")))
        for item in [*items, *parts]:
            if isinstance(item, dict):
                dates.append(str(item.get("datePublished") or ""))
                people = [one.get("name") if isinstance(one, dict) else one for one in _listed(item.get("author"))]
                author = author or ", ".join(squash(one)[:80] for one in people if isinstance(one, str))
    dates += [node.attributes.get("datetime") or "" for node in tree.css("time[datetime]")[:1]]
    return next((date[:10] for date in dates if _is_date(date[:10])), ""), author


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _is_date(text: str) -> bool:
    parts = text.split("-")
    return [len(part) for part in parts] == [4, 2, 2] and all(part.isdecimal() for part in parts)


def _title(declared: str, headings: Sequence[str]) -> str:
    """Return the page's title, without the name of its site or book.

    If a part of the declared title equals a heading, that heading is the title; of several, the one named first. A
    meaningless declared title such as "index" or a number is replaced by the first heading.
    """
    first = headings[0] if headings else ""
    if first and declared.casefold().startswith(first.casefold()) and _SITE.match(declared[len(first) :] + " "):
        return first
    parts = [part.casefold() for part in _SITE.split(declared[:500])]
    known = {heading.casefold(): heading for heading in reversed(headings)}
    own = next((known[part] for part in parts if part in known), "")
    before = declared.casefold().removesuffix(first.casefold()) if first else declared
    if not own and len(before) < len(declared) and before.rstrip()[-1:] in tuple("—–|·:»-"):
        own = first
    poor = declared.casefold() in _POOR_TITLES or declared.startswith("<no title>") or not any(map(str.isalpha, declared))
    poor = poor or declared.lower().endswith((".html", ".htm", ".php", ".md"))
    return own or (first if poor else declared) or declared or first
