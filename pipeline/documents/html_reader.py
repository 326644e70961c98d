"""HTML → page: every block in order, judged by what it is made of and not by its class names.

One walk turns elements into blocks and notes of each how much of it is links and whether it holds a sentence. Then menus, banners
and lists of links around the content are left out, and counted; a block that holds a sentence never is. Hidden text stays and is
marked; text of no size or of the colour of its ground is left out, because nobody has ever seen it.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from pipeline.documents.page_writer import BlockKind, PageText, row_text, squash, usage_notices
from pipeline.errors import ReadFailed
from pipeline.ports import Page
from pipeline.text.words import word_count

_LONG_TAG, _MOST_ATTRIBUTES = 20_000, 5_000  # characters; words
_DEEPEST = 150  # elements nested deeper are read as plain text, so that the walk may recurse
_MOST_NESTED = 10_000
# Elements that nest: the parser's time is quadratic in how deep they do, and it cannot be asked before.
_NESTING = re.compile(r"<(/?)(?:div|section|article|blockquote|[uod]l|figure|details|center|form|table|nav)\b", re.IGNORECASE)


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_NEVER = _names(
    "-comment _comment !-- head title meta link noscript template iframe object canvas svg audio video select option "
    "datalist textarea input colgroup col rp style !doctype -document-type"
)
_BLOCKS = _names(
    "div section article main body blockquote ul ol dl dd li figure figcaption details summary address center fieldset hr p "
    "header form table thead tbody tfoot tr td th caption html menu hgroup search nav aside footer dialog legend pre dt h1 "
    "h2 h3 h4 h5 h6"
)
_WITHIN = _names(
    "a abbr audio b bdi bdo big br button cite code data del dfn em font i img ins kbd label map mark math output picture q rt "
    "ruby s samp script small source span strike strong sub sup time tt u var wbr"
)
ELEMENTS = _BLOCKS | _NEVER | _WITHIN  # all that HTML has
# What the sources of pictures are called: directives of Sphinx, fences of Markdown, classes of code.
DIAGRAMS = _names("actdiag blockdiag digraph graph graphviz mermaid nwdiag packetdiag plantuml rackdiag seqdiag uml")
# What MyST and reStructuredText call boxes of text.
BOXES = _names("attention caution danger error hint important note seealso tip todo warning")
_BESIDE_CODE = frozenset(("td", "th", "div", "pre"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LANDMARKS = {
    "nav": "menu", "navigation": "menu", "menu": "menu", "menubar": "menu", "search": "menu", "toolbar": "menu",
    "doc-toc": "menu", "footer": "menu", "contentinfo": "menu",
    "header": "banner", "banner": "banner", "aside": "aside", "complementary": "aside",
    "form": "aside", "dialog": "aside", "alertdialog": "aside",
}  # fmt: skip
_WAYS = "link[rel=prev][href], link[rel=previous][href], link[rel=next][href], link[rel=up][href]"
_SENTENCE_ENDS = frozenset(".!?:;…。！？؟।։።")
_SENTENCE, _LONG = 5, 12  # words that are not links: with a full stop, without
_MOSTLY = 0.5  # the share of links in a menu's text
_MOST_NOTE_WORDS = 150
_LONG_DEFINITION = 60
_WIDEST, _LONGEST_SPAN = 200, 1_000
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_NUMBER = "\ue000"  # a private sign around a number that has an element of its own in code
# What stands in a noscript of the head would be put into the body by a parser; in a template it stays where nobody sees it.
_NOSCRIPT = re.compile(r"(</?)noscript\b", re.IGNORECASE)
# The separators between a page's title and its site's name.
_SITE = re.compile(r"\s*[—–|·:»\-]\s")
# What a page has that a server shows in place of another, beside few words.
_BARRIERS = {
    "input[type=password]": "it asks for a log-in",
    "[src*=captcha], [src*=challenge-platform]": "it asks for a captcha",
}
_LITTLE = 25  # words
_POOR_TITLES = frozenset(("index", "untitled", "home", "document", "welcome", "title", ""))
_DATE_NAMES = ("date", "dc.date", "dcterms.date", "article:published_time", "datepublished", "publish-date", "citation_date")


@dataclass(slots=True)
class _Block:
    """A block as it was found. ``linked`` and ``local`` are words in links and in links to this page; ``region`` is an index."""

    kind: BlockKind
    text: str
    level: int
    anchor: str
    linked: int
    local: int
    region: int
    main: bool
    hidden: bool
    words: int = field(init=False)
    is_long: bool = field(init=False)
    is_sentence: bool = field(init=False)

    def __post_init__(self) -> None:
        self.words = word_count(self.text)
        self.linked = min(self.linked, self.words)
        cells = self.text.split(" | ")
        own = max(map(word_count, cells)) - self.linked
        self.is_long = self.kind == "code" or own >= _LONG
        ends = any(cell.rstrip("\"'”»)] ")[-1:] in _SENTENCE_ENDS for cell in cells)
        # The words that are not links make one, or several.
        self.is_sentence = self.kind != "heading" and (self.is_long or (own >= _SENTENCE and ends))

    @property
    def is_links(self) -> bool:
        """Whether it is mostly links."""
        return self.linked > _MOSTLY * self.words


def read_html(source: str, name: str, *, all_is_content: bool = False) -> Page:
    """Return the document in the HTML text ``source``; ``name`` is its title if it has none.

    ``all_is_content`` is said of HTML that was made from a document without menus.

    Raises:
        ReadFailed: elements are nested too deep, one has too many attributes, or the document holds no text.
    """
    depth = 0
    for tag in _NESTING.finditer(source):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _MOST_NESTED:
            raise ReadFailed(f"its elements are nested more than {_MOST_NESTED:,} deep")
    # The parser's time is quadratic in an element's attributes; it cannot be asked for their number.
    if any(len(tag) > _LONG_TAG and sum(map(str.isspace, tag.partition(">")[0])) > _MOST_ATTRIBUTES for tag in source.split("<")):
        raise ReadFailed(f"an element has more than {_MOST_ATTRIBUTES} attributes")
    tree = LexborHTMLParser(_NOSCRIPT.sub(r"\1template", source))
    _style_elements(tree)
    _name_tabs(tree)
    walker = _Walker(tree, name)
    blocks, dropped = (walker.blocks, Counter[str]()) if all_is_content else _judged(walker.blocks, walker.regions)
    page, hidden = PageText(), False
    for block in blocks:
        page.add(block.kind, ("[hidden] " if block.hidden and not hidden else "") + block.text, block.level, block.anchor)
        hidden = block.hidden
    stored = sum(block.words for block in blocks)
    if barrier := next((why for sign, why in _BARRIERS.items() if stored < _LITTLE and tree.css_first(sign) is not None), ""):
        raise ReadFailed(barrier)
    if page.empty:
        empty = "it is an empty shell that JavaScript would fill" if tree.css_first("script") is not None else "it holds no text"
        raise ReadFailed("it holds no text other than navigation" if walker.blocks else empty)
    dropped += walker.dropped
    meta: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        key = node.attributes.get("name") or node.attributes.get("property") or node.attributes.get("itemprop") or ""
        meta.setdefault(key.lower(), squash(node.attributes.get("content") or ""))
    declared, html = tree.css_first("title"), tree.css_first("html")
    title = _title(squash(declared.text(deep=True)) if declared is not None else "", page.headings[:5]) or name
    dates = [
        *(meta.get(name, "") for name in _DATE_NAMES),
        *(node.attributes.get("datetime") or "" for node in tree.css("time")[:1]),
    ]
    shape = str.maketrans("123456789", "000000000")
    published = next((date[:10] for date in dates if date[:10].translate(shape) == "0000-00-00"), "")
    return Page(
        "", title, page.rendered(title), "text/html", meta.get("author", "") or meta.get("dc.creator", ""), published,
        language=((html.attributes.get("lang") or "") if html is not None else "").partition("-")[0].lower()[:8],
        notices=tuple(dict.fromkeys(one for key, value in meta.items() for one in usage_notices(key, value))),
        visible=stored + dropped.total(), stored=stored, dropped=dict(sorted(dropped.items())),
    )  # fmt: skip


# -- what is seen ---------------------------------------------------------------------------------------------------------------


def _name_tabs(tree: LexborHTMLParser) -> None:
    """Write the roles of tabs and panels where labels stand in an element of their own, and as many panels in the next one.

    A page with more than some hundred labels is made to take time: of these the others stay as they are.
    """
    groups = {label.parent.mem_id: label.parent for label in tree.css("label[for]")[:300] if label.parent is not None}
    for group in groups.values():
        beside = group.next
        while beside is not None and not beside.is_element_node:
            beside = beside.next
        labels, panels = [*group.iter()], [*beside.iter()] if beside is not None else []
        if len(labels) == len(panels) > 1 and all(label.tag == "label" for label in labels):
            for label, panel in zip(labels, panels, strict=True):
                label.attrs["role"], panel.attrs["role"] = "tab", "tabpanel"


_Colour = tuple[int, ...]
_WHITE: _Colour = (255, 255, 255)


def _style_elements(tree: LexborHTMLParser) -> None:
    """Write the declarations of the page's own style sheets about sight and colour into the ``style`` of what they are about."""
    sheets = "".join(node.text(deep=True) for node in tree.css("style"))[:200_000]
    depth, start, found, selector = 0, 0, 0, ""
    for at, sign in enumerate(sheets):
        if sign == "{":
            depth, selector, start = depth + 1, sheets[start:at] if depth == 0 else "@", at + 1
        elif sign == "}":
            style = sheets[start:at]
            about = any(word in style for word in ("color", "background")) or _sight(_declared(style), None)
            if depth == 1 and not selector.lstrip().startswith("@") and found < 300 and about:
                found += 1
                try:
                    nodes = tree.css(selector.rpartition("*/")[2].strip())
                except (SelectolaxError, ValueError):
                    nodes = []
                for node in nodes:
                    node.attrs["style"] = f"{style};{node.attributes.get('style') or ''}"
            depth, start = max(0, depth - 1), at + 1


