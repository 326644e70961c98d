"""What leaves the vault: a report as Markdown that any program reads, or as one HTML page, and the sources that reports cite.

The Markdown is CommonMark with tables and footnotes. A browser prints the page as PDF; pandoc makes Word, EPUB and BibTeX. What
only Obsidian or the vault knows is replaced: a citation becomes a footnote with its quote, a link to a source's note a link to
the source, any other wikilink its words, a callout a quote with a title. What belongs to the vault alone is left out: the
reader's own notes, comments, embeds, the boxes that rate a passage. The sources are CSL-JSON (Citation Style Language 1.0.2),
each with its quotes in a field that styles do not print.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyromark
from markupsafe import Markup
from pyromark import Options

from pipeline.domain.events.session_events import PageRead
from pipeline.domain.page_choice_and_findings import sheet_of
from pipeline.domain.research_values import Fact
from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import read_bytes, write
from pipeline.text.addresses import path_of
from pipeline.text.cleaning import one_line
from pipeline.vault.note import BETWEEN_NAMES, block_id, citekey
from pipeline.vault.output.escaping import SIGNS, WIKILINK, address, inert, linked_host, web_address
from pipeline.vault.output.passage_markdown import flat
from pipeline.vault.output.templates import shipped
from pipeline.vault.output.user_text import BOX
from pipeline.vault.read_model import readings_by_url, stored_cards

_LONG_TAIL = 12  # hex digits of an address, where shorter ends of two keys are equal
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_LONGEST = 600  # characters of a quote
_MARKDOWN = Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES
# What only Obsidian reads: links, comments, blocks, callouts; and the fences and quotes that lines are in.
_SESSION = re.compile(r" · \[\[sessions/[^\]]*\]\]")  # the way from a report to its own session, in a line of facts
_USER_BLOCK = re.compile(
    r"(?:^#{1,6} [^\n]*\n\s*)?^[ \t]*%% begin (\S+) %%.*?^[ \t]*%% end \1 %%[ \t]*$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_QUOTED = re.compile(r"(?: {0,3}> ?)*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CALLOUT = re.compile(r"\[![a-z]+\][-+]? ?(.*)")
_BLANKS = re.compile(r"\n{3,}")
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "brave-browser")
_ON_A_MAC = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
_COMMONMARK = "commonmark+footnotes+pipe_tables+strikeout+hard_line_breaks-raw_html"  # what `portable` writes
_TIMEOUT_S = 120
_TELLING = 80  # letters of a quote that show whether it is in the report word for word


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of reports, as its ``page`` was last read for one of them.

    ``number`` is its number in the session's report, 0 for the sources of all reports. The ``quotes`` are on one line.
    """

    key: str
    page: PageRead
    title: str
    number: int
    quotes: tuple[Fact, ...]


def cited_sources(state_dir: Path, session: str = "") -> tuple[CitedSource, ...]:
    """Return the sources that a session's report cites, in their order there; without ``session`` those of all reports, by key.

    ``state_dir`` holds the vault's catalogue; the vault must be up to date.
    """
    found = []
    for readings in readings_by_url(stored_cards(state_dir)).values():
        citing = [reading for card, reading in readings if reading.number and session in ("", card.id)]
        if not citing:
            continue
        first, page = readings[0][1].page, citing[-1].page
        quotes = {fact.id: fact for reading in citing for fact in reading.facts if fact.id in reading.cited}
        cited = (
            one.model_copy(update={"quote": flat(one.quote), "heading": one_line(one.heading, 200)}) for one in quotes.values()
        )
        title = one_line(page.title.strip() or first.title, 500) or page.url
        found.append(CitedSource(citekey(first), page, title, citing[-1].number if session else 0, tuple(cited)))
    counts = Counter(source.key for source in found)
    for place, one in enumerate(found):  # sources whose keys happen to be equal get longer ones
        if counts[one.key] > 1:
            tail = citekey(one.page, tail=_LONG_TAIL).rpartition("-")[2]
            found[place] = replace(one, key=f"{one.key.rpartition('-')[0]}-{tail}")
    return tuple(sorted(found, key=lambda source: (source.number, source.key)))


def references(sources: Iterable[CitedSource]) -> list[dict[str, Any]]:
    """Return the sources as the items of CSL-JSON."""

    def name(whole: str) -> dict[str, str]:
        """One name may have a comma."""
        family, comma, given = whole.partition(",")
        if not comma:
            given, _, family = whole.rpartition(" ")
        return {"family": family.strip(), "given": given.strip()} if given.strip() else {"literal": whole}

    def date(text: str) -> dict[str, list[list[int]]]:
        found = _DATE.match(text)
        return {"date-parts": [[int(part) for part in found.groups() if part]]} if found else {}

    def quoted(page: PageRead, fact: Fact) -> str:
        sheet = sheet_of(page, fact)
        place = ", ".join(filter(None, (fact.heading, f"p. {sheet}" if sheet else "")))
        return f"“{one_line(fact.quote, _LONGEST)}”{f' ({place})' if place else ''}"

    items = (
        {
            "id": source.key,
            "type": "webpage" if linked_host(source.page.url) else "document",
            "title": source.title,
            "author": [name(one) for part in BETWEEN_NAMES.split(one_line(source.page.author, 500)) if (one := part.strip(" ,"))],
            "issued": date(source.page.published),
            "accessed": date(source.page.at),
            "container-title": linked_host(source.page.url),
            "URL": web_address(source.page.url),
            "archive_location": "" if linked_host(source.page.url) else one_line(path_of(source.page.url)),
            "annote": "\n".join(quoted(source.page, fact) for fact in source.quotes),
        }
        for source in sources
    )
    return [{key: value for key, value in item.items() if value} for item in items]


