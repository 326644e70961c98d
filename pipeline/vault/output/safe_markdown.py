"""Running text of a report as Markdown: code, bold, emphasis and formulas pass by a whitelist, all else is made inert.

What passes is written anew from its parts: the words inside marks go through ``inert`` themselves, code and formulas pass only if
they hold nothing that Obsidian, Dataview or Templater would obey inside them. Dataview runs code that begins with ``=`` or ``$=``
and reads ``::`` everywhere; Templater looks for its opening sign in the raw file; MathJax has commands that link and load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pipeline.text.normalise import clean
from pipeline.vault.output.escaping import Inert, before_space, inert

_CODE = r"(?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>[^`\n]{1,300}?)(?P=ticks)(?!`)"
_MATH = r"(?<![\w$\\])\$(?=[^\s$])(?P<math>[^$`\n]{1,300}?)(?<=[^\s\\])\$(?![\w$])"
_BOLD = r"(?<![\w*\\])\*\*(?=[^\s*])(?P<bold>[^\n]{1,500}?)(?<=[^\s*])\*\*(?![\w*])"
_ITALIC = r"(?<![\w*\\])\*(?=[\w`“\"'(])(?P<italic>[^*\n]{1,500}?)(?<=[\w`”\"').!?%])\*(?![\w*])"
_BOLD_LINE = r"(?<![\w_\\])__(?=[^\s_])(?P<bold2>[^_\n]{1,500}? [^_\n]{0,500}?)(?<=[^\s_])__(?![\w_])"  # not `__init__`
_ITALIC_LINE = r"(?<![\w_\\])_(?=[^\W_])(?P<italic2>[^_\n]{1,500}?)(?<=[^\s_])_(?![\w_])"
_MARKED = re.compile("|".join((_CODE, _MATH, _BOLD, _ITALIC, _BOLD_LINE, _ITALIC_LINE)))
_OBEYED_IN_CODE = re.compile(r"\A\s*\$?=|<%|%>|::|%%|\[\[|\]\]|\]\(|dataviewjs|\A\s|\s\Z|\{\{", re.IGNORECASE)
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
_OBEYED_IN_MATH = re.compile(r"(?<!\\)#|<%|%>|::|%%|\[\[|\]\]|\{\{|\}\}(?=\})|://|\^[A-Za-z0-9-]*\Z(?<=\^)")


@lru_cache(maxsize=4_096)
def prose(text: str, *, cell: bool = False) -> Inert:
    """Return a sentence on one line with its harmless marks; with ``cell``, for a table, where a bare bar would end the cell."""
    line = " ".join(clean(text).split())
    return Inert("".join(_parts(line, cell)).strip())


def _parts(line: str, cell: bool) -> Iterator[str]:
    end = 0
    for found in _MARKED.finditer(line):
        marked = _marked(found, cell)
        if marked:
            yield _plain(line[end : found.start()], line[:end], before_mark=True)
            yield marked
            end = found.end()
    yield _plain(line[end:], line[:end])


def _plain(text: str, before: str, *, before_mark: bool = False) -> str:
    """Return text between marks made inert; what is risky at the beginning of a line only, is so only there.

    A colon at its end joins with nothing where white space or, ``before_mark``, another mark follows.
    """
    if not text.strip():
        return " " if text else ""
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    body = str(before_space(text) if tail or before_mark else inert(text))
    if before and body.startswith("\\") and text.lstrip()[:1] in "-+(.:" and not text.lstrip().startswith("::"):
        body = body[1:]
    return f"{lead}{body}{tail}"


def _marked(found: re.Match[str], cell: bool) -> str:
    """Return a marked part as Markdown, "" if it must not pass."""
    if (code := found["code"]) is not None:
        return _code(code, cell)
    if (math := found["math"]) is not None:
        return f"${math}$" if _is_safe_math(math) and not (cell and "|" in math) else ""
    if (bold := found["bold"] or found["bold2"]) is not None:
        return _around("**", bold, cell)
    return _around("*", found["italic"] or found["italic2"], cell)


def _code(code: str, cell: bool) -> str:
    if _OBEYED_IN_CODE.search(code):
        return inert(code)
    return f"`{code}`".replace("|", "\\|") if cell else f"`{code}`"


def _is_safe_math(math: str) -> bool:
    if not _LIKE_MATH.search(math) or _OBEYED_IN_MATH.search(math):
        return False
    return all(name in _SAFE_COMMANDS for name in _COMMAND.findall(math)) and math.count("{") == math.count("}")


def _around(mark: str, inside: str, cell: bool) -> str:
    """Return marked words; the words are made inert, and may hold code."""
    body = str(prose(inside, cell=cell))
    if body.endswith("&#58;") and not body.endswith(":&#58;"):
        body = body.removesuffix("&#58;") + ":"  # no colon follows it
    return f"{mark}{body}{mark}" if body and not body.startswith(("*", "\\*")) and not body.endswith("*") else ""
