"""From a model's Markdown to sentences with citations: the text of a report, of a single sentence, of an answer.

A citation is a key in brackets behind what it supports (``[E3]``, ``[E3, E7]``); ``∴`` marks what follows from several quotes and
is said by none. A key that was not given out is kept as ``unknown``: its sentence is unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from textwrap import dedent
from typing import Literal, NamedTuple

from pipeline.domain.research_values import BlockForm, Fact, Outcome, Paragraph, ReportSection, Sentence
from pipeline.domain.session_state import SUMMARY
from pipeline.text.cleaning import clean, one_line
from pipeline.text.page_excerpts import OMITTED
from pipeline.text.words import split_sentences

DERIVED = "∴"
BEYOND = "Not in your sources: from the model's general knowledge"
# The form of a citation is this program's own; a model may write wide brackets, several keys, a mark between them.
_CITED = re.compile(r"\s*[\[【]\s*∴?\s*((?:[A-Z]\d{1,4}[\s,;&–-]*(?:and\s)?)+)[\]】]")
_KEY = re.compile(r"[A-Z]\d{1,4}")
_CODE = "X\ue003"  # stands for code while its text is split into sentences, of which one may begin with it
_HELD = re.compile("\ue000(\\d+)\ue001")  # a citation while its text is split into sentences
_BEHIND_STOP = re.compile('([.!?…]["”’)]?)\\s*((?:\ue000\\d+\ue001)+)')
_DERIVED = re.compile(r"∴\s*(\S+)")  # it stands before its sentence, so it is held behind the first word
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")
_ADDRESS = re.compile(r"(?:\b[a-z][a-z0-9+.-]{1,20}://(?!<)|\bwww\.)[^\s)\]>\"'`]+", re.IGNORECASE)
_ITEM = re.compile(r"(?:(\d{1,3})[.)]|[-*+•])\s+")
_OUTCOMES: Mapping[str, Outcome] = {"answered in part": "in-part", "not answered": "not-found", "answered": "answered"}

Facts = Mapping[str, Fact]  # by key


class WrittenText(NamedTuple):
    """What a model wrote: the sections (the first is the summary, if there is a title), and what its last line says."""

    sections: tuple[ReportSection, ...]
    outcome: Outcome | Literal[""] = ""
    lacks: str = ""


def read_report(text: str, facts: Facts, *, begins: bool = True, beyond: bool = False) -> WrittenText:
    """Return what a model wrote of a report, or of a part of one; the outline before it is left out.

    ``begins``: its first heading is the title. ``beyond``: a block of its own knowledge was asked for.
    """
    lines = clean(text).strip().split("\n")
    outcome: Outcome | Literal[""] = ""
    lacks = ""
    for place in range(len(lines) - 1, max(-1, len(lines) - 6), -1):
        said = lines[place].strip("*_#>- .").strip()
        for words, meaning in _OUTCOMES.items():
            rest = said[len(words) :].replace("`", "")  # a line of its own, in plain words
            if not outcome and said.lower().startswith(words) and not rest[:1].isalnum() and not rest.startswith(" "):
                outcome, lacks, lines = meaning, one_line(_CITED.sub("", rest).strip("*_:;,.— "), 400), lines[:place]
    sections: list[ReportSection] = []
    section = ReportSection(id="", title="", paragraphs=())
    held: list[str] = []
    in_code = False
    for line in [*lines, "# "]:
        in_code ^= line.lstrip().startswith("```")
        if in_code or not line.startswith("#"):
            held.append(line)
            continue
        paragraphs = tuple(_paragraphs(held, facts))
        if beyond and section.title == BEYOND:
            paragraphs = tuple(one.model_copy(update={"sentences": tuple(map(_own, one.sentences))}) for one in paragraphs)
        if section.id and paragraphs:
            sections.append(section.model_copy(update={"paragraphs": paragraphs}))
        is_title = begins and not sections and not section.id and not line.startswith("##")
        name = SUMMARY if is_title else f"section_{len(sections) + 1}"
        held, section = [], ReportSection(id=name, title=plain_line(line.lstrip("# ")), paragraphs=())
    return WrittenText(tuple(sections), outcome, lacks)


def _own(one: Sentence) -> Sentence:
    return Sentence(text=one.text, basis="beyond", cells=one.cells)


def begins_item(text: str) -> bool:
    """Return whether a text has the number or dash of a list's item before it."""
    return _ITEM.match(text.strip()) is not None