def portable(body: str, sources: Sequence[CitedSource], note_of: Mapping[str, str]) -> tuple[str, int]:
    """Return a report's note as Markdown without its title, which ends with footnotes, and the number of these.

    ``body`` is the note's text without properties, ``sources`` what the report cites; ``note_of`` has the path of a source's note
    in the vault by the source's address.
    """
    kept = _USER_BLOCK.sub("", body).replace("\u200b", "").replace("&#8203;", "").strip()  # these are for Obsidian's plugins
    quotes = {block_id(quote.id): (source, quote) for source in sources for quote in source.quotes}
    by_note, letters, notes = {note_of.get(one.page.url, ""): one for one in sources}, _letters(kept), dict[str, str]()

    def replaced(link: re.Match[str]) -> str:
        path, place, words = link["to"], (link["place"] or "").removeprefix("#"), link["words"] or link["to"]
        block, source = place.removeprefix("^"), None if place else by_note.get(path)
        if link["embed"]:
            return ""
        if block in quotes and not words.strip(SIGNS):
            if block not in notes:
                source, quote = quotes[block]
                is_shown = _letters(quote.quote)[:_TELLING] in letters
                notes[block] = ("" if is_shown else f"“{inert(one_line(quote.quote, _LONGEST))}” ") + _place(source, quote)
            return f"[^{list(notes).index(block) + 1}]"
        if source is None:
            return words
        return f"{inert(words)}, {address(source.page.url)}" if linked_host(source.page.url) else inert(words)

    def plain(line: str) -> str:
        return WIKILINK.sub(replaced, _SESSION.sub("", _COMMENT.sub("", line)))

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
    made = _BLANKS.sub("\n\n", "\n".join(lines)).strip() + "\n"
    if notes:
        made += "\n" + "".join(f"[^{number}]: {text}\n" for number, text in enumerate(notes.values(), start=1))
    return made, len(notes)


def _letters(text: str) -> str:
    """A text without signs and spaces, for comparing a quote with the report."""
    return "".join(filter(str.isalnum, text))


def _place(source: CitedSource, quote: Fact) -> str:
    """Where a quote is from: its source, the heading above it, and the address."""
    heading = f", under “{inert(quote.heading)}”" if quote.heading and quote.heading != source.title else ""
    url, sheet = source.page.url, sheet_of(source.page, quote)
    place = address(url) if linked_host(url) else inert(path_of(url))
    return f"{inert(source.title)}{heading}{f', page {sheet}' if sheet else ''}. {place}"


def page(title: str, text: str, language: str = "en") -> str:
    """Return a document in Markdown as an HTML file in which citations are links to footnotes; ``language`` is its code.

    The texts are harmless Markdown already; and whatever a template says, the page allows no browser to load or run anything.
    """
    body = Markup(pyromark.html(text, options=_MARKDOWN))  # noqa: S704 - see above
    return shipped("export.html.j2", title=title, body=body, language=language)


def converted(data: bytes, form: str, about: Mapping[str, str]) -> bytes:
    """Return what another program of this machine makes: PDF of an HTML page, DOCX or EPUB of Markdown, BibTeX of CSL-JSON.

    None of them reaches the network. ``about`` is what pandoc puts into a document's properties.

    Raises:
        UsageError: the program is not installed.
        SystemRefused: it fails, or takes more than two minutes.
    """
    is_page = form == "pdf"
    program = next(filter(None, map(shutil.which, (*BROWSERS, *_ON_A_MAC) if is_page else ("pandoc",))), None)
    if program is None:
        raise UsageError(
            f"{form} needs {'Chromium or Chrome' if is_page else 'pandoc'}, which is not installed",
            hint=f"install it (apt-get install {'chromium' if is_page else 'pandoc'}); or take html, markdown or csl-json",
        )
    with tempfile.TemporaryDirectory(prefix="research-") as folder:
        source, out = Path(folder) / "source.html", Path(folder) / f"out.{form}"
        write(source, data)
        reads = "csljson" if form == "bibtex" else _COMMONMARK
        command = [program, "--from", reads, "--to", form, "--output", str(out), str(source)]
        command += [f"--metadata={name}={value}" for name, value in about.items()]
        if is_page:
            command = [program, "--headless=new", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
            command += ["--host-resolver-rules=MAP * ~NOTFOUND", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={out}", source.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603 - of this machine
            if not done.returncode:
                return read_bytes(out)
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        except subprocess.TimeoutExpired:
            said = f"it took more than {_TIMEOUT_S} seconds"
        except OSError as error:
            said = f"{error.filename or program}: {error.strerror}"
    raise SystemRefused(f"{Path(program).name} failed: {said}", hint="take --format html, markdown or csl-json")
