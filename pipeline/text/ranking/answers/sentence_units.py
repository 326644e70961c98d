"""The units of a passage that a short answer is made of, sentences, items, rows and code, and which are a bad beginning. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from pipeline.text.page_format import blocks
from pipeline.text.sentences import points_back, split_sentences

Kind = Literal["sentence", "item", "row", "code"]

_MOST = 60  # units of a passage that are looked at
_SHORT = 12  # words; a shorter line without a mark at its end is a heading or a label
_GOES_ON = re.compile(
    r"\b(?:as|with|by|to|like|using|is|are|be|of|from|the|and|or|in|run|type|use|mit|als|wie|durch|und|oder|ist|sind)\Z"
)
_SENTENCE = 6  # words; a shorter line above code is its heading
_ENDED = re.compile(r"[.!?:;…。！？][\"'”’»“)\]*_`]{0,3}\Z")
_CODE_LINE = re.compile(r"\s*(?:>>> |\$ |# |==\d+==|[#;]\s*\w+ ?=)|.*[{};\\]\s*\Z")
_LEANING = re.compile(
    r"(?:\S+ ){0,3}(?:this|these|those|such|said|above|latter|former) (?!(?:is|was|are) |(?-i:[A-Z]))"
    r"|(?:\S+ ){0,2}(?:diese[rnsm]?|jene[rnsm]?|solche[rnsm]?) "
    r"|(?:as|like) (?:noted|mentioned|described|said|shown|seen|explained|discussed) (?:above|before|earlier|previously)"
    r"|(?:in|with|for|from) (?:it|them|that|which)\b|(?:one|another|the other|most|some|many|several) of (?:them|these|those)\b"
    r"|(?:on the other hand|in contrast|in (?:that|either|both|all|most|other) cases?|in addition|as a result|after that|if so"
    r"|for (?:all|any of) (?:these|those)|of course|for (?:that|this) reason|by contrast|worse|likewise|in fact|at first|next)\b"
    r"|(?:dabei|dadurch|dazu|danach|daher|deshalb|deswegen|dort|dann|damit|darum|dafür|dagegen|davon|darauf|darin|außerdem|zudem"
    r"|jedoch|allerdings|trotzdem|ebenso|auch|so|er|sie|es(?! (?:gibt|gab|ist|war|wird|muss|kann))|ihre?[nrms]?|seine?[nrms]?)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:.*\b(?:example|snippet|code|output|figure|table) (?:above|below|shown)"
    r"|(?:for (?:example|instance)|e\.g\.|in the following|let us|let's|suppose|imagine|consider\b(?! using)|assum(?:e|ing)|say"
    r"|in (?:our|the|this) (?:\w+ )?example|zum beispiel|beispielsweise|angenommen|stellen sie sich)\b|\()",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:if|when|unless|wann|wenn|falls|sobald|should (?:you|the|a|this)|what (?:happens|should|do) .*\b(?:if|when|wenn))\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"\(?(?:see|refer to|read|siehe|vgl\.)\b"
    r"|for (?:more|further|additional|full|complete) (?:information|details|discussion)"
    r"|.{0,40}\bthe (?:following|next|previous|above|below) (?:section|chapter|paragraph|page|table|example|figure)"
    r"|.{0,90}\b(?:is|are) (?:described|discussed|explained|documented|covered|given|listed|shown) (?:in|below|above|at|by)\b"
    r"|(?:this|the following|dieser?) (?:section|chapter|guide|document|page|manual|tutorial|article|paper|faq|abschnitt)"
    r"|(?:here (?:is|are)|things to notice|note)\b.{0,40}:\Z|(?:q|question)[:.] ",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"\blicensed under the\b|\byou may not use this file\b|\bobtain a copy of the license\b|\bcopyright (?:\(c\)|©|\d{4})"
    r"|\ball rights reserved\b|\b(?:on an )?[\"“]as is[\"”] basis\b|\btable of contents\b|\bthis program is free software\b",
    re.IGNORECASE,
)
_NAME_LINE = re.compile(r"[\w.+:-]{1,40}(?:, [\w.+:-]{1,40}){0,8} (?:-|–|—) \S")


class Unit(NamedTuple):
    """A sentence of a paragraph, or an item, a row or a piece of code, on one line; ``block`` counts the passage's blocks."""

    text: str
    kind: Kind
    block: int
    open: bool = False

    @property
    def announces(self) -> bool:
        """Whether what it says follows: it ends with a colon, or in mid-sentence above a list, a table or a piece of code."""
        return self.open or self.text.endswith(":")


@lru_cache(maxsize=4_096)
def units_of(quote: str) -> tuple[Unit, ...]:
    """Return the first 60 units of a passage in order."""
    found: list[Unit] = []
    for number, block in enumerate(blocks(quote)):
        if found and _breaks_off(found[-1], block.kind):
            found[-1] = found[-1]._replace(open=True)
        if block.kind in ("paragraph", "heading"):
            kind: Kind = "code" if _CODE_LINE.match(block.text) else "sentence"
            found += (Unit(one, kind, number) for one in split_sentences(block.text))
        elif block.kind == "row":
            cells = (cell.strip() for cell in block.text.strip().strip("|").split(" | "))
            found.append(Unit(" · ".join(cell for cell in cells if cell), "row", number))
        else:
            text = " ".join(block.text.split())
            found.append(Unit(text, "item" if block.kind == "item" else "code", number))
    return tuple(one for one in found[:_MOST] if one.text)


def _breaks_off(unit: Unit, kind: str) -> bool:
    """Return whether a sentence has no end before a block of this kind, so that the block ends it."""
    if unit.kind != "sentence" or len(unit.text.split()) < _SENTENCE or _ENDED.search(unit.text):
        return False
    return kind not in ("paragraph", "heading") or _GOES_ON.search(unit.text) is not None


def leans(text: str) -> bool:
    """Return whether a sentence begins in mid-thought, so that it needs the one before: "This …", "Er …", "In that case …"."""
    return points_back(text) or _LEANING.match(text) is not None


def is_pointer(text: str) -> bool:
    """Return whether a sentence only says where something is described."""
    return _POINTER.match(text) is not None


def is_example(text: str) -> bool:
    """Return whether a sentence begins an example or a supposition."""
    return _EXAMPLE.match(text) is not None


def is_condition(text: str) -> bool:
    """Return whether a text begins with a condition, so that it may hold of a special case only."""
    return _CONDITION.match(text) is not None


def is_fragment(unit: Unit) -> bool:
    """Return whether a unit begins in the middle of a sentence: a small letter, and no name in code."""
    first = unit.text.split(None, 1)[0]
    return unit.kind == "sentence" and first.isalpha() and first.islower() and first.isascii()


def is_boilerplate(text: str) -> bool:
    """Return whether a text is the head of a licence, a copyright line or a list of contents."""
    return _BOILERPLATE.search(text) is not None


def is_label(unit: Unit) -> bool:
    """Return whether a unit is a heading, a label, a question or the NAME line of a manual page, and no statement."""
    if unit.text.endswith("?"):
        return True
    if unit.kind != "sentence" or unit.open:
        return False
    words = len(unit.text.split())
    if sum(map(str.isupper, unit.text)) > sum(map(str.islower, unit.text)):  # "GENERAL TERMS, Version 3"
        return True
    return (words < _SHORT and _ENDED.search(unit.text) is None) or (
        words < 2 * _SHORT and _NAME_LINE.match(unit.text) is not None
    )
