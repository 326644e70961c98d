"""``portable``: a report's note as Markdown that any program reads: CommonMark with tables and footnotes.

What only Obsidian or the vault knows is replaced: a citation becomes a footnote with its quote, a link to a source's note a link
to the source, any other wikilink its words, a callout a quote with a title. What belongs to the vault alone is left out: the
reader's own notes, comments, embeds, the boxes that rate a passage.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.text.normalise import one_line
from pipeline.vault.export.references import CitedQuote, CitedSource
from pipeline.vault.note import block_id
from pipeline.vault.output.escaping import address, host_of, inert
from pipeline.vault.said import BOX

# What only Obsidian reads: links, comments, blocks, callouts; and the fences and quotes that lines are in.
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
_BLANKS = re.compile(r"\n{3,}")
_LONGEST_QUOTE = 400
_TELLING = 80  # letters of a quote that show whether it is in the report word for word


@dataclass(frozen=True, slots=True)
class Portable:
    """A document: its title, its Markdown without the title, and the texts of its footnotes, from number 1 on.

    The Markdown refers to footnotes as ``[^1]``.
    """

    title: str
    body: str
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The document without its title."""
        notes = "".join(f"[^{number}]: {text}\n" for number, text in enumerate(self.notes, start=1))
        return f"{self.body}\n\n{notes}" if notes else f"{self.body}\n"

    @property
    def markdown(self) -> str:
        """The whole document."""
        return f"# {inert(self.title)}\n\n{self.text}"


def portable(title: str, body: str, sources: Sequence[CitedSource], note_of: Callable[[str], str]) -> Portable:
    """Return a report's note as a document.

    ``body`` is the note's text without properties, ``sources`` what the report cites; ``note_of`` returns the path of a source's
    note in the vault, "" for none.
    """
    kept = _USER_BLOCK.sub("", body).strip()
    quotes = {block_id(quote.fact): (source, quote) for source in sources for quote in source.quotes}
    by_note, letters, notes = {note_of(source.url): source for source in sources}, _letters(kept), dict[str, str]()

    def replaced(link: re.Match[str]) -> str:
        embedded, path, place, words = link[1], link[2], link[3] or "", link[4] or link[2]
        block, source = place.removeprefix("^"), None if place else by_note.get(path)
        if embedded:
            return ""
        if block in quotes and _NUMBER.fullmatch(unicodedata.normalize("NFKD", words)):
            if block not in notes:
                source, quote = quotes[block]
                is_shown = _letters(quote.text)[:_TELLING] in letters
                notes[block] = ("" if is_shown else f"“{inert(one_line(quote.text, _LONGEST_QUOTE))}” ") + _place(source, quote)
            return f"[^{list(notes).index(block) + 1}]"
        return (
            f"{inert(words)}, {address(source.url)}" if source and host_of(source.url) else str(inert(words) if source else words)
        )

    def plain(line: str) -> str:
        return _LINK.sub(replaced, _SESSION.sub("", _COMMENT.sub("", line)))

    fence, lines = "", list[str]()
    for line in (kept.partition("\n")[2] if kept.startswith("# ") else kept).split("\n"):
        lead = (_QUOTED.match(line) or [""])[0]
        rest = line[len(lead) :]
        found = _FENCE.match(rest)
        if fence or found:  # code stays as it is
            fence = "" if fence and found and found[1].startswith(fence) else fence or (found[1] if found else "")
            lines.append(line)
        elif BOX.fullmatch(line):
            lines[-1:] = [one for one in lines[-1:] if one.strip("> ") or not lead]  # with the empty line of the quote above it
        elif (callout := _CALLOUT.fullmatch(rest)) and lead:
            words = plain(callout[1]).strip()
            lines += [f"{lead}**{words}**", lead.rstrip()] if words else []
        else:
            lines.append(lead + plain(rest))
    return Portable(one_line(title, 500), _BLANKS.sub("\n\n", "\n".join(lines)).strip(), tuple(notes.values()))


def _letters(text: str) -> str:
    """A text without signs and spaces, for comparing a quote with the report."""
    return "".join(filter(str.isalnum, text))


def _place(source: CitedSource, quote: CitedQuote) -> str:
    """Where a quote is from: its source, the heading above it, and the address."""
    heading = f", under “{inert(quote.heading)}”" if quote.heading and quote.heading != source.title else ""
    place = address(source.url) if host_of(source.url) else inert(source.url.removeprefix("corpus:"))
    return f"{inert(source.title)}{heading}{f', page {quote.sheet}' if quote.sheet else ''}. {place}"
