"""Text from models and sources as Markdown of a note: quotes with lists, tables and code, sentences with harmless marks.

A quoted stretch of a source is in the format of a stored page. Every word of it goes through ``inert``, so it does nothing in a
vault, whatever it says. Of a report's running text, code, bold, emphasis and formulas pass by a whitelist: what passes is written
again from its parts; the words inside marks go through ``inert`` themselves, code and formulas pass only if they hold nothing
that Obsidian, Dataview or Templater would obey inside them. Dataview runs code that begins with ``=`` or ``$=``, and reads
``key:: value`` at the start of a line and in brackets, in code too; Templater looks for its opening sign in the raw file; MathJax
has commands that link and load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from pipeline.text.cleaning import clean
from pipeline.text.passages import Block, blocks
from pipeline.vault.output.escaping import Inert, before_space, fenced, inert

OMITTED = "[…]"
_CODE_LINE = re.compile(r"[ \t]+\S|.*[{};\\]\s*\Z")
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})(?=\. )")  # of an item of an ordered list, as pages are stored
_MOST_CELLS = 40
_MARKS = "*_`\"'”’»)"  # behind the words of a label
_ENDS_SENTENCE = re.compile(r"[.!?:…。！？।؟][\"'”’»)\]」』）]{0,3}\Z")


def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of a passage; lines of code that were cut off from their fence are code again."""
    lines = text.strip("\n").split("\n")
    if len(lines) > 1 and "```" not in text and all(lines) and any(_CODE_LINE.match(line) for line in lines[:-1]):
        kinds = {line[:2] for line in lines}
        if not kinds & {"- ", "| "}:
            return (Block("code", "\n".join(lines), "", "", ()),)
    marks = [number for number, line in enumerate(lines) if line.startswith("```")]
    is_cut = len(marks) % 2 and marks[0] and lines[marks[0] - 1].strip()  # long code whose beginning is in another passage
    return tuple(blocks("\n".join(["```", *lines]) if is_cut else text))


def is_plain(text: str) -> bool:
    """Return whether a quote is one paragraph and nothing else."""
    return "\n" not in text.strip() and [block.kind for block in blocks_of(text)] in (["paragraph"], [])


def claim_beside(claim: str, quote: str) -> str:
    """Return a fact's claim on one line; "" where it is the quote itself, white space aside."""
    return "" if claim.split() == quote.split() else flat(claim)


def statement(claim: str, quote: str) -> str:
    """Return what a fact says, on one line."""
    return claim_beside(claim, quote) or flat(quote)


def flat(text: str) -> str:
    """Return a quote on one line, without the signs of lists, tables and code."""
    words = text if is_plain(text) else " ".join(filter(None, _flattened(blocks_of(text))))
    return " ".join(clean(words).split())


def _flattened(found: Sequence[Block]) -> Iterable[str]:
    for kind, same in groupby(found, key=lambda block: block.kind):
        if kind == "row":
            yield "; ".join(" · ".join(filter(None, cells(block.text))) for block in same)
        elif kind == "item":  # one that ends a sentence keeps its mark, behind another stands a semicolon
            *items, last = [block.text.strip() for block in same]
            runs = (f"{item.rstrip(';,')}{' ' if _ENDS_SENTENCE.search(item) else '; '}" for item in items)
            yield "".join(runs) + last.rstrip(";")
        else:  # what ends in a word is the label of what follows
            texts = [(block.text, kind == "code" or block is found[-1]) for block in same]
            yield " ".join(text if ended or not text.rstrip(_MARKS)[-1:].isalnum() else f"{text}:" for text, ended in texts)


def cells(row: str) -> list[str]:
    """Return the cells of a table's row."""
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inner.split(" | ", _MOST_CELLS - 1)]


def markdown(text: str, lead: str = "") -> Inert:
    """Return a passage as Markdown lines, its lead first.

    ``OMITTED`` stands where items of a list are left out: behind its introduction, if that is the lead.
    """
    groups = [(kind, [block.text for block in same]) for kind, same in groupby(blocks_of(text), key=lambda block: block.kind)]
    header = lead if lead.startswith("| ") and groups and groups[0][0] == "row" else ""
    parts = [[(before_space if groups else inert)(flat(lead))]] if lead and not header else []
    if groups and groups[0][0] == "item" and lead.rstrip().endswith(":"):
        groups[0][1].insert(0, OMITTED)
    for number, (kind, texts) in enumerate(groups):
        if kind == "code":
            parts.append(fenced("\n".join(texts)))
        elif kind == "row":
            rows = [[str(inert(cell)) for cell in cells(row)] for row in ([header, *texts] if header and not number else texts)]
            width = max(map(len, rows))
            drawn = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
            parts.append([*map(Inert, (drawn[0], f"|{' --- |' * width}", *drawn[1:]))])
        elif kind == "item":
            numbers = [int(found[0]) if (found := _NUMBER.match(item)) else -1 for item in texts]
            if numbers[0] >= 0 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:  # else Markdown counts otherwise
                texts = [item.partition(" ")[2] for item in texts]
                parts.append([Inert(f"{number}. {before_space(item)}") for number, item in zip(numbers, texts, strict=True)])
            else:
                parts.append([Inert(f"- {item or '…'}") for item in map(before_space, texts)])
        else:
            parts += [[before_space(one)] for one in texts if one.strip()]
    return Inert("\n\n".join("\n".join(part) for part in parts if part))