def unmarked(text: str) -> str:
    """Return a text without the number or dash of a list's item before it."""
    found = _ITEM.match(text.strip())
    return text.strip()[found.end() :] if found else text.strip()


def _code_of(text: str) -> str:
    """Return the code of which a text consists, without the stop behind it; "" if there are words beside it."""
    before, *spans = text.rstrip(".").split("`")
    return spans[0] if not before and len(spans) == 2 and not spans[1] else ""


def plain_line(line: str) -> str:
    """Return a heading as words alone: without marks, keys and addresses."""
    plain = _ADDRESS.sub("", _CITED.sub("", unmarked(line)))
    return one_line(plain.strip("#*_ "), 160)


def _paragraphs(lines: list[str], facts: Facts) -> Iterator[Paragraph]:
    """Yield the blocks of some lines: code, tables, lists and running text."""
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if not line or set(line) <= set("-*_="):
            at += 1
        elif line.startswith("```"):
            end = next((place for place in range(at + 1, len(lines)) if lines[place].strip().startswith("```")), len(lines))
            code = "\n".join(lines[at + 1 : end])
            behind = lines[end].strip().lstrip("`") if end < len(lines) else ""
            after = lines[end + 1] if end + 1 < len(lines) else ""
            if not behind and (keys := _CITED.match(after)):
                behind = keys[0]  # a sentence that follows has it too
                if not _CITED.sub("", after).strip(" ."):
                    behind, end = after, end + 1
            if code.strip():
                cited = _cited_in(line.lstrip("`") + behind, facts)
                yield Paragraph(sentences=(Sentence(text=dedent(code).strip("\n"), **cited),), form="code")
            at = end + 1
        elif line.startswith("|"):
            rows = [_cells_of(row) for row in takewhile(lambda row: row.strip().startswith("|"), lines[at:])]
            at += len(rows)
            is_rule = [all(cell and set(cell) <= set(":- ") for cell in row) for row in rows]
            header = tuple(map(plain_line, rows[0])) if len(rows) > 1 and is_rule[1] else ()
            body = [row for place, row in enumerate(rows) if not is_rule[place] and not (place == 0 and header)]
            if sentences := tuple(one for row in body if (one := _row_of(row, header, facts))):
                yield Paragraph(sentences=sentences, form="table", header=header)
        elif found := _ITEM.match(line):
            form: BlockForm = "steps" if found[1] else "bullets"
            start = int(found[1] or 1 + (_indent(lines[at]) > 1))
            at, items = _items(lines, at, numbered=bool(found[1]))
            if sentences := tuple(one for item in items for one in _item_of(item, facts)):
                yield Paragraph(sentences=sentences, form=form, start=start)
        else:
            running = list(takewhile(lambda one: one.strip() and not _begins_block(one), lines[at:]))
            at += len(running)
            sentences = tuple(read_sentences(" ".join(one.strip().removeprefix("> ") for one in running), facts))
            if len(sentences) == 1 and (code := _code_of(sentences[0].text)):
                yield Paragraph(sentences=(sentences[0].model_copy(update={"text": code}),), form="code")
            elif sentences:
                yield Paragraph(sentences=sentences)


def _begins_block(line: str) -> bool:
    return line.strip().startswith(("```", "|")) or begins_item(line)


