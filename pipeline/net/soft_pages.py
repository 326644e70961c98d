"""Pages sent with status 200 in place of the page asked for: errors, log-ins, walls, captchas.

They are recognised by what their title, their headings and the beginnings of their sentences say, in the languages of
``soft_pages.toml``. What stands between quotation marks does not count: an article on error pages quotes them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.system.files import read_text
from pipeline.text.words import word_count

# Sizes of pages in words.
_BARE = 20  # no more than a message
_LITTLE = 25  # no content beside the message
_SHORT = 80  # read as a whole; of a longer page only the lead is
_LEAD = 60
_TEASER = 250  # the beginning of an article in front of a paywall
_LONGEST_HEAD, _LONGEST_SENTENCE, _LONGEST_LINE = 300, 300, 5_000  # characters
_HEADINGS = 3
_AROUND = " \t.!…,;:()[]-–—。！，"
# Titles are parted from the names of their sites by one of these signs between blanks, which no parser of pages knows.
_PARTS = re.compile(r"\s[-–—|·•»«:]\s|[|｜]")
_QUOTED = re.compile("|".join(f"{a}[^{b}]{{1,200}}{b}" for a, b in ("“”", "„“", "„”", "«»", '""', "「」", "『』", "‘’")))
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")  # rough on purpose: only how a sentence begins counts


class _Kind(NamedTuple):
    """One table of ``soft_pages.toml``."""

    name: str
    why: str
    title: re.Pattern[str]
    weak: re.Pattern[str]
    sentence: re.Pattern[str]
    about: re.Pattern[str]


def no_page_reason(title: str, text: str) -> str:
    """Return why a reply with status 200, read as ``text`` under ``title``, is no real page, or "".

    A title that says it beyond doubt decides at any length; other signs count on short pages, or at the beginning.
    """
    lines = [line for line in _plain(text).split("\n") if line.strip()]
    headings = [line.lstrip("# ").partition(" {#")[0] for line in lines if line.startswith("#")]
    heads = [head for said in (title, *headings[:_HEADINGS]) for head in _heads(said)]
    own = [line.removeprefix("- ").strip() for line in lines if not line.startswith("#")]
    size = sum(map(word_count, own))
    return next((kind.why for kind in _tables()[0] if _is_of(kind, heads, own, size)), "")


def _is_of(kind: _Kind, heads: Sequence[str], lines: Sequence[str], size: int) -> bool:
    clear, weak = (any(map(pattern.fullmatch, heads)) for pattern in (kind.title, kind.weak))
    if kind.name == "paywall":
        return size <= _TEASER and _says(kind, lines, _TEASER)
    if kind.name == "consent":  # hardly any line is about something else
        others = (line for line in lines if not kind.about.search(line) and not kind.sentence.match(line))
        alone = size <= _TEASER and sum(map(word_count, others)) < _LITTLE
        return alone and (clear or _says(kind, lines, _TEASER) or (weak and size < _BARE))
    short = size <= _SHORT
    return clear or (weak and size < _BARE) or ((short or weak) and _says(kind, lines, _SHORT if short else _LEAD))


def _says(kind: _Kind, lines: Sequence[str], most: int) -> bool:
    """Return whether a sentence of the first ``most`` words says it."""
    return any(kind.sentence.match(sentence) for sentence in _sentences(lines, most))


def _sentences(lines: Sequence[str], most: int) -> Iterator[str]:
    for line in lines:
        if most <= 0:
            return
        most -= word_count(line)
        for sentence in _SENTENCE_END.split(_QUOTED.sub("“”", line[:_LONGEST_LINE])):
            yield _opened(sentence[:_LONGEST_SENTENCE])


def _heads(title: str) -> list[str]:
    """Return the title and its parts, without site names, interjections, "error 404:" and final signs."""
    plain = _plain(title)[:_LONGEST_HEAD]
    code = ["404"] if "(404)" in plain else []
    return code + [_opened(part) for part in dict.fromkeys((plain, *_PARTS.split(plain))) if part.strip()]


def _opened(sentence: str) -> str:
    """Return a sentence or title without what comes before its message; "404" if there is no more to it."""
    rest = sentence.strip(_AROUND)
    while (shorter := _tables()[1].sub("", rest, count=1).strip(_AROUND)) != rest:
        if not shorter:
            return "404" if "404" in rest else rest
        rest = shorter
    return rest


def _plain(text: str) -> str:
    return text.lower().replace("\u2019", "'").replace("\xa0", " ")


@cache
def _tables() -> tuple[tuple[_Kind, ...], re.Pattern[str]]:
    """Return the kinds, and what may come before a message."""
    table: dict[str, Any] = tomllib.loads(read_text(Path(__file__).with_name("soft_pages.toml")))
    kinds = []
    for name, entry in table.items():
        if isinstance(entry, dict):
            said = (re.compile("|".join(entry.get(key, ())) or "(?!)") for key in ("title", "weak", "sentence", "about"))
            kinds.append(_Kind(name, entry["why"], *said))
    openers, code = table["openers"].replace("\n", ""), table["not_found_code"]
    return tuple(kinds), re.compile(rf"\A(?:(?:{openers})(?![\w-])|{code}(?!\w))|(?<=\w)\W+{code}\Z")