def _declared(style: str) -> dict[str, str]:
    parts = (one.partition(":") for one in style.lower().split(";"))
    return {key.strip(): value.split("!")[0].strip() for key, _, value in parts}


def _sight(said: Mapping[str, str], ground: _Colour | None) -> str:
    """Return "hidden" if these declarations hide an element that may be shown, "unseen" if nobody can ever see it, else ""."""
    font = said.get("font-size", "") or (said.get("font", "").split("/")[0].split() or [""])[0]
    size = _number(font)
    boxes = [_number(said.get(side, "")) for side in ("height", "width", "max-height", "max-width")]
    shifts = [_number(said.get(side, "")) for side in ("text-indent", "left", "top", "right")]
    colour, clip = said.get("color", ""), said.get("clip", "") + said.get("clip-path", "")
    shade = _colour(colour)
    if (
        size == 0 or (size is not None and size <= 1 and font.endswith(("px", "pt")))
        or 0 in boxes or any(shift is not None and shift <= -100 for shift in shifts)
        or colour == "transparent" or (colour.startswith("rgba") and colour.rstrip(") ").endswith((", 0", ",0", "/ 0")))
        or (shade and ground and all(abs(one - other) < 12 for one, other in zip(shade, ground, strict=False)))
        or clip.startswith(("rect(0", "rect(1px", "inset(50%", "inset(100%", "circle(0"))
        or said.get("transform", "").replace(" ", "") == "scale(0)"
    ):  # fmt: skip
        return "unseen"
    hides = said.get("display") == "none" or said.get("visibility") in ("hidden", "collapse") or said.get("opacity") == "0"
    return "hidden" if hides else ""


