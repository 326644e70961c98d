"""HTML elements → headings, paragraphs, items, rows and code of a page.

The walk keeps its own stack instead of recursing, because a hostile document may nest deeper than Python's stack.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from pipeline.documents.html.html_table import holds_data, rows
from pipeline.documents.html.raised_and_lowered import without_double_encoding
from pipeline.documents.manual.printed_manual import is_printed_manual, write_printed_manual
from pipeline.documents.page_writer import PageText, squash

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_IGNORED = frozenset(("-comment", "_comment", "!--", "head", "title", "meta", "link", "img", "colgroup", "col"))
_LISTS = frozenset(("ul", "ol", "dl", "table"))
_BLOCK_NAMES = (
    "div section article main body blockquote ul ol dl dd li figure figcaption details summary address center fieldset hr "
    "header form table thead tbody tfoot tr td th caption html menu hgroup search"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_REGIONS = frozenset(("div", "section", "article", "main"))
_COMMON_IDS = "body content main page root app container wrapper document"
_GENERIC_IDS = frozenset(_COMMON_IDS.split())
_MENUS = ((8, 0.8), (4, 0.9))  # a menu has at least so many links, and they are more than this share of its text
_BOX_LABELS = frozenset(
    ("note", "notes", "tip", "caution", "warning", "important", "contents", "table of contents", "on this page")
)
_LONG_DEFINITION = 60
_BLOCKS_INSIDE = "p, pre, li, table, dl"
_MEASURED_LISTS = 4  # the depth to which lists are measured: each measurement reads the whole list


class HtmlWalker:
    """Walks one document in order and writes its blocks to ``page``."""

    def __init__(self, page: PageText) -> None:
        self._page = page
        self._inline: list[str] = []
        self._regions: list[str] = []  # ids of the open regions; "" once a heading has used it
        self._target = ""  # the id of the empty element just before: <a name="x"></a>
        self._section = 1  # the level of the latest heading that is not a term
        self._terms = 0  # how many lists of terms are open
        self._lists = 0
        self._in_item = False  # the next text opens a list item
        self._lead_terms = ""  # terms whose short definition follows; they are written in front of it
        self._terms_are_headings: list[bool] = []  # one entry per open list of terms
        self._trail: list[tuple[int, str]] = []
        self._after_terms = False  # a list of terms has ended: the next text belongs to the section around it

    def walk(self, root: LexborNode) -> None:
        """Write all blocks of ``root``."""
        stack: list[tuple[LexborNode, bool]] = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                self._leave(node)
            elif self._enter(node):
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
        self._flush()
        self._write_lead()

    def _enter(self, node: LexborNode) -> bool:
        """Handle the start of one node; return whether its children are to be walked."""
        tag = node.tag or ""
        if tag == "-text":
            self._inline.append(node.text_content or "")
            return False
        if tag in _HEADINGS or tag in ("p", "pre", "dt"):
            self._flush()
            self._write_element(tag, node)
            return False
        if tag in _BLOCKS:
            return self._open(tag, node)
        if tag in ("a", "span") and node.child is None:
            self._target = _id_of(node)
        return tag not in _IGNORED

    def _open(self, tag: str, node: LexborNode) -> bool:
        self._flush()
        if tag in _LISTS and not self._lists and _is_menu(node):
            return False
        if tag == "table" and holds_data(node):
            self._rows(node)
            return False
        self._lists += tag in _LISTS
        if tag == "dl":
            self._terms += 1
            self._terms_are_headings.append(self._terms <= _MEASURED_LISTS and _deserves_headings(node))
        self._in_item = tag == "li" or (self._in_item and tag not in _LISTS)
        if tag in _REGIONS:
            own = _id_of(node)
            self._regions.append("" if own in _GENERIC_IDS else own)
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag not in _BLOCKS:
            return
        self._flush()
        if tag in ("dd", "dl"):
            self._write_lead()
        self._lists -= tag in _LISTS
        if tag == "dl":
            self._terms -= 1
            self._after_terms = self._terms_are_headings.pop() or self._after_terms
        self._in_item = self._in_item and tag != "li"
        if tag in _REGIONS:
            self._regions.pop()

    def _write_element(self, tag: str, node: LexborNode) -> None:
        if tag == "p":
            self._text(node.text(deep=True))
        elif tag == "pre":
            self._write_lead()
            self._repeat_heading()
            self._preformatted(node.text(deep=True))
        elif tag == "dt":
            self._term(node)
        else:
            self._write_lead()
            self._heading(_HEADINGS[tag], node)

    def _preformatted(self, text: str) -> None:
        if is_printed_manual(text):
            write_printed_manual(text, self._page)
        else:
            self._page.code(text)

    def _heading(self, level: int, node: LexborNode) -> None:
        text, address = squash(node.text(deep=True)), self._anchor_of(node)
        if text.casefold().rstrip(":") not in _BOX_LABELS:
            self._section = level
            self._write_heading(level, text, address)

    def _write_heading(self, level: int, text: str, address: str) -> None:
        self._trail = [entry for entry in self._trail if entry[0] < level] + [(level, text)]
        self._after_terms = False
        self._page.heading(level, text, address)

    def _repeat_heading(self) -> None:
        """After a list of terms, repeat the heading of the section around it, so that its text is not read as the last term's."""
        if not self._after_terms:
            return
        self._after_terms = False
        level = self._section + self._terms
        if self._trail and self._trail[-1][0] > level:
            self._trail = [entry for entry in self._trail if entry[0] <= level]
            if self._trail:
                self._page.heading(*self._trail[-1])

    def _term(self, node: LexborNode) -> None:
        own = _id_of(node)
        text = ", ".join(squash(term.text(deep=True)).rstrip(",") for term in node.css("span.term")) or node.text(deep=True)
        text = squash(text)
        if own or (self._terms_are_headings and self._terms_are_headings[-1] and text):
            self._write_lead()
            self._write_heading(self._section + max(1, self._terms), text, own)
        elif text:
            text = text.rstrip(": ")
            self._lead_terms = f"{self._lead_terms}, {text}" if self._lead_terms else text

    def _anchor_of(self, heading: LexborNode) -> str:
        """Return the id for ``heading``: its own, else its region's, one inside it, or one just before it."""
        inside = heading.css_first("a[name], a[id], span[id]")
        region = next((own for own in reversed(self._regions) if own), "")
        self._regions = [""] * len(self._regions)
        target, self._target = self._target, ""
        return _id_of(heading) or region or (_id_of(inside) if inside is not None else "") or target

    def _flush(self) -> None:
        if self._inline:
            self._text("".join(self._inline))
            self._inline.clear()

    def _text(self, text: str) -> None:
        line = squash(text)
        if not line:
            return
        self._target = ""
        line = without_double_encoding(line)
        self._repeat_heading()
        if self._lead_terms:
            self._page.item(f"{self._lead_terms}: {line}")
        elif self._in_item:
            self._page.item(line)
        else:
            self._page.paragraph(line)
        self._lead_terms, self._in_item = "", False

    def _write_lead(self) -> None:
        """Write the terms that no definition followed."""
        lead, self._lead_terms = self._lead_terms, ""
        if lead:
            self._repeat_heading()
            self._page.item(lead)

    def _rows(self, table: LexborNode) -> None:
        self._write_lead()
        self._repeat_heading()
        caption = table.css_first("caption")
        if caption is not None:
            self._page.paragraph(caption.text(deep=True))
        for cells in rows(table):
            self._page.row(cells)


def _deserves_headings(terms: LexborNode) -> bool:
    """Return whether a list's terms become headings: one of them has an id, or a description that is long or has several blocks.

    All terms of a list are treated alike: a short item below another term's heading would seem to belong to that term.
    """
    children = list(terms.iter())
    if any(child.tag == "dt" and _id_of(child) for child in children):
        return True
    described = [child for child in children if child.tag == "dd"]
    return any(len(part.css(_BLOCKS_INSIDE)) > 1 or len(part.text(deep=True).split()) > _LONG_DEFINITION for part in described)


def _id_of(node: LexborNode) -> str:
    attributes = node.attributes
    return (attributes.get("id") or attributes.get("name") or "").strip()


def _is_menu(node: LexborNode) -> bool:
    """Return whether a list consists almost only of links."""
    links = node.css("a[href]")
    if len(links) < min(least for least, _ in _MENUS):
        return False
    share = sum(len(squash(link.text(deep=True))) for link in links) / max(1, len(squash(node.text(deep=True))))
    return any(len(links) >= least and share > most for least, most in _MENUS)
