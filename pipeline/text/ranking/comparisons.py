"""Questions that compare two subjects: "xz or zstd: which is faster?", "Is zstd faster than brotli?", "A vs B"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SIDE = (
    r"[\w.+/#-]+(?:\s(?!and\b|or\b|vs\b|versus\b|than\b|which\b|what\b|for\b|in\b|on\b|to\b|with\b|und\b|oder\b|als\b"
    r"|von\b|bei\b|beim\b|für\b|im\b|mit\b)[\w.+/#-]+){0,2}"
)
_GERMAN = r"(?:(?:sich|de[mnrs]|die|das|eine[mnr]?|ein) )?"
_ASKED = r"(?:which|what|who|is|are|do|does|how|when|why)\b[^?]*"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:the )?(?P<a>{_SIDE}) (?:or|vs\.?|versus|and|compared (?:to|with))(?: the)? (?P<b>{_SIDE})"
        rf"\s?[:,;–—-]\s*(?P<rest>{_ASKED})",
        rf"(?P<rest>[^:,?]+)[:,] (?:the )?(?P<a>{_SIDE}) or (?:the )?(?P<b>{_SIDE})",
        rf"(?P<rest>[^?]*?\b(?:differences?|compare|comparison|choose|choice)\b[^?]*?)"
        rf"(?: between)? (?:the )?(?P<a>{_SIDE}) (?:and|or|with|to|vs\.?) (?:the )?(?P<b>{_SIDE})(?P<more>\b[^?,;]*)",
        rf"(?P<rest>[^?]*?\b(?:Unterschiede?|Vergleich|unterscheide[nt]|vergleicht?)\b[^?]*?)"
        rf"(?: zwischen| von)? {_GERMAN}(?P<a>{_SIDE}) (?:und|oder|mit|von) {_GERMAN}(?P<b>{_SIDE})(?P<more>\b[^?,;]*)",
        rf"(?:ist|sind|war|waren) {_GERMAN}(?P<a>{_SIDE}?) (?P<rest>(?:[\w-]+ ){{0,3}}(?:mehr|weniger|\w+er)(?: [\w-]+){{0,2}})"
        rf" als {_GERMAN}(?P<b>{_SIDE})(?P<more>\b[^?,;]*)",
        rf"(?:is|are|does|do|will|can) (?:the )?(?P<a>{_SIDE}?) "
        rf"(?P<rest>(?:[\w-]+ ){{0,4}}(?:more|less|\w+er|better|worse)(?: [\w-]+){{0,3}})"
        rf" than (?:the )?(?P<b>{_SIDE})(?P<more>\b[^?,;]*)",
        rf"(?:the )?(?P<a>{_SIDE}) (?:vs\.?|versus) (?:the )?(?P<b>{_SIDE})(?P<rest>\b[^?]*)",
    )
)


def compared_sides(text: str, is_subject: Callable[[str], bool]) -> tuple[str, ...]:
    """Return two questions, one for each of the subjects that ``text`` compares; () if it compares none.

    ``is_subject`` says whether some words name a subject of their own.

    >>> compared_sides("xz or zstd: which decompresses faster?", bool)
    ('which decompresses faster: xz', 'which decompresses faster: zstd')
    """
    plain = " ".join(text.split()).rstrip(" ?.!")
    for form in _FORMS:
        found = form.fullmatch(plain)
        if found and is_subject(found["a"]) and is_subject(found["b"]):
            more = found["more"] if "more" in form.groupindex else ""
            rest = f"{found['rest'].strip(' :,')} {(more or '').strip()}".strip()
            return tuple(f"{rest}: {side}" if rest else side for side in (found["a"], found["b"]))
    return ()


def is_comparison(text: str, clauses: Sequence[str]) -> bool:
    """Return whether the parts of a question are the two sides of a comparison."""
    return len(clauses) == 2 and tuple(clauses) == compared_sides(text, bool)