def _number(value: str) -> float | None:
    try:
        return float(value.rstrip("abcdefghijklmnopqrstuvwxyz%"))
    except ValueError:
        return None


def _colour(value: str) -> _Colour:
    """Return the red, green and blue of a colour; () if it is none that is known."""
    if value.startswith("rgb"):
        parts = [_number(part) for part in value.partition("(")[2].rstrip(")").replace("/", ",").replace(",", " ").split()[:3]]
        return tuple(int(part) for part in parts if part is not None)
    hexes = {"white": "ffffff", "black": "000000"}.get(value, value.removeprefix("#") if value.startswith("#") else "")
    hexes = "".join(2 * digit for digit in hexes) if len(hexes) == 3 else hexes
    is_known = len(hexes) == 6 and all(digit in "0123456789abcdef" for digit in hexes)
    return tuple(bytes.fromhex(hexes)) if is_known else ()


# -- elements to blocks ---------------------------------------------------------------------------------------------------------


class _Walker:
    """Walks one document in order and collects its blocks. ``regions`` are the kinds of the landmarks; the first is the page."""

    def __init__(self, tree: LexborHTMLParser, name: str) -> None:
        self.blocks: list[_Block] = []
        self.regions: list[str] = [""]
        self.dropped: Counter[str] = Counter()
        self._tree, self._file = tree, name.removesuffix(".html")
        self._parts: list[str] = []
        self._flat = 0  # inside a heading, a term or a cell blocks are only words
        self._linked = self._local = 0
        self._region, self._main, self._hidden = 0, False, False
        self._ground: _Colour | None = _WHITE
        self._item = False  # the next text opens a list item
        self._number = ""  # of that item, as it is shown
        self._next: list[int | None] = []  # of each open list, the number of its next item; None: it has no numbers
        self._target = ""  # the latest id since the latest text
        self._ids = {""}  # of what came so far: an <a id="x"/> that nothing ends is repeated in what follows
        self._latest = 1, ""  # level and text of the latest heading
        self._again = (
            False  # a list of terms has ended: the heading before it is repeated, else the text would seem the last term's
        )
        self._terms: list[tuple[bool, tuple[int, str]]] = []  # of each open list: are its terms headings, the heading before it
        self._lead = ""  # terms whose definition follows
        self._tabs: deque[str] = deque()
        self._notes: list[tuple[str, LexborNode]] = []
        self._noted: set[int] = set()
        self._by_id: dict[str, LexborNode] = {}
        # The next, previous and upper page of a manual, as its head names them: a table or list with links to two is no text.
        self._ways = {link.attributes.get("href") for link in tree.css(_WAYS)}
        if tree.body is not None:
            self._node(tree.body, 0)
            self._flush()
            self._emit("item", "")

    def _node(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._parts.append(node.text_content or "")
            return
        tag = tag.rpartition(":")[2]  # a formula's may be m:math
        attributes = node.attributes
        if tag == "script" and (attributes.get("type") or "").startswith("math/tex"):
            self._parts.append(f" {node.text(deep=True)} ")
        if tag in _NEVER or tag == "script" or node.mem_id in self._noted:
            return
        if depth > _DEEPEST:
            self._parts.append(f" {node.text(deep=True, separator=' ')} ")
            return
        before = self._hidden, self._ground
        sight = self._seen(tag, attributes)
        role = (attributes.get("role") or "").strip().lower()
        if sight == "unseen":
            self.dropped["never seen"] += word_count(node.text(deep=True))
        elif not self._is_control(tag, role, node, attributes):
            hides = sight == "hidden" or "hidden" in attributes
            is_block = tag in _BLOCKS or role == "tabpanel"
            if hides and not is_block:
                self._flush()
            self._hidden = self._hidden or (hides and role != "tabpanel")
            if is_block:
                self._block(tag, role, node, depth)
            elif not self._inline(tag, node, attributes, depth):
                self._inside(node, depth)
            if hides and not is_block:
                self._flush()
        self._hidden, self._ground = before

    def _inside(self, node: LexborNode, depth: int) -> None:
        for child in node.iter(include_text=True):
            self._node(child, depth + 1)

    def _seen(self, tag: str, attributes: Mapping[str, str | None]) -> str:
        """Return whether an element is unseen or hidden, and keep the colour of the ground that it lays."""
        style = attributes.get("style") or ""
        if not style and "bgcolor" not in attributes and tag != "font":
            return ""
        said = _declared(style)
        laid = said.get("background-color") or said.get("background") or attributes.get("bgcolor") or ""
        if laid and laid not in ("transparent", "none", "inherit"):
            self._ground = next((found for part in laid.lower().split(" ") if (found := _colour(part))), None)
        if tag == "font":
            said.setdefault("color", (attributes.get("color") or "").lower())
        return "" if tag in ("body", "main", "article") else _sight(said, self._ground)

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
        words = word_count(text)
        if words >= _LONG or (words >= _SENTENCE and text[-1:] in _SENTENCE_ENDS):
            return False
        self.dropped["controls"] += words
        return True

    def _block(self, tag: str, role: str, node: LexborNode, depth: int) -> None:
        if self._flat:
            self._parts.append(" ")
            self._inside(node, depth)
            self._parts.append(" ")
            return
        self._flush()
        before = self._region, self._main, self._item
        landmark = _LANDMARKS.get(role) or _LANDMARKS.get(tag)
        if self._ways and tag in ("table", "ul", "ol") and len(node.css("table, ul, ol")) == 1:
            ways = self._ways & {link.attributes.get("href") for link in node.css("a[href]")}
            landmark = "menu" if len(ways) > 1 else landmark
        if landmark:
            self.regions.append(landmark)
            self._region = len(self.regions) - 1
        self._main = self._main or tag == "main" or role == "main"
        if tag not in _HEADINGS and tag != "dt":
            self._target = self._new_id(node) or self._target
        if role == "tabpanel" and self._tabs and (label := self._tabs.popleft()):
            self._emit("paragraph", label)
        if tag in _HEADINGS:
            inside = [*filter(None, map(self._new_id, node.css("a[name], a[id], span[id]"))), ""]
            anchor = _id_of(node) or self._target or inside[0]
            self._emit("heading", self._words_of(node, depth), _HEADINGS[tag], anchor)
        elif tag in _BESIDE_CODE and _is_gutter(node):
            self.dropped["line numbers"] += word_count(node.text(deep=True, separator=" "))
        elif tag == "pre":
            self._code(node)
        elif tag == "dt":
            text = self._words_of(node, depth)
            if self._terms and self._terms[-1][0]:
                self._emit("heading", text, self._terms[-1][1][0] + 1, _id_of(node))
            elif text:
                self._lead = f"{self._lead}, {text.rstrip(': ')}" if self._lead else text.rstrip(": ")
        elif tag == "table" and not _is_box(node):
            self._rows(node, depth)
        else:
            if tag == "dl":
                # Terms become headings if one has an id, or a description that is long or has several blocks. All of a list are
                # treated alike: a short item below another term's heading would seem to belong to that term.
                headed = any(
                    _id_of(part) if part.tag == "dt"
                    else len(part.css("p, pre, li, table, dl")) > 1 or word_count(part.text(deep=True)) > _LONG_DEFINITION
                    for part in node.iter() if part.tag in ("dt", "dd")
                )  # fmt: skip
                self._terms.append((headed, self._latest))
            self._item = tag == "li" or (self._item and tag not in ("ul", "ol", "dl", "table"))
            if tag in ("ul", "ol"):
                start, kind = node.attributes.get("start") or "1", node.attributes.get("type") or "1"
                is_counted = tag == "ol" and kind == "1" and "reversed" not in node.attributes
                self._next.append(int(start) if is_counted and start.isdecimal() and len(start) < 10 else None)
            elif tag == "li":
                number, own = self._next[-1] if self._next else None, node.attributes.get("value") or ""
                number = int(own) if number is not None and own.isdecimal() and len(own) < 10 else number
                self._number = "" if number is None else f"{number}. "
                self._next[-1:] = [None if number is None else number + 1]
            self._inside(node, depth)
            self._flush()
            if tag in ("ul", "ol"):
                self._next.pop()
            elif tag == "li":
                self._number = ""  # an item without text gives it to no paragraph behind it
            if tag in ("dd", "dl"):
                self._emit("item", "")
            if tag == "dl" and (ended := self._terms.pop())[0]:
                self._again, self._latest = bool(ended[1][1]), ended[1]
        self._flush()
        self._region, self._main, self._item = before

    def _inline(self, tag: str, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> bool:
        """Write an inline element that is more than its text; return False if it is not."""
        if tag in ("a", "span"):
            self._target = self._target if any(part.strip() for part in self._parts) else self._new_id(node) or self._target
        if tag == "br":
            self._parts.append("\n")
        elif tag == "math":
            self._parts.append(f" {_formula(node)} ")
        elif tag == "img":
            alt, around = squash(attributes.get("alt") or ""), node.parent.parent if node.parent is not None else None
            is_formula = around is not None and around.css_first("math") is not None  # which stands beside its picture
            if " " in alt and not is_formula and "." not in alt.split()[-1][1:-1]:
                self._parts.append(f" [image: {alt}] ")
        elif tag in ("sup", "sub"):
            self._raised(tag, node, depth)
        elif tag == "a" and (attributes.get("href") or ""):
            self._link(node, attributes.get("href") or "", attributes.get("role") == "doc-noteref", depth)
        elif tag in ("del", "s", "strike"):
            text = self._words_of(node, depth)
            self._parts.append(f"[deleted: {text}] " if text else "")
        elif tag == "rt":
            text = self._words_of(node, depth)
            self._parts.append(f"({text})" if text else "")
        elif tag == "q":
            self._parts += ["“", self._words_of(node, depth), "”"]
        else:
            # A formula's picture for the eye stands beside its MathML.
            around = node.parent
            return attributes.get("aria-hidden") == "true" and around is not None and around.css_first("math, script") is not None
        return True

    def _link(self, node: LexborNode, address: str, is_note: bool, depth: int) -> None:
        text = node.text(deep=True).strip()
        page, _, part = address.partition("#")
        if page.removesuffix(".html") == self._file and part:
            address = f"#{part}"
        if address.startswith("#"):
            if text and not any(map(str.isalnum, text)):
                return  # the sign that links to a heading, or back from a note
            if (is_note or node.css_first("sup") is not None) and self._is_note(text, address):
                return
        start = len(self._parts)
        self._inside(node, depth)
        words = word_count("".join(self._parts[start:]))
        self._linked += words
        self._local += words if address.startswith("#") else 0

    def _is_note(self, mark: str, address: str) -> bool:
        """Return whether a link leads to a note of this page; if so, it is written behind the block that refers to it."""
        self._by_id = self._by_id or {node.attributes.get("id") or "": node for node in self._tree.css("[id]")}
        target = self._by_id.get(address[1:])
        while target is not None and target.tag in ("a", "sup", "span", "b"):
            target = target.parent
        if target is None or target.tag == "body" or word_count(target.text(deep=True)) > _MOST_NOTE_WORDS:
            return False
        if target.mem_id not in self._noted:
            self._notes.append((mark.strip("[]() "), target))
        return True

    def _raised(self, tag: str, node: LexborNode, depth: int) -> None:
        link = node.css_first("a[href^='#']")
        if link is not None and self._is_note(squash(node.text(deep=True)), link.attributes.get("href") or ""):
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
            simple = text.strip("+-−").isalnum() and (text.isalpha() or not any(map(str.isalpha, text)))
            self._parts.append(f"{'^' if tag == 'sup' else '_'}{text if simple or len(text) == 1 else f'({text})'}")

    def _words_of(self, node: LexborNode, depth: int) -> str:
        """Return the text of an element as one line."""
        parts, self._parts = self._parts, []
        self._flat += 1
        self._inside(node, depth)
        self._flat -= 1
        text, self._parts = squash("".join(self._parts)), parts
        return text

    def _flush(self) -> None:
        """Write the text that was collected, and the notes to it."""
        if self._flat:
            return
        text, self._parts = squash("".join(self._parts)) if self._parts else "", []
        if text:
            lead, self._lead = self._lead, ""
            if lead and self._linked <= word_count(text):  # what stands behind a term says what it is, also if it is a link
                self._linked = self._local = 0
            text, self._number = f"{self._number}{text}", ""
            self._emit("item" if lead or self._item else "paragraph", f"{lead}: {text}" if lead else text)
            self._item = False
        while self._notes:
            mark, target = self._notes.pop(0)
            if target.mem_id not in self._noted:
                note = self._words_of(target, 0)
                self._noted.add(target.mem_id)
                self._emit("paragraph", note if note.startswith(("[", mark)) else f"[{mark}] {note}")

    def _new_id(self, node: LexborNode) -> str:
        if (own := _id_of(node)) in self._ids:
            return ""
        self._ids.add(own)
        return own

    def _emit(self, kind: BlockKind, text: str, level: int = 0, anchor: str = "") -> None:
        """Add a block if it has text; before it the terms that no definition followed, and the heading that is due."""
        if self._lead:
            lead, self._lead = self._lead, ""
            self._emit("item", lead)
        linked, local, self._linked, self._local, self._target = self._linked, self._local, 0, 0, ""
        if text.strip(" |"):
            if kind == "heading":
                self._latest, self._again = (level, text), False
            elif self._again:
                self._emit("heading", self._latest[1], self._latest[0])
            at = self._region, self._main, self._hidden
            self.blocks.append(_Block(kind, text, level, anchor, linked, local, *at))

    def _code(self, node: LexborNode) -> None:
        """Write code without the numbers of its lines (elements of their own that count up); leave out a picture's source."""
        self._linked = 0
        classes = " ".join(one.attributes.get("class") or "" for one in (node, *node.css("code")))
        if any(name.removeprefix("language-").strip("{}") in DIAGRAMS for name in classes.split()):
            return
        text = "".join(_code_parts(node, 0))
        lines = [line.lstrip(" ") for line in text.split("\n") if line.strip(f" {_NUMBER}")]
        numbers = [line[1:].split(_NUMBER)[0].strip() for line in lines if line.startswith(_NUMBER)]
        if 4 * len(numbers) > 3 * len(lines) and _rise(numbers):
            self.dropped["line numbers"] += len(numbers)
            text = "\n".join(line.split(_NUMBER, 2)[-1] for line in text.split("\n") if line.strip())
        self._emit("code", text.replace(_NUMBER, ""))

    def _rows(self, table: LexborNode, depth: int) -> None:
        if (caption := table.css_first("caption")) is not None:
            self._emit("paragraph", self._words_of(caption, depth))
        rows = [row for row in table.css("tr") if row.parent is not None]
        spans: dict[int, tuple[str, int]] = {}  # column → text of a cell that spans rows, and how many more rows it fills
        for row in sorted(rows, key=lambda row: row.parent is None or row.parent.tag != "thead"):
            cells: list[str] = []
            below: dict[int, tuple[str, int]] = {}
            found = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            for cell in (*found, None):
                while len(cells) in spans:
                    text, left = spans[len(cells)]
                    below |= {len(cells): (text, left - 1)} if left > 1 else {}
                    cells.append(text)
                if cell is None:
                    break
                text, high = self._words_of(cell, depth), _span(cell, "rowspan")
                heads = cell.tag == "th" and len(found) > 1
                for number in range(min(_span(cell, "colspan"), _WIDEST - len(cells))):
                    here = text if number == 0 or heads else ""
                    below |= {len(cells): (here, high - 1)} if high > 1 else {}
                    cells.append(here)
            spans = below
            self._emit(*row_text(cells))


def _code_parts(node: LexborNode, depth: int) -> Iterator[str]:
    for child in node.iter(include_text=True):
        tag = child.tag or ""
        if tag == "-text":
            yield child.text_content or ""
        elif tag == "br":
            yield "\n"
        elif depth > _DEEPEST:
            yield child.text(deep=True)
        elif tag != "code" and (text := child.text(deep=True)).strip().isdecimal():
            yield f"{_NUMBER}{text.rstrip()}{_NUMBER}{text[len(text.rstrip()) :]}"
        elif tag not in _NEVER and tag != "script":
            yield from _code_parts(child, depth + 1)
            if tag in _BLOCKS or (tag == "code" and child.next is not None and child.next.tag == "code"):
                yield "\n"


def _is_box(table: LexborNode) -> bool:
    """Return whether a table is there for the looks, as one around code, sections, other tables, or a note beside its sign."""
    if table.css_first("pre, h1, h2, h3, h4") is not None or len(table.css("table")) > 1:
        return True
    rows = [[cell.text(deep=True).strip() for cell in row.css("td, th")] for row in table.css("tr")]
    return any(len(row) > 1 for row in rows) and all(len(list(filter(None, row))) < 2 for row in rows)


def _is_gutter(node: LexborNode) -> bool:
    """Return whether an element holds only the numbers of the lines of the code beside it."""
    start = node.child
    while start is not None and (start.tag != "-text" or not (start.text_content or "").strip()):
        start = start.child if start.child is not None else start.next
    if start is None or node.parent is None or not (start.text_content or "").strip()[0].isdecimal():
        return False
    beside = [one for one in node.parent.iter() if one.mem_id != node.mem_id]
    if node.tag == "pre" and node.parent.tag in ("td", "th") and node.parent.parent is not None:
        beside = [one for one in node.parent.parent.iter() if one.mem_id != node.parent.mem_id]
    coded = any(one.tag in ("pre", "code") or one.css_first("pre, code") is not None for one in beside[:3])
    return coded and _rise(node.text(deep=True, separator="\n").split())


def _rise(numbers: Sequence[str]) -> bool:
    values = [int(one) for one in numbers if one.isdecimal() and len(one) < 8]
    rises = len(values) == len(numbers) > 1 and all(low < high for low, high in pairwise(values))
    return rises and values[-1] - values[0] < 2 * len(values)


def _id_of(node: LexborNode) -> str:
    name = node.attributes.get("name") if node.tag == "a" else ""
    return (node.attributes.get("id") or name or "").strip()


def _span(cell: LexborNode, name: str) -> int:
    said = (cell.attributes.get(name) or "1").strip()
    return max(1, min(int(said), _LONGEST_SPAN)) if said.isdecimal() and len(said) < 5 else 1


# -- formulas -------------------------------------------------------------------------------------------------------------------


_FORMULAS = {
    "mfrac": "{}/{}", "msup": "{}^{}", "mover": "{}^{}", "msub": "{}_{}", "munder": "{}_{}", "msubsup": "{}_{}^{}",
    "munderover": "{}_{}^{}", "mroot": "{}^(1/{})",
}  # fmt: skip


def _formula(math: LexborNode) -> str:
    """Return a ``math`` element as one line."""
    for node in math.css("[encoding]"):
        if _name(node) == "annotation" and "tex" in (node.attributes.get("encoding") or "").lower():
            return " ".join(node.text(deep=True).split())
    said = math.attributes.get("alttext") or ""
    return " ".join((said or _formula_part(math, 0)).split())


def _name(node: LexborNode) -> str:
    """Return an element's name without the prefix that XHTML may give it: ``m:mfrac``."""
    return (node.tag or "").rpartition(":")[2]


def _formula_part(node: LexborNode, depth: int) -> str:
    tag = _name(node)
    if tag == "-text":
        return (node.text_content or "").strip()
    if depth > 60:
        return f" {node.text(deep=True, separator=' ')} "
    parts = [_formula_part(child, depth + 1) for child in node.iter(include_text=tag in ("mi", "mn", "mo", "mtext", "ms"))]
    form, text = _FORMULAS.get(tag, ""), "".join(parts)
    if form.count("{}") == len(parts) > 1:
        return form.format(*map(_group, parts))
    if tag in ("annotation", "annotation-xml", "mphantom"):
        return ""
    if tag in ("mtd", "mspace", "mtr"):
        return f"{text.strip()}; " if tag == "mtr" else f"{text} "
    if tag == "mfenced":
        return f"({', '.join(parts)})"
    return f"√({text})" if tag == "msqrt" else f" {text} " if tag == "mo" and text in "=<>≤≥≈≠∈→+−±" else text


def _group(part: str) -> str:
    part = part.strip()
    simple = len(part) == 1 or part.isalnum() or part.replace(".", "", 1).isdigit()
    return part if simple else f"({part})"


# -- what is content ------------------------------------------------------------------------------------------------------------


def _judged(blocks: Sequence[_Block], regions: Sequence[str]) -> tuple[list[_Block], Counter[str]]:
    """Return the blocks that are content, and the words of the others by reason."""
    told = {block.region for block in blocks if block.is_sentence or (block.level == 1 and not block.is_links)}
    reasons: list[str] = []
    for block in blocks:
        landmark = regions[block.region]
        may_be_text = block.region in told or (block.kind == "row" and landmark != "menu")
        reasons.append("" if block.is_sentence or (may_be_text and not block.is_links) else landmark)
    if all(reason for reason, block in zip(reasons, blocks, strict=True) if block.kind != "heading"):
        reasons = ["menu" if regions[block.region] == "menu" else "" for block in blocks]
    content = [
        at for at, block in enumerate(blocks)
        if not reasons[at] and (block.is_sentence or (not block.is_links and (block.level == 1 or block.words > 2)))
    ]  # fmt: skip
    # The text begins with a heading, a long sentence or what announces a list: a site's slogan may stand before its menu.
    begins = (at for at in content if blocks[at].kind == "heading" or blocks[at].is_long or blocks[at].text.endswith(":"))
    first, last = (next(begins, content[0]), content[-1]) if content else (0, len(blocks))
    for at, block in enumerate(blocks):
        if not reasons[at] and block.is_links and not block.is_sentence and block.kind != "heading":
            alone = sum(one.is_links for one in blocks[max(0, at - 1) : at + 2]) == 1  # it names what is said below it
            if block.local > _MOSTLY * block.words if block.kind == "item" else block.local >= block.words and not alone:
                reasons[at] = "table of contents"
            elif content and not first <= at <= last and not block.main:
                reasons[at] = "links"
    dropped: Counter[str] = Counter()
    kept: list[_Block] = []
    for at, block in enumerate(blocks):
        if block.kind == "heading" and not reasons[at] and reasons[at + 1 : at + 2] > [""]:  # what stands below it may have gone
            below = next((one for one in range(at + 1, len(blocks)) if blocks[one].kind == "heading" or not reasons[one]), None)
            reasons[at] = "links" if below is None or 0 < blocks[below].level <= block.level or at < first == below else ""
        if reasons[at]:
            dropped[reasons[at]] += block.words
        else:
            kept.append(block)
    return kept, dropped


# -- title ---------------------------------------------------------------------------------------------------------------------


def _title(declared: str, headings: Sequence[str]) -> str:
    """Return the page's title, without the name of its site or book.

    If a part of the declared title equals a heading, that heading is the title; of several, the one named first. A
    meaningless declared title such as "index" or a number is replaced by the first heading.
    """
    first = headings[0] if headings else ""
    if first and declared.casefold().startswith(first.casefold()) and _SITE.match(declared[len(first) :] + " "):
        return first
    known = {heading.casefold(): heading for heading in reversed(headings)}
    own = next((known[part] for part in map(str.casefold, _SITE.split(declared[:500])) if part in known), "")
    poor = declared.casefold() in _POOR_TITLES or declared.startswith("<no title>") or not any(map(str.isalpha, declared))
    poor = poor or declared.lower().endswith((".html", ".htm", ".php", ".md"))
    return own or (first if poor else declared) or declared or first