def _item_of(texts: Sequence[str], facts: Facts) -> Iterator[Sentence]:
    """Yield the sentences of an item of a list: of its own text, the first one, and of the items inside it.

    The keys at the end of an item are those of all its sentences that have none.
    """
    read = (list(read_sentences(" ".join(text.split()), facts)) for text in texts)
    for place, found in enumerate(filter(None, read)):
        for number, one in enumerate(found):
            within = "item" if number else "list" if place else ""
            cited = next((other for other in found[number:] if other.facts or other.unknown), one)
            yield cited.model_copy(update={"text": one.text, "within": within})


def _items(lines: list[str], at: int, *, numbered: bool) -> tuple[int, list[list[str]]]:
    """Return where a list ends, and its items, each with the items of a list inside it; indented lines go on with one."""
    items: list[list[str]] = []
    own = _indent(lines[at])  # of a list that goes on inside an item, behind its code, more than 0
    while at < len(lines):
        line = lines[at].strip()
        found = _ITEM.match(line)
        deeper = _indent(lines[at]) - own
        if found and deeper > -2 and (bool(found[1]) == numbered or deeper > 0):
            if items and deeper > 1:
                items[-1].append(line[found.end() :])
            else:
                items.append([line[found.end() :]])
        elif not line:
            following = _ITEM.match(next((one.strip() for one in lines[at:] if one.strip()), ""))
            if following is None or bool(following[1]) != numbered:
                break
        elif found or _begins_block(line) or not items:
            break
        else:
            items[-1][-1] += " " + line
        at += 1
    return at, items


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def _cells_of(row: str) -> list[str]:
    """Return the cells of a table's row; a bar in code, or behind a backslash, ends none."""
    spans = row.strip().strip("|").replace("\\|", "\ue002").split("`")
    spans[1:-1:2] = [code.replace("|", "\ue002") for code in spans[1:-1:2]]
    return [cell.strip().replace("\ue002", "|") for cell in "`".join(spans).split("|")]


def _row_of(cells: Iterable[str], header: tuple[str, ...], facts: Facts) -> Sentence | None:
    """Return a table's row: its text names the column of each cell, and it cites what its cells cite."""
    read = []
    for cell in cells:
        one = read_sentence(cell, facts)
        if one is None:  # without words: with a sign at most, such as a dash or a tick, and with keys
            sign = _CITED.sub("", cell).replace(DERIVED, "").strip()
            text = "" if any(map(str.isalnum, sign)) else sign  # an address alone is not shown
            basis: Literal["derived", "quoted"] = "derived" if DERIVED in cell else "quoted"
            one = _sentence(text, [Sentence(text=text, basis=basis, **_cited_in(cell, facts))])
        read.append(one)
    named = zip_longest(header, (one.text for one in read), fillvalue="")
    text = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
    if not text:
        return None
    row = _sentence(text, read)
    cells = tuple(f"{one.text} {DERIVED}".strip() if one.basis == "derived" else one.text for one in read)
    return row.model_copy(update={"cells": cells, "cell_facts": tuple(one.facts for one in read) if row.facts else ()})


def read_sentences(text: str, facts: Facts) -> Iterator[Sentence]:
    """Yield the sentences of running text, each with what it cites; a citation behind a full stop belongs before it."""
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(DERIVED if found[0].startswith(DERIVED) else found[0])
        return f"\ue000{len(held) - 1}\ue001"

    spans = text.split("`")
    code = spans[1:-1:2]  # what is between two marks; a stop in it ends no sentence
    spans[::2] = [_DERIVED.sub(lambda found: found[1] + hold(found), _CITED.sub(hold, span)) for span in spans[::2]]
    spans[1:-1:2] = [_CODE] * len(code)
    # A stop behind a citation ends a sentence, whatever sign the next one begins with.
    marked = _BEHIND_STOP.sub(r"\2\1", "`".join(spans).replace("\ue001. ", "\ue001.\n"))
    left, sign = iter(code), ""
    for part in [one for line in marked.split("\n") for one in split_sentences(line)]:
        keys = sign + "".join(held[int(number)] for number in _HELD.findall(part))
        plain = re.sub(f"`{_CODE}`", lambda _found: f"`{next(left)}`", _HELD.sub("", part))
        is_label = plain.endswith("**") and not _CITED.search(keys)
        sign = DERIVED if DERIVED in keys and is_label else ""  # it is said of what follows
        if one := _read(plain, keys, facts):
            yield one


