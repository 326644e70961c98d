"""``Reader``: parses a note's Markdown into the draft of its page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.site import html_rules, obsidian_syntax
from pipeline.site.html_rules import Around, Draft
from pipeline.site.paths import block_anchor, heading_anchor
from pipeline.text.labels import in_all_languages

_QUOTATION_MARKS = "“”„\"' "
_PLACE = "— "  # what begins the line below a passage that says where it is from
_STANDINGS = tuple(in_all_languages("Disputed by"))
_TO_TEXT = "#:~:text="  # in an address that opens a page at a quote
_SUMMARY, _NO_ANSWER = "abstract", "question"  # callouts that say what a note comes to; questions have other titles too
# Letters of the scripts that are written from right to left, Hebrew and Arabic among them (Unicode's blocks for them).
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DIRECTED = {f"{name}_open" for name in ("paragraph", "heading", "bullet_list", "ordered_list", "table")}
_OBSIDIAN_ONLY = ("mermaid", "base")  # fences
_NOT_FOUND = in_all_languages("Not found")


class Reader:
    """Reads notes. One reader serves any number of them, one at a time."""

    def __init__(self) -> None:
        options = {"html": False, "xhtmlOut": False, "breaks": True}
        self._md = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
        obsidian_syntax.use(self._md)
        html_rules.use(self._md)

    def read(self, text: str, draft: Draft) -> Draft:
        """Fill ``draft`` from a note's text (without its properties) and return it."""
        env = {"draft": draft}
        tokens = _shown(self._md.parse(text, env))
        tokens = self._without_title(tokens, draft)
        _describe(tokens, draft)
        _note_surroundings(tokens, draft)
        _name(tokens, draft)
        if _RIGHT_TO_LEFT.search(text):
            _direct(tokens)
        draft.html = "".join(self._blocks(tokens, draft))
        return draft

    def _without_title(self, tokens: list[Token], draft: Draft) -> list[Token]:
        """Take a heading that begins the note out of its body."""
        if len(tokens) < 3 or tokens[0].type != "heading_open" or tokens[0].tag != "h1":
            return tokens
        draft.heading_text = plain(tokens[1])
        draft.heading = self._md.renderer.render(tokens[1:2], self._md.options, {"draft": draft})
        return tokens[3:]

    def _blocks(self, tokens: list[Token], draft: Draft) -> Iterator[str]:
        """Each block as HTML, and behind it a place for the quotes that it is the first to cite."""
        for block in _top_level(tokens):
            known = len(draft.cites)
            yield self._md.renderer.render(block, self._md.options, {"draft": draft})
            if len(draft.cites) > known:
                yield draft.aside(tuple(islice(draft.cites.values(), known, None)))


def plain(inline: Token) -> str:
    """Return the words of running text, without the numbers of citations."""
    words = ""
    for token in inline.children or ():
        if token.type == "wikilink":
            words += "" if token.meta["link"].number else token.meta["link"].shown
        elif token.type in {"softbreak", "hardbreak"}:
            words += " "
        elif token.type != "embed":
            words += token.content
    return words


def _shown(tokens: Sequence[Token]) -> list[Token]:
    """The text without comments and what only Obsidian draws, and without sections that hold nothing else."""
    for token in tokens:
        if token.type == "fence" and token.info.strip() in _OBSIDIAN_ONLY:
            token.type = "comment"
    kept: list[Token] = []
    for number, token in enumerate(tokens):
        if token.type != "comment":
            kept.append(token)
        elif len(kept) > 2 and kept[-1].type == "heading_close":
            following = next((token for token in islice(tokens, number, None) if token.type != "comment"), None)
            if (
                following is None
                or following.type == "hr"
                or (following.type == "heading_open" and following.tag <= kept[-1].tag)
            ):
                del kept[-3:]
    return kept


