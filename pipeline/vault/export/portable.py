"""``portable``: a report's note as Markdown that any program reads: CommonMark with tables and footnotes.

What only Obsidian or the vault knows is replaced: a citation becomes a footnote with its quote, a link to a source's note a link
to the source, any other wikilink its words, a callout a quote with a title. What belongs to the vault alone is left out: the
reader's own notes, comments, the list of contents, embeds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, dropwhile

from pipeline.text.normalise import one_line
from pipeline.vault.export.references import CitedQuote, CitedSource
from pipeline.vault.output.escaping import address, host_of, inert
from pipeline.vault.paths import block_id

_LINK = re.compile(r"(!?)\[\[([^\[\]|\\#]*)(?:#([^\[\]|\\]*))?(?:\\?\|([^\[\]]*))?\]\]")
_SESSION = re.compile(r" · \[\[sessions/[^\]]*\]\]")  # the way from a report to its own session, in a line of facts
_NUMBER = re.compile(r"\d+[a-z]?")
_USER_BLOCK = re.compile(
    r"(?:^#{1,6} [^\n]*\n\s*)?^[ \t]*%% begin (\S+) %%.*?^[ \t]*%% end \1 %%[ \t]*$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_QUOTED = re.compile(r"(?: {0,3}> ?)*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CALLOUT = re.compile(r"\[![a-z]+\][-+]? ?(.*)")
_CONTENTS = re.compile(r"(?:\*\*[^*]*\*\*)?(?:[ ·]*(?:\[\[#[^\]]*\]\]|[^·\[\]]+))+")
_LONGEST_QUOTE = 400
_TELLING = 80  # letters of a quote that show whether it is in the report word for word
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Portable:
    """A document: its title, its Markdown without the title, and the texts of its footnotes, from number 1 on.

    The Markdown refers to footnotes as ``[^1]``.
    """

    title: str
    body: str
    notes: tuple[str, ...]

    @property
    def markdown(self) -> str:
        """The whole document."""
        notes = "".join(f"[^{number}]: {text}\n" for number, text in enumerate(self.notes, start=1))
        return f"# {inert(self.title)}\n\n{self.body}\n{chr(10) if notes else ''}{notes}"


def portable(title: str, body: str, sources: Iterable[CitedSource], note_of: Callable[[str], str]) -> Portable:
    """Return a report's note as a document.

    ``body`` is the note's text without properties, ``sources`` what the report cites; ``note_of`` returns the path of a source's
    note in the vault, "" for none.
    """
    kept = _USER_BLOCK.sub("", body)
    links = _Links(kept, tuple(sources), note_of)
    lines = _without_title(_lines(kept, links))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Portable(one_line(title, 500), text, tuple(links.notes.values()))


class _Links:
    """Replaces wikilinks, and numbers the quotes that are cited: ``notes`` has the footnotes by block, in order."""

    def __init__(self, body: str, sources: tuple[CitedSource, ...], note_of: Callable[[str], str]) -> None:
        self._body = _bare(body)
        self._quotes = {block_id(quote.fact): (source, quote) for source in sources for quote in source.quotes}
        self._sources = {note_of(source.url): source for source in sources}
        self.notes: dict[str, str] = {}

    def replaced(self, line: str) -> str:
        """Return a line without wikilinks and comments."""
        return _LINK.sub(self._replaced, _SESSION.sub("", _COMMENT.sub("", line)))

    def _replaced(self, link: re.Match[str]) -> str:
        embedded, path, place, words = link[1], link[2], link[3] or "", link[4] or link[2]
        if embedded:
            return ""
        block = place.removeprefix("^")
        if block in self._quotes and _NUMBER.fullmatch(unicodedata.normalize("NFKD", words)):
            return self._footnote(block)
        source = None if place else self._sources.get(path)
        return _linked(words, source.url) if source else words

    def _footnote(self, block: str) -> str:
        if block not in self.notes:
            source, quote = self._quotes[block]
            shown = _bare(quote.text)[:_TELLING] in self._body
            self.notes[block] = ("" if shown else f"“{inert(one_line(quote.text, _LONGEST_QUOTE))}” ") + _place(source, quote)
        return f"[^{list(self.notes).index(block) + 1}]"


def _linked(words: str, url: str) -> str:
    return f"{inert(words)}, {address(url)}" if host_of(url) else str(inert(words))


def _bare(text: str) -> str:
    """A text without signs and spaces, for comparing a quote with the report."""
    return _SIGNS.sub("", text)


def _place(source: CitedSource, quote: CitedQuote) -> str:
    """Where a quote is from: its source, the heading above it, and the address."""
    heading = f", under “{inert(quote.heading)}”" if quote.heading and quote.heading != source.title else ""
    place = address(source.url) if host_of(source.url) else inert(source.url.removeprefix("corpus:"))
    sheet = f", page {quote.sheet}" if quote.sheet else ""
    return f"{inert(source.title)}{heading}{sheet}. {place}"


def _lines(text: str, links: _Links) -> Iterator[str]:
    """The lines of a note as those of the document; code stays as it is."""
    fence = ""
    for line in text.split("\n"):
        quoted = _QUOTED.match(line)
        lead = quoted[0] if quoted else ""
        rest = line[len(lead) :]
        found = _FENCE.match(rest)
        if fence or found:
            fence = "" if fence and found and found[1].startswith(fence) else fence or (found[1] if found else "")
            yield line
        elif (callout := _CALLOUT.fullmatch(rest)) and lead:
            if title := links.replaced(callout[1]).strip():
                yield from (f"{lead}**{title}**", lead.rstrip())
        elif not ("[[#" in rest and _CONTENTS.fullmatch(rest)):
            yield lead + links.replaced(rest)


def _without_title(lines: Iterable[str]) -> Iterator[str]:
    """The lines without the heading that begins the note."""
    rest = dropwhile(lambda line: not line.strip(), lines)
    first = next(rest, "")
    yield from rest if first.startswith("# ") else chain([first], rest)