def within(text: str, prefix: str) -> Inert:
    """Return Markdown lines inside quotes or lists: each behind ``prefix``."""
    return Inert("\n".join(f"{prefix} {line}".rstrip() for line in text.split("\n")))


_CODE = r"(?<!`)(?:``(?!`)(?P<twice>(?:[^`\n]|`(?!`)){1,300}?)``|`(?!`)(?P<once>[^`\n]{1,300}?)`)(?!`)"
_MATH = r"(?<![\w$\\])\$(?=[^\s$])(?P<math>[^$`\n]{1,300}?)(?<=[^\s\\])\$(?![\w$])"
_BOLD = r"(?<![\w*\\])\*\*(?=[^\s*])(?P<bold>[^\n]{1,500}?)(?<=[^\s*])\*\*(?![\w*])"
_ITALIC = r"(?<![\w*\\])\*(?=[\w`“\"'(])(?P<italic>[^*\n]{1,500}?)(?<=[\w`”\"').!?%])\*(?![\w*])"
_MARKED = re.compile("|".join((_CODE, _MATH, _BOLD, _ITALIC)))
_MARK = "\ue000"  # a sign without a meaning, where a marked part is put back when the words around it are inert
_OBEYED_IN_CODE = re.compile(r"\A\s*\$?=|<%|%>|%%|\[\[|\]\]|\]\(|dataviewjs|\A\s|\s\Z|\{\{", re.IGNORECASE)
# The beginning of a line up to two colons, if Dataview takes it for a key (see `extractFullLineField` in its source).
_KEY = re.compile(r"\W*(?:[\w\s/-]|[^\x00-\x7f])*[_*~`]*")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)")
_COMMANDS = (
    "frac dfrac tfrac sqrt sum prod int lim cdot cdots times div pm mp le ge leq geq lt gt ne neq approx sim simeq "
    "equiv propto log ln exp lg min max gcd mod bmod pmod Theta Omega Delta Sigma Pi Phi Psi Lambda Gamma alpha beta "
    "gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi varphi chi psi "
    "omega text mathrm mathbf mathit left right infty to rightarrow leftarrow Rightarrow Leftrightarrow in notin "
    "subset cup cap lfloor rfloor lceil rceil binom overline underline hat bar vec tilde ldots dots quad qquad mid "
    "forall exists neg land lor oplus otimes circ degree prime partial nabla , ; : ! % { } _ & #"
)
_SAFE_COMMANDS = frozenset(_COMMANDS.split())
_LIKE_MATH = re.compile(r"[\\^_=+*/<>()|-]|\A[A-Za-z]\Z|\A\d+[A-Za-z]\Z|\A[a-zA-Z]['’]?\Z")
_OBEYED_IN_MATH = re.compile(r"(?<!\\)#|<%|%>|<!|<[A-Za-z/?][^<>]*>|::|%%|\[\[|\]\]|\{\{|\}\}(?=\})|://|\^[A-Za-z0-9-]*\Z(?<=\^)")


def prose(text: str, *, cell: bool = False) -> Inert:
    """Return a sentence on one line with its harmless marks; with ``cell``, for a table, where a bare bar would end the cell."""
    passed: list[str] = []

    def taken_out(found: re.Match[str]) -> str:
        if marked := _marked(found, cell):
            passed.append(marked)
        return _MARK if marked else found[0]

    line = inert(_MARKED.sub(taken_out, " ".join(clean(text).replace(_MARK, "").split())))
    for marked in passed:
        before, _, after = line.partition(_MARK)
        line = Inert(_without_fields(before, marked) + after)
    return line


def _without_fields(before: str, marked: str) -> str:
    """Return a line's beginning with the marked part that follows, so that two colons in its code make no field for Dataview.

    What follows ``[`` or ``(`` up to two colons is a key, unless a bracket stands between: a sign without width keeps such colons
    apart. So are letters at the start of a line: there an entity without width comes before the code, which then can be copied.
    """
    start, *others = marked.split("::")
    if others and "::" not in before and _KEY.fullmatch(before + start):
        start = f"&#8203;{start}"
    for other in others:
        brackets = [sign for sign in before + start if sign in "[]()"]
        start += (":\u200b:" if brackets[-1:] in (["["], ["("]) else "::") + other
    return before + start


def _marked(found: re.Match[str], cell: bool) -> str:
    """Return a marked part as Markdown, "" if it must not pass."""
    if (code := found["once"] or found["twice"]) is not None:
        code = code.strip() if "`" in code else code
        if _OBEYED_IN_CODE.search(code):
            return inert(code) if code.strip() else ""
        ticks, blank = "``" if "`" in code else "`", " " if "`" in code[:1] + code[-1:] else ""
        marked = f"{ticks}{blank}{code}{blank}{ticks}"
        return marked.replace("|", "\\|") if cell else marked
    if (math := found["math"]) is not None:
        is_risky = not _LIKE_MATH.search(math) or _OBEYED_IN_MATH.search(math) or (cell and "|" in math)
        is_known = all(name in _SAFE_COMMANDS for name in _COMMAND.findall(math)) and math.count("{") == math.count("}")
        return f"${math}$" if is_known and not is_risky else ""
    if (bold := found["bold"]) is not None:
        return _around("**", bold, cell)
    return _around("*", found["italic"], cell)


def _around(mark: str, inside: str, cell: bool) -> str:
    """Return marked words; the words are made inert, and may hold code."""
    body = before_space(prose(inside, cell=cell))  # the mark follows, and no colon
    return f"{mark}{body}{mark}" if body and not body.startswith(("*", "\\*")) and not body.endswith("*") else ""