def _describe(tokens: Sequence[Token], draft: Draft) -> None:
    """Note the words, the first sentences, and the text of each block that can be quoted."""
    named: list[tuple[int, str, int]] = []
    summary: list[str] = []
    quoting: list[int] = []  # the places of the texts that stand in quotes
    summarised, depth = False, 0
    for number, token in enumerate(tokens):
        depth += token.nesting if token.type.startswith("blockquote_") else 0
        if depth and token.content:
            quoting.append(len(draft.text))
        if token.type == "inline" and number > 1 and "checked" in tokens[number - 2].meta:
            continue  # what a box says is no part of the text
        if token.type == "inline":
            draft.text.append(words := plain(token))
            draft.first = draft.first or (words if token.level == 1 else "")
            summary += [words] if summarised and words and not words.startswith(_PLACE) else []
        elif token.type in {"fence", "code_block"}:
            draft.text.append(token.content)
        elif token.type == "callout_title_close":
            kind = token.meta["kind"]
            summarised = not summary and (kind == _SUMMARY or (kind == _NO_ANSWER and draft.text[-1] in _NOT_FOUND))
        elif token.type == "callout_close":
            summarised = False
        if "block" in token.meta:
            named.append((token.level, token.meta["block"], len(draft.text) - (token.nesting == 0)))
        elif token.nesting == -1 and named and named[-1][0] == token.level:
            _end_block(named.pop(), draft, quoting)
    draft.summary = draft.summary or " ".join(summary)


def _end_block(named: tuple[int, str, int], draft: Draft, quoting: Sequence[int]) -> None:
    """What can be quoted of a block: the words that stand in a quote or in quotation marks inside it, else all its words."""
    _, block, start = named
    quoted = [draft.text[place] for place in quoting if place >= start]
    quoted = quoted or [text for text in draft.text[start:] if text.startswith("“") and text.endswith("”")]
    draft.blocks[block] = " ".join(quoted or draft.text[start:]).strip(_QUOTATION_MARKS)


def _note_surroundings(tokens: Sequence[Token], draft: Draft) -> None:
    """Note what stands around the quote of each marked block: the sentences beside it, its standing, its web address."""
    level, block, quoted, depth = 0, "", False, 0
    for token in tokens:
        depth += token.nesting if token.type.startswith("blockquote_") else 0
        if "block" in token.meta and token.nesting == 1:
            level, block, quoted = token.level, token.meta["block"], False
        elif block and token.nesting == -1 and token.level == level:
            block = ""
        elif block and token.type == "inline":
            draft.around[block], passed = _surrounded(draft.around.get(block, Around()), token, quoted)
            quoted = passed or bool(depth)


def _surrounded(around: Around, inline: Token, quoted: bool) -> tuple[Around, bool]:
    """Return what stands around a quote, with what this line says about it; and whether the quote was already passed."""
    words, children = plain(inline), inline.children or []
    if words.startswith(_STANDINGS):
        around = around._replace(standing=f"{around.standing} · {words}" if around.standing else words)
    elif address := next((str(child.attrs["href"]) for child in children if _TO_TEXT in str(child.attrs.get("href"))), ""):
        around = around._replace(there=address)
    elif children and (children[0].type, children[-1].type) == ("em_open", "em_close"):
        around = around._replace(**{"after" if quoted else "before": words})
    return around, quoted or words.startswith("“")


def _name(tokens: Sequence[Token], draft: Draft) -> None:
    """Give headings and marked blocks their ids, and note the table of contents."""
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            title = plain(tokens[number + 1])
            anchor = draft.unique(heading_anchor(title))
            token.attrs["id"] = anchor
            if token.tag == "h2" and token.level == 0:
                draft.toc.append((title, anchor))
        if "block" in token.meta and "id" not in token.attrs:
            token.attrs["id"] = draft.unique(block_anchor(token.meta["block"]))


def _direct(tokens: Sequence[Token]) -> None:
    """Let each block of a text with words from right to left have the direction of its own words."""
    for token in tokens:
        if token.type in _DIRECTED:
            token.attrs["dir"] = "auto"


def _top_level(tokens: list[Token]) -> Iterator[list[Token]]:
    start = 0
    for number, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0 and token.type != "inline":
            yield tokens[start : number + 1]
            start = number + 1
    yield tokens[start:]