def read_sentence(text: str, facts: Facts) -> Sentence | None:
    """Return a text as one sentence, with all that it cites; None if it is empty."""
    parts = list(read_sentences(" ".join(text.split()), facts))
    return _sentence(" ".join(one.text for one in parts), parts) if parts else None


def read_as(text: str, paragraph: Paragraph, facts: Facts) -> Sentence | None:
    """Return a sentence in the form of its paragraph; None without evidence. A row keeps its columns, code in a fence its lines;
    other code has no citation of its own, so a changed piece of it is shown as a sentence."""
    cells = _cells_of(text) if paragraph.form == "table" and text.strip().startswith("|") else []
    fenced = _paragraphs(text.split("\n"), facts) if paragraph.form == "code" and "```" in text else ()
    code = next((one.sentences[0] for one in fenced if one.form == "code"), None)
    if cells and len(cells) == (len(paragraph.header) or len(cells)):
        one = _row_of(cells, paragraph.header, facts)
    elif code:
        one = code.model_copy(update=_cited_in(text, facts))
    else:
        one = read_sentence(text if paragraph.form == "code" else unmarked(text), facts)
    if one is None or one.unknown or not one.facts:
        return None
    if paragraph.form == "code" and not code and (marked := _code_of(one.text)):
        return one.model_copy(update={"text": marked})
    if paragraph.form == "table" and not one.cells:
        return one.model_copy(update={"cells": (one.text, *[""] * (len(paragraph.header) - 1))})
    return one


def _sentence(text: str, parts: Sequence[Sentence]) -> Sentence:
    """Return a sentence that cites what its parts cite."""
    cited = tuple(dict.fromkeys(name for one in parts for name in one.facts))
    unknown = tuple(dict.fromkeys(name for one in parts for name in one.unknown))
    derived = cited and any(one.basis == "derived" for one in parts)
    basis: Literal["quoted", "derived", "bridge"] = "derived" if derived else "quoted" if cited or unknown else "bridge"
    return Sentence(text=text, facts=cited, unknown=unknown, basis=basis)


def _read(plain: str, keys: str, facts: Facts) -> Sentence | None:
    cited = _cited_in(keys, facts)
    basis: Literal["quoted", "derived"] = "derived" if DERIVED in plain or DERIVED in keys else "quoted"
    spoken = " ".join(f"{fact.lead} {fact.quote}" for fact in facts.values() if fact.id in cited["facts"])
    text = _LINK.sub(r"\1", plain.replace(DERIVED, ""))
    # Only what a page says is an address; the gap that another one leaves is seen, for a command without it is another command.
    text = _ADDRESS.sub(lambda found: found[0] if found[0].rstrip(".,;/") in spoken else OMITTED, text)
    text = " ".join(text.split()).lstrip(",;: ")
    return _sentence(text, [Sentence(text=text, basis=basis, **cited)]) if any(map(str.isalnum, text)) else None


def _cited_in(text: str, facts: Facts) -> dict[str, tuple[str, ...]]:
    """Return the ids of the facts whose keys a text has, and the keys that were not given out."""
    keys = tuple(dict.fromkeys(key for group in _CITED.findall(text) for key in _KEY.findall(group)))
    return {
        "facts": tuple(facts[key].id for key in keys if key in facts),
        "unknown": tuple(key for key in keys if key not in facts),
    }
